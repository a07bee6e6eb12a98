// Stores each repeated name once, and a position per entry.

import OpClusterModel

struct NameTable {
  private(set) var names: [String] = []
  private(set) var positions: [UInt32] = []
  private var known: [String: UInt32] = [:]

  init() {}

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
struct NameReader {
  private let names: [String]
  private let positions: Column<UInt32>
  private let field: String

  init(
    _ names: [String], _ positions: [UInt32], count: Int, bytes: Int = Limits.nameBytes,
    _ field: String
  ) throws(WireError) {
    self.names = try texts(names, count, bytes: bytes, field)
    self.positions = try Column(positions, count: count, else: 0, field)
    self.field = field
  }

  func name(_ entry: Int) throws(WireError) -> String {
    let position = Int(positions[entry])
    guard position < names.count else { throw WireError(field, .outOfRange) }
    return names[position]
  }
}
