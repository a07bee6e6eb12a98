// Closures that wait for their start in a local queue (S124). Any thread.

import Synchronization

/// Closures by number. Its size is that of the local queues that contain their operations.
final class ClosureTable: Sendable {
  private let state = Mutex(State())

  /// Places are reused, each time under another number: no hashing.
  private struct State {
    var places: [Place] = []
    var free: [UInt32] = []

    /// nil: the place belongs to another closure now, or was never used.
    func position(of number: UInt64) -> Int? {
      let position = Int(number & 0xFFFF_FFFF) - 1
      guard places.indices.contains(position),
        places[position].generation == UInt32(number >> 32)
      else { return nil }
      return position
    }
  }
  private struct Place {
    /// The number of earlier uses.
    var generation: UInt32 = 0
    var work: OperationRegistry.Work?
  }

  /// Position + 1 in the low half, the generation in the high one: never 0.
  private static func number(_ position: UInt32, _ generation: UInt32) -> UInt64 {
    UInt64(generation) << 32 | UInt64(position + 1)
  }

  func add(_ work: @escaping OperationRegistry.Work) -> UInt64 {
    state.withLock { state in
      guard let position = state.free.popLast() else {
        state.places.append(Place(work: work))
        return Self.number(UInt32(state.places.count - 1), 0)
      }
      state.places[Int(position)].work = work
      return Self.number(position, state.places[Int(position)].generation)
    }
  }

  func remove(_ numbers: [UInt64]) {
    // Released outside of the lock: captured values may call back.
    var removed: [OperationRegistry.Work] = []
    removed.reserveCapacity(numbers.count)
    state.withLock { state in
      for number in numbers {
        guard let at = state.position(of: number), let work = state.places[at].work else {
          continue
        }
        removed.append(work)
        state.places[at].work = nil
        state.places[at].generation &+= 1
        state.free.append(UInt32(at))
      }
    }
  }

  /// The closure that an argument names; nil if it does not exist (any more).
  func closure(_ argument: [UInt8]) -> OperationRegistry.Work? {
    guard let number = Self.number(argument) else { return nil }
    return state.withLock { state in
      state.position(of: number).flatMap { state.places[$0].work }
    }
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
