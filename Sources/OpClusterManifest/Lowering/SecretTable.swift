// The secret values of a graph, each once, and their positions in the commands of each operation.
// The lowering fills it on the compiling thread.
// A command names a secret by its position in its own operation's list, that list names positions
// in the graph's. So a worker is told only the secrets of the operations that it runs (G39).

import OpClusterModel

/// The secrets of the graph.
/// A class, since all operations of a compilation add to one table.
final class SecretTable {
  /// In the order of first use; they become `GraphSubmission.secrets`.
  private(set) var values: [String] = []
  private var positions: [String: UInt32] = [:]

  /// O(1) expected. Equal values share a position, so that one token of many operations counts
  /// once.
  func position(of value: String) -> UInt32 {
    if let known = positions[value] { return known }
    let position = UInt32(values.count)
    values.append(value)
    positions[value] = position
    return position
  }
}

/// The secrets of one operation. Its commands refer to them by their position here.
/// One per operation; its blocks share it.
final class OperationSecrets {
  private let table: SecretTable
  /// Positions in the graph's table: `OperationTemplate.secrets`.
  private(set) var positions: [UInt32] = []

  init(_ table: SecretTable) { self.table = table }

  /// O(secrets of the operation), which are few.
  func position(of value: String) -> Int {
    let position = table.position(of: value)
    if let known = positions.firstIndex(of: position) { return known }
    positions.append(position)
    return positions.count - 1
  }
}
