// Maps operations to their closures (S124), so that a closure is released when its operation has
// finished. Stepper only. A closure does not travel: an operation carries its number, and
// `OperationRegistry` holds the function under it. The numbers are read back from submissions here,
// since the scheduler treats arguments as bytes.

import OpClusterModel
import OpClusterOperations
import OpClusterWire

/// The closures of the operations of living graphs.
struct ClosureNumbers: Sendable {
  /// By operation; 0 for those of other types.
  private var numbers: [GraphID: [UInt64]] = [:]
  /// The closures in blocks.
  private var blocks: [GraphID: [UInt32: [UInt64]]] = [:]

  /// Called once for each accepted submission. Costs its operations if any is a closure or of
  /// blocks, else its templates.
  mutating func take(_ submission: GraphSubmission, graph: GraphID) {
    let templates = submission.templates
    if templates.indices.contains(where: { templates[$0].isClosure }) {
      numbers[graph] = Self.numbers(in: submission)
    }
    var index: UInt32 = 0
    for at in templates.indices {
      if case .blocks = templates[at].work {
        for element in 0..<templates[at].count {
          take(templates[at].payload, of: OperationID(graph: graph, index: index + element))
        }
      }
      index += templates[at].count
    }
  }

  /// One number for each operation, so that a run of ends is a slice.
  private static func numbers(in submission: GraphSubmission) -> [UInt64] {
    var own: [UInt64] = []
    own.reserveCapacity(submission.operationCount)
    let templates = submission.templates
    for at in templates.indices {
      let arguments = templates[at].elementArguments
      for element in 0..<Int(templates[at].count) {
        if !templates[at].isClosure {
          own.append(0)
        } else if arguments.isEmpty {
          own.append(closureNumber(in: templates[at].payload))
        } else {
          own.append(arguments.withBytes(of: element) { closureNumber(in: $0) })
        }
      }
    }
    return own
  }

  /// Adds the encoded blocks of an operation.
  mutating func take(_ encoded: [UInt8], of operation: OperationID) {
    for case .call(OperationRegistry.closureType, let argument)
      in (try? Wire.decodeBlocks(encoded)) ?? []
    {
      blocks[operation.graph, default: [:]][operation.index, default: []].append(
        closureNumber(in: argument))
    }
  }

  /// Adds the closure numbers of finished operations to `used`. Costs the finished operations.
  /// Numbers of one operation are taken once, since it ends once.
  mutating func finish(_ first: OperationID, count: UInt32, into used: inout [UInt64]) {
    let range = first.index..<first.index + count
    if let own = numbers[first.graph] {
      for number in own[Int(range.lowerBound)..<Int(range.upperBound)] where number > 0 {
        used.append(number)
      }
    }
    if blocks.isEmpty || blocks[first.graph] == nil { return }
    for index in range { used += blocks[first.graph]?.removeValue(forKey: index) ?? [] }
  }

  /// Without it a graph of closures would stay for ever.
  mutating func forget(_ graph: GraphID) {
    numbers[graph] = nil
    if !blocks.isEmpty { blocks[graph] = nil }
  }
}

extension OperationTemplate {
  /// By the name of the type alone.
  var isClosure: Bool {
    if case .call(let type) = work {
      type.name == OperationRegistry.closureType.name
    } else {
      false
    }
  }
}

/// The number in an argument, in decimal digits; 0 if there is none. Anything else than digits, and
/// a number that does not fit, is no closure of ours.
private func closureNumber(in argument: some Sequence<UInt8>) -> UInt64 {
  var number: UInt64 = 0
  for byte in argument {
    guard byte >= 0x30, byte <= 0x39 else { return 0 }
    let (tenfold, isTooMuch) = number.multipliedReportingOverflow(by: 10)
    if isTooMuch { return 0 }
    number = tenfold &+ UInt64(byte - 0x30)
  }
  return number
}
