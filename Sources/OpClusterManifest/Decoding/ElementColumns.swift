// The elements of an array or a matrix: their number, their indices and their values. Made by the
// array and matrix decoders. Values only.

import OpClusterModel

/// The decoded `array` or `matrix`.
struct DecodedElements {
  /// nil after a finding.
  var columns: ElementColumns?
  /// The maximum that may run at once; 0: no limit.
  var parallel: UInt32 = 0
  var failures: FailureBound?
}

struct ElementColumns {
  var count: UInt32 = 0
  /// Empty: 1, 2, 3, …
  var indexRuns: [IndexRun] = []
  /// `item`, or the axes of a matrix. Empty for a plain range: its item is the index.
  var keys: [String] = []
  var arguments = ElementArguments()
  var isMatrix = false

  /// Maximum bytes of all element values of a graph; one message must hold them.
  static let maximumBytes = Limits.messageBytes / 2

  init(runs: [IndexRun]) {
    indexRuns = runs
    count = runs.reduce(0) { $0 + $1.count }
  }
  init(keys: [String], isMatrix: Bool) {
    self.keys = keys
    self.isMatrix = isMatrix
  }

  /// Appends one element. Returns nil, or what is wrong with it.
  mutating func append(_ values: [String]) -> String? {
    if values.contains(where: { $0.utf8.contains(0) }) { return "an item holds a zero byte" }
    let bytes = ElementValues.encode(values)
    if bytes.count > Limits.elementArgumentBytes {
      return "an item has more than \(Limits.elementArgumentBytes) bytes"
    }
    if count >= Limits.operationsPerGraph { return Self.tooMany }
    if arguments.bytes.count + bytes.count > Self.maximumBytes {
      return "the items have more than \(Self.maximumBytes / 1_048_576) MiB together"
    }
    arguments.append(bytes)
    count += 1
    return nil
  }
  static let tooMany = "more than \(Limits.operationsPerGraph) elements"

  /// The values of an element, in the order of `keys`.
  func values(_ element: Int) -> [String] {
    guard !keys.isEmpty, element < arguments.count else { return [] }
    return ElementValues.decode(arguments[element], keyCount: keys.count) ?? []
  }
}
