// Parses selectors and similar words with OpClusterPresentation; turns its errors into failures of
// the command.

import OpClusterModel
import OpClusterPresentation

enum Selectors {
  /// Parses `12`, `12,14-20`, `last`, `12/align/1-10`; a usage error otherwise.
  static func selection(_ text: String) throws(Failure) -> Selection {
    do throws(SelectorError) {
      return try SelectorParser.selection(text)
    } catch {
      throw .usage(error.message, hint: error.hint)
    }
  }

  /// Parses a selector of whole graphs.
  static func graphs(_ text: String) throws(Failure) -> Selection {
    let selection = try selection(text)
    guard selection.operation == nil else {
      throw .usage(
        "'\(safe(text))' names operations, and this command takes graphs",
        hint: "leave out what follows the first '/'")
    }
    return selection
  }
}
