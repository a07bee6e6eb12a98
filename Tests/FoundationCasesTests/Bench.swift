// What the cases need around Foundation's queue: a trace, gates, and looks at what happens soon and
// what stays. Used by the cases, on any thread.

import Foundation
import Synchronization

/// Ordered lines, from any thread.
final class Trace: Sendable {
  private let kept = Mutex<[String]>([])
  var lines: [String] { kept.withLock { $0 } }
  func add(_ line: String) { kept.withLock { $0.append(line) } }

  /// An operation that writes its name.
  func mark(_ name: String) -> BlockOperation {
    BlockOperation { self.add(name) }
  }
}

/// An operation that writes `g+` when it begins, waits to be opened, and writes `g-`.
final class Gate: Sendable {
  let operation: BlockOperation
  private let semaphore = DispatchSemaphore(value: 0)

  init(_ name: String, _ trace: Trace) {
    let semaphore = semaphore
    operation = BlockOperation {
      trace.add("\(name)+")
      semaphore.wait()
      trace.add("\(name)-")
    }
  }

  func open() { semaphore.signal() }
}

/// What a case found: every claim of ConformanceCases.md that did not hold.
final class Findings: Sendable {
  private let kept = Mutex<[String]>([])
  var broken: [String] { kept.withLock { $0 } }

  func expect(_ claim: String, _ holds: Bool) {
    if !holds { kept.withLock { $0.append(claim) } }
  }

  /// It comes true within the patience of a loaded machine.
  func soon(_ claim: String, within seconds: Double = 10, _ holds: () -> Bool) {
    expect(claim, Self.waits(seconds) { holds() })
  }

  /// It is true, and still so after 300 ms.
  func stays(_ claim: String, _ holds: () -> Bool) {
    expect(claim, !Self.waits(0.3) { !holds() })
  }

  private static func waits(_ seconds: Double, _ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while !condition() {
      if ContinuousClock.now > end { return false }
      Thread.sleep(forTimeInterval: 0.002)
    }
    return true
  }
}

/// A queue as the cases begin with it.
func queue(limit: Int = -1, isSuspended: Bool = false) -> OperationQueue {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = limit
  queue.isSuspended = isSuspended
  return queue
}
