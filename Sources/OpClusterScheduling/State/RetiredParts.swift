// The stages, cells and demand classes of large graphs that have ended: to free a million cells or
// 200,000 stages at once takes as long as several turns, for which everybody would wait.

struct RetiredParts: Sendable {
  private var stages: [[Stage]] = []
  private var cells: [CellTable] = []
  private var reasons: [ReasonTable] = []
  private var demandClasses: [UsedDemandClasses] = []
  /// What a turn frees at most, of stages or of templates,
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

  mutating func freeSome(_ classes: inout DemandClasses) {
    if let last = demandClasses.indices.last {
      demandClasses[last].takeLast(Self.classesReleasedPerTurn) {
        classes.release($0, stages: $1)
      }
      if demandClasses[last].count == 0 { demandClasses.removeLast() }
    }
    if let last = stages.indices.last {
      stages[last].removeLast(min(stages[last].count, Self.freedPerTurn))
      if stages[last].isEmpty { stages.removeLast() }
    }
    if let last = cells.indices.last {
      cells[last].removeLastPages(Self.pagesFreedPerTurn)
      if cells[last].pageCount == 0 { cells.removeLast() }
    }
    if let last = reasons.indices.last {
      reasons[last].removeLastPages(Self.pagesFreedPerTurn)
      if reasons[last].pageCount == 0 { reasons.removeLast() }
    }
  }
}
