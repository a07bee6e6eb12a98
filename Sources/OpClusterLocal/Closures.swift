// Which operations have which closures (S124), so that a closure goes when its operation has
// finished. Stepper only.

import OpClusterModel
import OpClusterOperations

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
        own.append(closureNumber(in: argument))
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
    if case .call(let type) = work {
      type.name == OperationRegistry.closureType.name
    } else {
      false
    }
  }
}

/// The number in an argument: decimal digits; 0 where there is none.
private func closureNumber(in argument: [UInt8]) -> UInt64 {
  var number: UInt64 = 0
  for byte in argument {
    guard byte >= 0x30, byte <= 0x39 else { return 0 }
    let (tenfold, isTooMuch) = number.multipliedReportingOverflow(by: 10)
    if isTooMuch { return 0 }
    number = tenfold &+ UInt64(byte - 0x30)
  }
  return number
}
