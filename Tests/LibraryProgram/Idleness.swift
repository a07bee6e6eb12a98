// What clusters in this process cost while nothing goes on in them: one after the other is brought
// to a state and left alone, and the processor time of the whole process is read.

import Glibc
import OpCluster

enum Idleness {
  /// Says for each state whether a second of nothing costs less than a twentieth of a processor.
  static func measure() async throws {
    for (state, prepare) in states {
      let cluster = OperationCluster.local(slots: 2)
      try await prepare(cluster)
      // What was going on comes to its end.
      try await Task.sleep(for: .milliseconds(300))
      var least = Double.infinity
      for _ in 0..<3 where least > 0.05 {
        let before = processorSeconds()
        try await Task.sleep(for: .seconds(1))
        least = min(least, processorSeconds() - before)
      }
      print(state, least < 0.05 ? "costs nothing" : "costs \(least)")
      await cluster.close()
    }
  }

  private static let states: [(String, @Sendable (OperationCluster) async throws -> Void)] = [
    ("unused", { _ in }),
    ("declared", { try await $0.declare([ClusterOperation { () in }]) }),
    (
      "started",
      { cluster in
        let operation = ClusterOperation { () in }
        try operation.start(on: cluster)
      }
    ),
    (
      "held",
      { cluster in
        let operation = ClusterOperation { () in }
        operation.settings.isHeld = true
        try await ClusterOperationQueue(name: "q", on: cluster).addOperation(operation)
      }
    ),
    (
      "delayed",
      { cluster in
        let operation = ClusterOperation { () in }
        operation.notBefore = .delay(.seconds(3_600))
        try await ClusterOperationQueue(name: "q", on: cluster).addOperation(operation)
      }
    ),
    (
      "suspended",
      { cluster in
        let queue = ClusterOperationQueue(name: "q", on: cluster, isSuspended: true)
        try await queue.addOperation { () in }
      }
    ),
    (
      "running",
      { cluster in
        let queue = ClusterOperationQueue(name: "q", on: cluster)
        try await queue.addOperation { () in try await Task.sleep(for: .seconds(3_600)) }
      }
    ),
    (
      "ended",
      { cluster in
        let queue = ClusterOperationQueue(name: "q", on: cluster)
        for _ in 0..<100 { try await queue.addOperation { () in } }
        try await queue.waitUntilAllOperationsAreFinished()
      }
    ),
    (
      "closed",
      { cluster in
        try await cluster.declare([ClusterOperation { () in }])
        await cluster.close()
      }
    ),
  ]

  private static func processorSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
