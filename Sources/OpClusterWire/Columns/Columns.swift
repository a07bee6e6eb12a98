// Columns carry one entry per operation on the wire (see the head of submission.proto). Builders
// encode them, checked readers decode them.
// Two ideas save bytes: a column whose entries are all the default is left out, and a run of equal
// neighbours is a value and a count. All readers check lengths before they allocate by them, so
// that a short message cannot claim many entries.

/// The positions of a sparse column: ascending, stored as differences.
/// Most entries of such a column have nothing: of a million dispatches a few have an argument. A
/// value travels with the distance to the one before, mostly one byte.
struct SparsePositions {
  /// The first is a position, each further one at least 1.
  private(set) var differences: [UInt32] = []
  private var last = 0

  /// Positions must ascend; the caller walks its entries in order.
  mutating func append(_ position: Int) {
    differences.append(UInt32(truncatingIfNeeded: position - last))
    last = position
  }

  /// Returns the positions: ascending, below `count`, one for each of `entries` values.
  /// A difference of 0 would name an entry twice, so it is refused behind the first.
  static func read(
    _ differences: [UInt32], below count: Int, entries: Int, _ field: String
  ) throws(WireError) -> [Int] {
    try checkEqual(differences.count, entries, field)
    var positions: [Int] = []
    positions.reserveCapacity(differences.count)
    // `Int` holds the sum of any number of differences that a message can carry.
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
/// `values[i]` stands for `counts[i]` neighbours. No count is 0, so two neighbours never have the
/// same value.
struct ValueRuns<Value: Equatable> {
  /// One per run; with `counts` of the same length.
  private(set) var values: [Value] = []
  private(set) var counts: [UInt32] = []
  /// Spares a comparison with the last element of `values` behind an array access.
  private var last: Value?

  init() {}

  /// O(1). A run of 2³² entries is beyond every limit, so the count cannot wrap.
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
/// The sum is compared after each run, so that it neither overflows nor exceeds what the caller is
/// about to allocate.
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
/// Allocates `total` entries; the caller has bounded that number by a limit or by the length of
/// another column.
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
/// A reader of columns takes entries by position and does not care which columns were left out.
struct Column<Value> {
  /// As received: empty, or with one value for each entry.
  let values: [Value]
  let fallback: Value

  /// Throws `unequalColumns` for a column that is neither empty nor complete.
  init(_ values: [Value], count: Int, else fallback: Value, _ field: String) throws(WireError) {
    if !values.isEmpty { try checkEqual(values.count, count, field) }
    self.values = values
    self.fallback = fallback
  }

  subscript(entry: Int) -> Value { values.isEmpty ? fallback : values[entry] }
}

/// Returns an empty column if every entry equals the default.
/// O(n). Used only where the default is what nearly all entries have: otherwise the check is
/// wasted.
func omitted<Value: Equatable>(_ column: [Value], ifAll fallback: Value) -> [Value] {
  column.allSatisfy { $0 == fallback } ? [] : column
}

/// Returns the differences modulo 2³² as signed numbers.
/// Wrapping arithmetic makes every sequence expressible, also one that descends: `sums` wraps back
/// to the same numbers.
func differences(_ column: [UInt32]) -> [Int32] {
  var last: UInt32 = 0
  return column.map { value in
    defer { last = value }
    return Int32(bitPattern: value &- last)
  }
}

/// The inverse of `differences`. No sequence is malformed; bounds are checked where the numbers
/// become indices.
func sums(_ differences: [Int32]) -> [UInt32] {
  var value: UInt32 = 0
  return differences.map { difference in
    value &+= UInt32(bitPattern: difference)
    return value
  }
}
