// The results of the blocks of a block operation, for pages and JSON (S123). The commands decode
// them; in rows they are opaque.

public import OpClusterModel

/// One block, by its position.
/// Undecodable results become blocks without output, which the command reports.
public struct ShownBlock: Hashable, Sendable {
  /// `succeeded`, `failed` or `skipped`.
  public var state: StateWord
  /// `key=value` lines or JSON; empty for nothing.
  public var output: [UInt8]
  /// The reason of a failure.
  public var message: String

  public init(state: StateWord, output: [UInt8] = [], message: String = "") {
    self.state = state
    self.output = output
    self.message = message
  }
}

/// Needs have names, since the coordinator looked them up; other operations are shown by `12/#70`.
extension OperationRow {
  /// The name of an operation that this row mentions: the shown name of a need, else its number.
  func shown(_ id: OperationID) -> String {
    needs.first { $0.id == id }?.shown ?? id.numbered
  }
}

/// Returns `40%` or `40% reading`; empty if nothing is known.
/// A fraction is rounded down, so that 100 % means the end. It is bounded again, since a row may
/// come from another release.
func shownProgress(_ progress: OperationRow.Progress?) -> String {
  guard let progress else { return "" }
  let fraction = progress.fraction.isFinite ? min(max(progress.fraction, 0), 1) : 0
  let percent = "\(Int(saturating: (fraction * 100).rounded(.down)))%"
  return progress.text.isEmpty ? percent : percent + " " + progress.text
}
