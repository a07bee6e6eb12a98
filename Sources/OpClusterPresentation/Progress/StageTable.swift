// The table of `watch` on a terminal: a head line, then a line with a bar for each stage, as far as
// there is room. Pure: takes progress and size, returns lines.
// `GraphProgress` has the numbers, `Redraw` paints the frames in place.

import OpClusterModel

/// Draws frames of the live table.
/// A frame is made anew each time; nothing moves sideways between two of the same size.
public enum StageTable {
  /// Returns the lines of the table for a screen of `height` lines; uses at least 3.
  public static func frame(_ progress: GraphProgress, height: Int, _ style: Style) -> [String] {
    let room = max(height, 3) - 1
    let shown = chosen(progress.stages, room: room)
    var lines = [head(progress, style)]
    let layout = layout(progress, shown, style)
    for position in shown { lines.append(line(progress.stages[position], layout, style)) }
    if shown.count < progress.stages.count {
      lines.append(rest(progress, shown: shown).text(style, cut: true))
    }
    return lines
  }

  private static func head(_ progress: GraphProgress, _ style: Style) -> String {
    let done = shownCount(progress.finished) + "/" + shownCount(progress.total)
    let state = progress.state.rawValue
    let rest = "  \(done)  \(progress.elapsed(style.now))"
    // Shortens the name, never the numbers.
    let taken = "\(progress.graph.number) ".count + 2 + displayWidth(state) + displayWidth(rest)
    let name = truncate(
      safe(progress.name), to: style.width.map { max($0 - taken, 3) } ?? .max,
      unicode: style.usesUnicode)
    return StyledLine([
      .init("\(progress.graph.number) \(name)", .strong), .init("  "),
      .init(state, progress.state.tone), .init(rest),
    ]).text(style, cut: true)
  }

  /// Chooses all stages if there is room; else executing or failed ones, then waiting ones, then
  /// finished ones. Keeps the graph's order and leaves one line for the rest.
  /// Stages that change are worth the room more than those that do not.
  private static func chosen(_ stages: [GraphProgress.Stage], room: Int) -> [Int] {
    guard stages.count > room else { return Array(stages.indices) }
    var chosen: [Int] = []
    let ranks: [(GraphProgress.Stage) -> Bool] = [
      { $0.executing > 0 }, { $0.failures > 0 && $0.executing == 0 },
      { $0.unstarted > 0 && $0.failures == 0 && $0.executing == 0 },
      { $0.unstarted == 0 && $0.failures == 0 && $0.executing == 0 },
    ]
    for belongs in ranks {
      for position in stages.indices where belongs(stages[position]) {
        if chosen.count >= room - 1 { return chosen.sorted() }
        chosen.append(position)
      }
    }
    return chosen.sorted()
  }

  /// Counts the stages that are not shown, so that none seems forgotten.
  private static func rest(_ progress: GraphProgress, shown: [Int]) -> StyledLine {
    let shown = Set(shown)
    let hidden = progress.stages.indices.filter { !shown.contains($0) }
      .map { progress.stages[$0] }
    let done = hidden.count { $0.finished == $0.total }
    let waiting = hidden.count { $0.finished == 0 && $0.executing == 0 && $0.total > 0 }
    let words = [
      (done, "done"), (waiting, "waiting"), (hidden.count - done - waiting, "under way"),
    ]
    .filter { $0.0 > 0 }.map { "\(shownCount($0.0)) \($0.1)" }
    return StyledLine(
      "  … \(shownCount(hidden.count, "more stage")): \(words.joined(separator: ", "))", .faint)
  }

  /// Widths of the columns for one frame.
  private struct Layout {
    var name: Int
    var bar: Int
    var done: Int
  }

  private static func layout(
    _ progress: GraphProgress, _ shown: [Int], _ style: Style
  ) -> Layout {
    let width = style.width ?? 100
    let longest = shown.reduce(0) { max($0, displayWidth(safe(progress.stages[$1].label))) }
    // The count has a fixed width, so that nothing moves while it grows.
    let done = shown.reduce(0) { max($0, 2 * shownCount(progress.stages[$1].total).count + 1) }
    // The stage's text gets its room first; the beginning of a name is enough.
    let told = shown.reduce(0) { max($0, displayWidth(progress.stages[$1].sentence)) }
    let room = max(8, width - 6 - done - told)
    let name = min(longest, room, max(10, width / 3))
    // The bar has what is left, and none is better than a tiny one.
    let bar = min(24, max(0, width - name - done - 43))
    return Layout(name: name, bar: bar < 6 ? 0 : bar, done: done)
  }

  private static func line(
    _ stage: GraphProgress.Stage, _ layout: Layout, _ style: Style
  ) -> String {
    let label = shortenedName(safe(stage.label), to: layout.name, unicode: style.usesUnicode)
    var pieces: [StyledLine.Piece] = [.init("  " + pad(label, to: layout.name) + "  ")]
    if layout.bar > 0 {
      pieces += bar(stage, width: layout.bar, style)
      pieces.append(.init("  "))
    }
    let done = shownCount(stage.finished) + "/" + shownCount(stage.total)
    pieces.append(.init(pad(done, to: layout.done, right: true) + "  "))
    pieces.append(.init(stage.sentence, stage.tone))
    return StyledLine(pieces).text(style, cut: true)
  }

  /// Draws succeeded, otherwise ended, executing and remaining operations. A part that is not empty
  /// gets at least one column.
  private static func bar(
    _ stage: GraphProgress.Stage, width: Int, _ style: Style
  ) -> [StyledLine.Piece] {
    let good = stage.count(.succeeded)
    let parts = [good, stage.finished - good, stage.executing]
    var columns = parts.map { part in
      part == 0 || stage.total == 0
        ? 0 : min(width, max(1, Int(UInt64(part) * UInt64(width) / UInt64(stage.total))))
    }
    // One column per part may be too many.
    while columns.reduce(0, +) > width,
      let widest = columns.indices.max(by: { columns[$0] < columns[$1] })
    {
      columns[widest] -= 1
    }
    let signs = style.usesUnicode ? ["█", "▒", "▓", "·"] : ["#", "x", "+", "."]
    let tones: [Tone] = [.good, stage.failures > 0 ? .bad : .warning, .active, .faint]
    let filled = columns + [width - columns.reduce(0, +)]
    return filled.indices.filter { filled[$0] > 0 }.map {
      .init(String(repeating: signs[$0], count: filled[$0]), tones[$0])
    }
  }
}
