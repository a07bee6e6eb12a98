// Closures that wait for their start in a local queue (S124). Any thread.

import Synchronization

/// Closures by number. Its size is that of the local queues that hold their operations.
final class ClosureTable: Sendable {
  private let state = Mutex(State())

  private struct State {
    var newest: UInt64 = 0
    var closures: [UInt64: OperationRegistry.Work] = [:]
  }

  func add(_ work: @escaping OperationRegistry.Work) -> UInt64 {
    state.withLock { state in
      state.newest += 1
      state.closures[state.newest] = work
      return state.newest
    }
  }

  func remove(_ numbers: [UInt64]) {
    // What they have captured ends outside of the lock: it may call back.
    var removed: [OperationRegistry.Work] = []
    removed.reserveCapacity(numbers.count)
    state.withLock { state in
      for number in numbers {
        if let work = state.closures.removeValue(forKey: number) { removed.append(work) }
      }
    }
  }

  /// The closure that an argument names; nil when it is not there (any more).
  func closure(_ argument: [UInt8]) -> OperationRegistry.Work? {
    guard let number = Self.number(argument) else { return nil }
    return state.withLock { $0.closures[number] }
  }

  private static func number(_ digits: [UInt8]) -> UInt64? {
    if digits.isEmpty { return nil }
    var number: UInt64 = 0
    for digit in digits {
      guard digit >= 0x30, digit <= 0x39 else { return nil }
      let (tenfold, isTooMuch) = number.multipliedReportingOverflow(by: 10)
      let (sum, isMore) = tenfold.addingReportingOverflow(UInt64(digit - 0x30))
      if isTooMuch || isMore { return nil }
      number = sum
    }
    return number
  }
}
