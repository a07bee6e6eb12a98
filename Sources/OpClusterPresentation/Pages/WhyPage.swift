// The page of `why SEL`: sentences about each operation, the most decisive first.
// The coordinator makes the sentences; here they are only laid out.

public import OpClusterModel

/// Returns the lines of the answers, with a blank line between operations.
/// Sentences are wrapped, not cut: the advice stands at their end.
public func whyPage(_ explanations: [Explanation], _ style: Style) -> [String] {
  var page = Page(style)
  for (position, explanation) in explanations.enumerated() {
    if position > 0 { page.blank() }
    page.line(
      StyledLine([
        .init(safe(explanation.shown), .strong), .init("  "),
        .init(explanation.state.rawValue, explanation.state.tone),
      ]))
    for sentence in explanation.lines {
      for line in safeLines(sentence.forShell) { page.prose(line, indent: 2, hanging: 2) }
    }
  }
  return page.lines
}
