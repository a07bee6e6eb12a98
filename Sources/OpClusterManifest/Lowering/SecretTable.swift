// The secret values of a graph, each once, and their positions in the commands of each operation.
// The lowering fills it on the compiling thread.

import OpClusterModel

/// The secrets of the graph.
final class SecretTable {
  private(set) var values: [String] = []
  private var positions: [String: UInt32] = [:]

  func position(of value: String) -> UInt32 {
    if let known = positions[value] { return known }
    let position = UInt32(values.count)
    values.append(value)
    positions[value] = position
    return position
  }
}

/// The secrets of one operation. Its commands refer to them by their position here.
final class OperationSecrets {
  private let table: SecretTable
  /// Positions in the graph's table: `OperationTemplate.secrets`.
  private(set) var positions: [UInt32] = []

  init(_ table: SecretTable) { self.table = table }

  func position(of value: String) -> Int {
    let position = table.position(of: value)
    if let known = positions.firstIndex(of: position) { return known }
    positions.append(position)
    return positions.count - 1
  }
}
