// What became of the blocks of a block operation, as pages and JSON show it (S123). Opened by the
// commands, since to the rows it is opaque.

public import OpClusterModel

/// One block, by its position.
public struct ShownBlock: Hashable, Sendable {
  /// `succeeded`, `failed` or `skipped`.
  public var state: StateWord
  /// `key=value` lines or JSON; empty for nothing.
  public var output: [UInt8]
  /// What went wrong.
  public var message: String

  public init(state: StateWord, output: [UInt8] = [], message: String = "") {
    self.state = state
    self.output = output
    self.message = message
  }
}

extension OperationRow {
  /// How people name an operation that this row speaks of: by the needs if it is among them.
  func shown(_ id: OperationID) -> String {
    needs.first { $0.id == id }?.shown ?? id.numbered
  }
}

/// `40%`, `40% reading`; empty where nothing is known.
func shownProgress(_ progress: OperationRow.Progress?) -> String {
  guard let progress else { return "" }
  let fraction = progress.fraction.isFinite ? min(max(progress.fraction, 0), 1) : 0
  let percent = "\(Int(saturating: (fraction * 100).rounded(.down)))%"
  return progress.text.isEmpty ? percent : percent + " " + progress.text
}
