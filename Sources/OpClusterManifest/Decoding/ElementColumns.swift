// The elements of an array or a matrix: their number, their indices and their values. Made by the
// array and matrix decoders. Values only.
// Values are encoded as they come, so that an array of a million items is one run of bytes, not a
// million lists.

import OpClusterModel

/// The decoded `array` or `matrix`.
struct DecodedElements {
  /// nil after a finding.
  var columns: ElementColumns?
  /// The maximum that may run at once; 0: no limit.
  /// As `max_parallel` says.
  var parallel: UInt32 = 0
  /// As `max_failures` says; nil: those of the graph alone.
  var failures: FailureBound?
}

/// Either runs of numbers, or one argument for each element; a range has no arguments.
struct ElementColumns {
  /// Equals the number of arguments where there are any.
  var count: UInt32 = 0
  /// Empty: 1, 2, 3, …
  var indexRuns: [IndexRun] = []
  /// `item`, or the axes of a matrix. Empty for a plain range: its item is the index.
  var keys: [String] = []
  /// Encoded by `ElementValues`, in the order of `keys`.
  var arguments = ElementArguments()
  var isMatrix = false

  /// Maximum bytes of all element values of a graph; one message must hold them.
  /// Half a message: the rest is for commands and edges.
  static let maximumBytes = Limits.messageBytes / 2

  /// The caller has bounded the sum of the runs.
  init(runs: [IndexRun]) {
    indexRuns = runs
    count = runs.reduce(0) { $0 + $1.count }
  }
  init(keys: [String], isMatrix: Bool) {
    self.keys = keys
    self.isMatrix = isMatrix
  }

  /// Appends one element. Returns nil, or what is wrong with it.
  /// A zero byte cannot be in an argument or a variable of a process. Limits are checked before
  /// anything is appended, so the columns stay whole.
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
  /// Empty for a range, and for an element that does not exist.
  func values(_ element: Int) -> [String] {
    guard !keys.isEmpty, element < arguments.count else { return [] }
    return ElementValues.decode(arguments[element], keyCount: keys.count) ?? []
  }
}
