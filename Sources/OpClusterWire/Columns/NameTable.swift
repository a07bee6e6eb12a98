// Stores each repeated name once, and a position per entry.
// Histories name workers, dispatches name queues, inputs name operations: few names and many
// entries. A name costs its bytes once per message.

import OpClusterModel

/// `names` in the order of their first entry, and for each entry the position of its name.
struct NameTable {
  /// Goes out as a column of its own, each name once.
  private(set) var names: [String] = []
  /// One per entry; left out by most users if every entry has the first name.
  private(set) var positions: [UInt32] = []
  /// From a name to its position; used only while collecting.
  private var known: [String: UInt32] = [:]

  init() {}

  /// O(1) expected. Neighbours mostly share a name, and for them the hash of the name is spared.
  mutating func append(_ name: String) {
    if let last = positions.last, names[Int(last)] == name {
      positions.append(last)
    } else if let position = known[name] {
      positions.append(position)
    } else {
      let position = UInt32(truncatingIfNeeded: names.count)
      known[name] = position
      names.append(name)
      positions.append(position)
    }
  }
}

/// Decodes a name table; an empty column of positions means the first name for every entry.
/// Positions come from outside, so each is checked where it is used, not all at the beginning:
/// readers touch every entry anyway.
struct NameReader {
  private let names: [String]
  private let positions: Column<UInt32>
  private let field: String

  /// - Parameter count: The entries that the message has; a table cannot need more names.
  /// - Parameter bytes: The limit of one name: longer where queues of graphs are named
  /// `GRAPH/name`.
  init(
    _ names: [String], _ positions: [UInt32], count: Int, bytes: Int = Limits.nameBytes,
    _ field: String
  ) throws(WireError) {
    self.names = try texts(names, count, bytes: bytes, field)
    self.positions = try Column(positions, count: count, else: 0, field)
    self.field = field
  }

  /// Throws `outOfRange` for a position behind the last name.
  func name(_ entry: Int) throws(WireError) -> String {
    let position = Int(positions[entry])
    guard position < names.count else { throw WireError(field, .outOfRange) }
    return names[position]
  }
}
