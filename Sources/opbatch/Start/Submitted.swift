// A submitted graph, as people and programs are told of it: at once, and at its end.

import OpClusterModel
import OpClusterPresentation

/// The two answers differ by format: people see a line at once; a program that stays gets one
/// document at the end.
struct Submitted {
  private let accepted: GraphRun.Accepted
  private let name: String

  init(_ accepted: GraphRun.Accepted, _ name: String) {
    self.accepted = accepted
    self.name = name
  }

  /// Tells the result of the submission.
  func show(isHeld: Bool, _ console: Console) throws {
    switch console.format {
    case .name: try console.writeLine("\(accepted.graph.number)")
    case .table:
      let count = shownCount(accepted.operations, "operation")
      // A repetition is told as such: the user may have meant a new graph.
      let word =
        accepted.repeated ? "was submitted before" : isHeld ? "submitted, held" : "submitted"
      try console.writeLine("graph \(accepted.graph.number) (\(safe(name))) \(word): \(count)")
    case .json, .jsonl:
      try console.write(
        jsonDocument {
          $0.submission(
            accepted.graph, name: name, operations: accepted.operations,
            repeated: accepted.repeated)
        })
    }
  }

  /// Tells programs how the graph stands or ended; people get other lines.
  func showEnd(_ row: GraphRow, _ console: Console) throws {
    guard console.wantsJSON else { return }
    try console.write(
      jsonDocument { json in
        json.object("graph") { json in
          json.fields(of: row)
          json.field("operations", accepted.operations)
        }
      })
  }
}
