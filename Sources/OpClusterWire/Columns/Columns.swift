// Columns carry one entry per operation on the wire (see the head of submission.proto). Builders
// encode them, checked readers decode them.

/// The positions of a sparse column: ascending, stored as differences.
struct SparsePositions {
  private(set) var differences: [UInt32] = []
  private var last = 0

  mutating func append(_ position: Int) {
    differences.append(UInt32(truncatingIfNeeded: position - last))
    last = position
  }

  /// Returns the positions: ascending, below `count`, one for each of `entries` values.
  static func read(
    _ differences: [UInt32], below count: Int, entries: Int, _ field: String
  ) throws(WireError) -> [Int] {
    try checkEqual(differences.count, entries, field)
    var positions: [Int] = []
    positions.reserveCapacity(differences.count)
    var position = 0
    for difference in differences {
      if difference == 0 && !positions.isEmpty { throw WireError(field, .unequalColumns) }
      position += Int(difference)
      if position >= count { throw WireError(field, .unequalColumns) }
      positions.append(position)
    }
    return positions
  }
}

/// Run-length encoding: one value and a count for equal neighbours.
struct ValueRuns<Value: Equatable> {
  private(set) var values: [Value] = []
  private(set) var counts: [UInt32] = []
  private var last: Value?

  init() {}

  mutating func append(_ value: Value) {
    if last == value {
      counts[counts.count - 1] &+= 1
    } else {
      values.append(value)
      counts.append(1)
      last = value
    }
  }
}

/// Checks that no run is empty and that the runs sum up to `total` entries.
func checkRuns(
  _ values: Int, _ counts: [UInt32], total: Int, _ field: String
) throws(WireError) {
  try checkEqual(values, counts.count, field)
  var sum = 0
  for count in counts {
    if count == 0 { throw WireError(field, .outOfRange) }
    sum += Int(count)
    if sum > total { throw WireError(field, .unequalColumns) }
  }
  try checkEqual(sum, total, field)
}

/// Expands runs to one value per entry.
func expanded<Value>(
  _ values: [Value], _ counts: [UInt32], total: Int, _ field: String
) throws(WireError) -> [Value] {
  try checkRuns(values.count, counts, total: total, field)
  var entries: [Value] = []
  entries.reserveCapacity(total)
  for (value, count) in zip(values, counts) {
    entries.append(contentsOf: repeatElement(value, count: Int(count)))
  }
  return entries
}

/// A column; an empty one means `fallback` in every entry.
struct Column<Value> {
  let values: [Value]
  let fallback: Value

  init(_ values: [Value], count: Int, else fallback: Value, _ field: String) throws(WireError) {
    if !values.isEmpty { try checkEqual(values.count, count, field) }
    self.values = values
    self.fallback = fallback
  }

  subscript(entry: Int) -> Value { values.isEmpty ? fallback : values[entry] }
}

/// Returns an empty column if every entry equals the default.
func omitted<Value: Equatable>(_ column: [Value], ifAll fallback: Value) -> [Value] {
  column.allSatisfy { $0 == fallback } ? [] : column
}

/// Returns the differences modulo 2³² as signed numbers.
func differences(_ column: [UInt32]) -> [Int32] {
  var last: UInt32 = 0
  return column.map { value in
    defer { last = value }
    return Int32(bitPattern: value &- last)
  }
}

func sums(_ differences: [Int32]) -> [UInt32] {
  var value: UInt32 = 0
  return differences.map { difference in
    value &+= UInt32(bitPattern: difference)
    return value
  }
}
