// Conformance case C35: between queues, over real daemons. It needs a cluster of one slot.

import Citations
import OpClusterClient
import OpClusterModel
import Testing

@Suite(.tinyCluster, .serialized) struct QueueOrderCases {
  /// Between queues the better service goes first; equals take turns, whatever the
  /// levels in them and however short they are.
  @Test(.checks("S50", "S60", "C35"), arguments: [true, false]) func c35(differ: Bool) async throws
  {
    let scene = try await SharedCluster.scene("c35-\(differ)")
    let first = try await scene.queue("one", qos: differ ? .background : .default)
    let second = try await scene.queue("two", qos: differ ? .userInitiated : .default)
    let holder = try await scene.submit { plan in
      try plan.add("g", .shell("sleep 0.1; gate g"), queue: "default")
      try scene.makeGate("g")
    }
    try await scene.traced("g+")
    let members = try await scene.submit { plan in
      for (queue, name, priority) in [
        (first, "one", Priority.veryHigh), (second, "two", .veryLow),
      ] {
        for number in 1...5 {
          try plan.add(
            "\(name)\(number)", .shell("mark \(name)\(number)"), queue: queue, priority: priority)
        }
      }
    }
    try scene.open("g")
    try await scene.ended(holder)
    try await scene.ended(members)
    let marks = Array(scene.trace.dropFirst(2))
    if differ {
      #expect(marks == ["two", "one"].flatMap { name in (1...5).map { "\(name)\($0)" } })
    } else {
      let queues = marks.map { $0.prefix(3) }
      #expect(zip(queues, queues.dropFirst()).allSatisfy { $0 != $1 }, "\(marks)")
    }
  }
}
