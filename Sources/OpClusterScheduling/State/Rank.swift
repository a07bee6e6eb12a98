// The order of what is ready beyond its place: the quality of service of its queue, then its level.

import OpClusterModel

/// Higher ones go first, also among what one worker holds (S47, S60).
struct Rank: Hashable, Sendable {
  let index: Int
  static let count = QualityOfService.allCases.count * Line.levelCount

  init(_ service: QualityOfService, level: Int) {
    index = Int(service.rawValue) * Line.levelCount + level
  }
}

extension Scheduler {
  func rank(of id: OperationID, _ stage: Int) -> Rank {
    let graph = id.graph.number
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    return Rank(queues[queue].settings.qos, level: level(of: id, stage))
  }

  /// The level of a line in which an operation stands.
  func level(of id: OperationID, _ stage: Int) -> Int {
    let graph = id.graph.number
    if graphs[graph].stages[stage].template.isBarrier { return Line.barrierLevel }
    return Line.level(of: graphs[graph].priority(of: id.index, stage: stage))
  }
}
