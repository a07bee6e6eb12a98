// The page of `why GRAPH`: failed and waiting operations first, equal ones as one group that names
// its first operation.
// A graph with a million waiting operations has a few reasons, so a page of groups says all of
// them.

public import OpClusterModel

/// Operations in one state for one reason.
public struct WhyGroup: Hashable, Sendable {
  public var state: StateWord
  /// Operations, not stages.
  public var count: UInt32
  /// The first of them: `12/align/3`.
  public var shown: String
  /// The reasons of the first operation.
  /// Others of the group differ in numbers of elements alone.
  public var lines: [Explanation.Line]
  public init(state: StateWord, count: UInt32, shown: String, lines: [Explanation.Line]) {
    self.state = state
    self.count = count
    self.shown = shown
    self.lines = lines
  }
}

/// Collects operations into groups of equals, in the order of their first operations.
/// The caller adds operations page by page. O(lines) for each.
public struct WhyGrouping: Sendable {
  /// Two operations are alike if both fields are equal.
  private struct Kind: Hashable {
    var state: StateWord
    var pattern: [String]
  }
  private var places: [Kind: Int] = [:]
  public private(set) var groups: [WhyGroup] = []

  public init() {}

  /// Adds one operation. Operations are equal if their lines differ only in element numbers.
  /// Returns the position of its group.
  @discardableResult
  public mutating func add(
    _ state: StateWord, _ shown: String, _ lines: [Explanation.Line]
  ) -> Int {
    let kind = Kind(state: state, pattern: lines.map { withoutElements($0.forShell) })
    if let place = places[kind] {
      groups[place].count = groups[place].count.saturatingAdd(1)
      return place
    }
    places[kind] = groups.count
    groups.append(WhyGroup(state: state, count: 1, shown: shown, lines: lines))
    return groups.count - 1
  }

  /// Adds operations in this state that were not requested one by one. If all requested ones are in
  /// one group, the others are assumed to belong to it.
  ///
  /// - Parameter count: Operations that the answers left out.
  /// - Parameter places: Groups of those that were asked for, in this state.
  public mutating func add(unseen count: UInt32, _ state: StateWord, beside places: Set<Int>) {
    if places.count == 1, let place = places.first, groups.indices.contains(place) {
      groups[place].count = groups[place].count.saturatingAdd(count)
    } else {
      groups.append(WhyGroup(state: state, count: count, shown: "", lines: []))
    }
  }
}

/// Replaces `12/align/3` by `12/align/#`: elements of one array wait for the same reason.
/// Only digits behind a slash: other numbers, such as limits, may differ for a reason.
private func withoutElements(_ line: String) -> String {
  var result = ""
  var isAfterSlash = false
  for character in line {
    let isDigit = character.isASCII && character.isNumber
    if isDigit, isAfterSlash {
      if !result.hasSuffix("#") { result.append("#") }
      continue
    }
    isAfterSlash = character == "/"
    result.append(character)
  }
  return result
}

/// Returns the lines about one graph: its state, then its groups. `hidden` is the number of omitted
/// stages.
/// Successes come last and need no reason; `hidden` stages have operations that nobody asked about.
public func whyGraphPage(
  _ row: GraphRow, _ groups: [WhyGroup], hidden: Int = 0, _ style: Style
) -> [String] {
  var page = Page(style)
  page.line(
    StyledLine([
      .init("\(row.graph.number)  \(safe(row.name))", .strong), .init("  "),
      .init(row.state.rawValue, row.state.tone),
    ]))
  for group in groups {
    let state = group.state
    let more = group.shown.isEmpty ? "for other reasons" : safe(group.shown)
    let words = group.count == 1 || group.shown.isEmpty ? more : "such as \(more)"
    page.line(
      StyledLine([
        .init("  \(shownCount(group.count)) \(state.rawValue)", state.tone),
        .init(group.shown.isEmpty ? " " : ": "), .init(words),
      ]))
    for sentence in group.lines {
      for line in safeLines(sentence.forShell) { page.prose(line, indent: 4, hanging: 2) }
    }
  }
  if hidden > 0 {
    page.line(
      StyledLine(
        "  … \(shownCount(hidden, "more stage")): opbatch show \(row.graph.number)", .faint))
  }
  let succeeded = row.counts[.succeeded]
  if succeeded > 0 {
    page.line(StyledLine("  \(shownCount(succeeded)) \(StateWord.succeeded.rawValue)", .good))
  }
  return page.lines
}
