// Delayed operations (S150): a hold gate that opens by itself. That it has opened is a fact like a
// release by hand; when it opens is decided by the monotonic clock (G31). That clock means nothing
// to the next life of the coordinator, so the wish is carried over by what the journal has anyway,
// the wall time of the submission: what is left of the wait is reckoned once, at the start, and is
// never more than the whole of it.

import HeapModule
import OpClusterModel

/// When the gates of a stage open.
struct Alarm: Comparable, Sendable {
  var until: Instant
  var graph: GraphID
  var stage: Int
  static func < (a: Self, b: Self) -> Bool {
    (a.until, a.graph, a.stage) < (b.until, b.graph, b.stage)
  }
}

extension Scheduler {
  /// Sets what is left of the waits of a graph, as of now.
  mutating func setAlarms(_ id: GraphID, at now: Instant, wall: WallTime) {
    let graph = id.number
    for stage in graphs[graph].stages.indices {
      guard let moment = graphs[graph].stages[stage].template.notBefore,
        graphs[graph].stages[stage].pristine.isTimed, graphs[graph].stages[stage].unfinished > 0
      else { continue }
      let rest = moment.rest(submittedAt: graphs[graph].submittedAt, now: wall)
      alarms.insert(Alarm(until: now + rest, graph: id, stage: stage))
    }
  }

  /// Opens the gates whose moment has come.
  mutating func ringAlarms(into turn: inout Turn) {
    var room = Limits.releasesPerTurn
    while room > 0, let first = alarms.min, first.until <= turn.now {
      let runs = timedMembers(of: first, atMost: room)
      room -= runs.operationCount
      // What does not fit into this turn rings again in the next.
      if room > 0 { alarms.removeMin() }
      if !runs.isEmpty { commit(.released(runs), into: &turn) }
    }
  }

  /// Those that still wait for their moment, the first ones.
  private func timedMembers(of alarm: Alarm, atMost most: Int) -> OperationRuns {
    var runs = OperationRuns(graph: alarm.graph)
    let graph = alarm.graph.number
    guard graphs.contains(graph) else { return runs }
    var count = 0
    for index in graphs[graph].stages[alarm.stage].indices where count < most {
      let cell = graphs[graph].cell(index)
      guard cell.isTimed, cell.phase != .finished else { continue }
      runs.append(index)
      count += 1
    }
    return runs
  }

  /// How long until the gate of a stage opens; nil: it does not by itself.
  func timeLeft(_ graph: GraphID, _ stage: Int, at now: Instant) -> Span? {
    let alarm = alarms.unordered.first { $0.graph == graph && $0.stage == stage }
    return alarm.map { max($0.until - now, .zero) }
  }
}
