// The closures that operations will run (S124): kept under a number until the operation has
// finished. The table is used on any thread; which operation has which number is known to the
// stepper.

import OpClusterModel
import OpClusterOperations
import Synchronization

typealias OperationClosure = @Sendable (OperationContext) async throws -> [UInt8]

final class ClosureTable: Sendable {
  private struct State {
    var closures: [UInt64: OperationClosure] = [:]
    var last: UInt64 = 0
  }
  private let state = Mutex(State())

  func add(_ closure: @escaping OperationClosure) -> UInt64 {
    state.withLock { state in
      state.last += 1
      state.closures[state.last] = closure
      return state.last
    }
  }

  /// Kept until it is removed: an operation may be tried again.
  func closure(_ number: UInt64) -> OperationClosure? {
    state.withLock { $0.closures[number] }
  }

  func remove(_ numbers: [UInt64]) {
    // Captured values end their lives outside of the lock: they may call back.
    var removed: [OperationClosure] = []
    removed.reserveCapacity(numbers.count)
    state.withLock { state in
      for number in numbers {
        if let closure = state.closures.removeValue(forKey: number) { removed.append(closure) }
      }
    }
  }

  func removeAll() {
    let removed = state.withLock { state in
      defer { state.closures = [:] }
      return state.closures
    }
    _ = removed.count
  }

  /// The number in an argument: decimal digits; 0 where there is none.
  static func number(in argument: [UInt8]) -> UInt64 {
    var number: UInt64 = 0
    for byte in argument {
      guard byte >= 0x30, byte <= 0x39 else { return 0 }
      let (tenfold, isTooMuch) = number.multipliedReportingOverflow(by: 10)
      if isTooMuch { return 0 }
      number = tenfold &+ UInt64(byte - 0x30)
    }
    return number
  }
}

/// Which operations of living graphs have which closures.
struct ClosureNumbers: Sendable {
  /// By operation; 0 for those of other types.
  private var numbers: [GraphID: [UInt64]] = [:]

  mutating func take(_ submission: GraphSubmission, graph: GraphID) {
    guard submission.templates.contains(where: { $0.isClosure }) else { return }
    var own: [UInt64] = []
    own.reserveCapacity(submission.operationCount)
    for template in submission.templates {
      for element in 0..<Int(template.count) {
        guard template.isClosure else {
          own.append(0)
          continue
        }
        let argument =
          template.elementArguments.isEmpty ? template.payload : template.elementArguments[element]
        own.append(ClosureTable.number(in: argument))
      }
    }
    numbers[graph] = own
  }

  /// Adds the numbers of operations that have finished to `used`.
  func finish(_ first: OperationID, count: UInt32, into used: inout [UInt64]) {
    guard let own = numbers[first.graph] else { return }
    for number in own[Int(first.index)..<Int(first.index + count)] where number > 0 {
      used.append(number)
    }
  }

  mutating func forget(_ graph: GraphID) { numbers[graph] = nil }
}

extension OperationTemplate {
  var isClosure: Bool {
    if case .call(let type) = work { type.name == OperationRegistry.closureType.name } else { false }
  }
}
