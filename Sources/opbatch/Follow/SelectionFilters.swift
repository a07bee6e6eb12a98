// The filters beside a selector: `--state failed,cancelled -l key=value --queue io`.

import ArgumentParser
import OpClusterModel
import OpClusterPresentation

struct SelectionFilters: ParsableArguments {
  @Option(help: ArgumentHelp("Only those in one of these states.", valueName: "states"))
  var state: String?

  @Option(
    name: [.customShort("l"), .long],
    help: ArgumentHelp("Only those with this label; may be repeated.", valueName: "key=value"))
  var label: [String] = []

  @Option(help: ArgumentHelp("Only operations of this queue.", valueName: "queue"))
  var queue: String?

  /// The selection that `text` and the filters mean; all graphs without a text.
  func selection(_ text: String?) throws(Failure) -> Selection {
    var selection = Selection(graphs: .all)
    if let text { selection = try Selectors.selection(text) }
    do throws(SelectorError) {
      if let state { selection.states = try SelectorParser.states(state) }
      for text in label { selection.labels.append(try SelectorParser.label(text)) }
    } catch {
      throw .usage(error.message, hint: error.hint)
    }
    guard selection.labels.count <= Limits.labelsPerThing else {
      throw .usage("more than \(Limits.labelsPerThing) labels")
    }
    selection.queue = queue
    return selection
  }
}
