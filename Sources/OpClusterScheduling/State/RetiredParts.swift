// The stages, cells and demand classes of large graphs that have ended: to free a million cells or
// 200,000 stages at once takes as long as several turns, for which everybody would wait.

struct RetiredParts: Sendable {
  private var stages: [[Stage]] = []
  private var cells: [CellTable] = []
  private var reasons: [ReasonTable] = []
  private var demandClasses: [UsedDemandClasses] = []
  /// What a turn frees at most of one graph, of stages or of templates,
  static var freedPerTurn: Int { 4_096 }
  /// and of pages.
  private static var pagesFreedPerTurn: Int { 64 }
  static var classesReleasedPerTurn: Int { 1_024 }

  /// Keeps what is large of a graph, to be freed little by little.
  mutating func retire(
    _ stages: [Stage], _ cells: CellTable, _ reasons: ReasonTable, _ classes: UsedDemandClasses
  ) {
    if stages.count > Self.freedPerTurn { self.stages.append(stages) }
    if cells.pageCount > Self.pagesFreedPerTurn {
      self.cells.append(cells)
      self.reasons.append(reasons)
    }
    if classes.count > Self.classesReleasedPerTurn { demandClasses.append(classes) }
  }

  /// Frees a part of each graph, however many wait: one alone would fall behind where graphs end
  /// faster than that. So a turn frees about as much as turns before it took in.
  mutating func freeSome(_ classes: inout DemandClasses) {
    for at in demandClasses.indices.reversed() {
      demandClasses[at].takeLast(Self.classesReleasedPerTurn) { classes.release($0, stages: $1) }
      if demandClasses[at].count == 0 { demandClasses.remove(at: at) }
    }
    for at in stages.indices.reversed() {
      stages[at].removeLast(min(stages[at].count, Self.freedPerTurn))
      if stages[at].isEmpty { stages.remove(at: at) }
    }
    for at in cells.indices.reversed() {
      cells[at].removeLastPages(Self.pagesFreedPerTurn)
      if cells[at].pageCount == 0 { cells.remove(at: at) }
    }
    for at in reasons.indices.reversed() {
      reasons[at].removeLastPages(Self.pagesFreedPerTurn)
      if reasons[at].pageCount == 0 { reasons.remove(at: at) }
    }
  }
}
