// The filters beside a selector: `--state failed,cancelled -l key=value --queue io`.

import ArgumentParser
import OpClusterModel
import OpClusterPresentation

/// Part of the selection that is sent, so that only what matches comes back.
struct SelectionFilters: ParsableArguments {
  @Option(help: ArgumentHelp("Only those in one of these states.", valueName: "states"))
  var state: String?

  @Option(
    name: [.customShort("l"), .long],
    help: ArgumentHelp("Only those with this label; may be repeated.", valueName: "key=value"))
  var label: [String] = []

  @Option(help: ArgumentHelp("Only operations of this queue.", valueName: "queue"))
  var queue: String?

  var isEmpty: Bool { state == nil && label.isEmpty && queue == nil }

  /// Returns the selection of operations for `text` and the filters.
  func selection(_ text: String) throws(Failure) -> Selection {
    var selection = try Selectors.selection(text)
    do throws(SelectorError) {
      // States that no operation has make no error: the selection is then empty.
      if let state { selection.states = try SelectorParser.states(state) }
    } catch {
      throw .usage(error.message, hint: error.hint)
    }
    return try adding(to: selection)
  }

  /// Selects all graphs that pass the filters, apart from their states.
  func ofGraphs() throws(Failure) -> Selection { try adding(to: Selection(graphs: .all)) }

  /// The states of graphs, for lists of graphs. Graphs have fewer states than operations, so that
  /// the same option takes other words.
  func graphStates() throws(Failure) -> [GraphRow.State] {
    var states: [GraphRow.State] = []
    for word in (state ?? "").split(separator: ",") {
      guard let state = GraphRow.State(rawValue: String(word)) else {
        let words = GraphRow.State.allCases.map(\.rawValue)
        throw .usage(
          "'\(safe(String(word)))' is not a state of a graph",
          hint: "graphs are \(words.joined(separator: ", ")); operations are listed with a selector"
        )
      }
      states.append(state)
    }
    return states
  }

  /// The coordinator has the same limit of labels; here it is an error of the command line.
  private func adding(to base: Selection) throws(Failure) -> Selection {
    var selection = base
    do throws(SelectorError) {
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
