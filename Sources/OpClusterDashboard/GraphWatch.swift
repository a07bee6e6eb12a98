// One graph that somebody looks at: its counts and the map of its elements follow events; rows are
// read in the background, all of them once, and again so seldom that reading costs the coordinator
// a fiftieth of the time.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

actor GraphWatch {
  let graph: GraphID
  private let reader: Reader
  private var progress: GraphProgress?
  private var elements: ElementStates?
  private var structure: GraphStructure?
  /// Events that came before the structure.
  private var early: [EventRun] = []
  private var waiting: [WhyGroup] = []
  private var panels: [WebPanel] = []
  private var rowsRead = 0
  private var isReading = false
  private var readAfterEnd = false
  private var hasTriedAfterEnd = false
  private var nextReading = ContinuousClock.now
  /// Grows with everything that a page shows.
  private(set) var version: UInt64 = 1
  /// Grows with what the list shows.
  private(set) var rowsVersion: UInt64 = 1
  private(set) var lastUse = ContinuousClock.now

  /// The share of the time in which it reads.
  private static let restPerReading = 50
  private static let shortestRest = Duration.seconds(2)
  /// So long after the last look somebody may still look.
  private static let attention = Duration.seconds(60)
  /// Operations that were tried again and are read one by one, with their attempts.
  private static let mostInFull = 100

  init(_ graph: GraphID, _ reader: Reader) {
    self.graph = graph
    self.reader = reader
  }

  /// Costs the runs, and a byte for each of their operations.
  func apply(_ runs: [EventRun]) {
    guard progress != nil else {
      early += runs
      return
    }
    for run in runs {
      if progress?.apply(run) == true { version += 1 }
      elements?.apply(run)
    }
    rowsVersion += 1
  }

  /// What its page shows now.
  func view(now: WallTime) async throws -> (view: GraphView, panels: [WebPanel]) {
    lastUse = .now
    if progress == nil { try await begin() }
    startReading()
    guard let progress, let elements, let structure else {
      throw ClientError.unexpectedReply("structure")
    }
    let view = GraphView(
      progress: progress, elements: elements, structure: structure,
      waiting: waiting, rowsRead: rowsRead, now: now)
    return (view, panels)
  }

  private func begin() async throws {
    let structure = try await reader.structure(graph)
    // Another caller may have been faster.
    guard progress == nil else { return }
    self.structure = structure
    elements = ElementStates(structure)
    progress = GraphProgress(structure)
    let early = early
    self.early = []
    apply(early)
  }

  // MARK: - Reading

  private func startReading() {
    let hasEnded = progress?.outcome != nil
    // The first one after the end does not wait for its turn.
    let isLast = hasEnded && !hasTriedAfterEnd
    guard !isReading, !readAfterEnd, isLast || ContinuousClock.now >= nextReading else { return }
    isReading = true
    if hasEnded { hasTriedAfterEnd = true }
    Task { await read(afterEnd: hasEnded) }
  }

  private func read(afterEnd: Bool) async {
    let start = ContinuousClock.now
    do {
      try await readRows()
      readAfterEnd = afterEnd
    } catch {
      // The page tells that the coordinator is not reached; it is tried again.
    }
    let took = ContinuousClock.now - start
    nextReading = .now + max(Self.shortestRest, took * Self.restPerReading)
    isReading = false
    version += 1
  }

  private func readRows() async throws {
    let structure = try await reader.structure(graph)
    let submission = try? await reader.submissionIfKnown(graph)
    let now = WallTime(milliseconds: WallClock.now())
    var report = GraphReport(structure, submission ?? nil, now: now)
    var (count, inFull) = (0, 0)
    var last: OperationID?
    while true {
      // Nobody looks any more: whoever comes back begins anew.
      if ContinuousClock.now - lastUse > Self.attention { throw CancellationError() }
      let rows = try await reader.rows(.graph(graph), after: last, Limits.rowsPerReply)
      for row in rows {
        if GraphTrace.hasEarlierAttempts(row), inFull < Self.mostInFull {
          inFull += 1
          report.include(try await reader.inFull(row))
        } else {
          report.include(row)
        }
      }
      count += rows.count
      take(rows, count)
      guard rows.count == Limits.rowsPerReply, let row = rows.last else { break }
      last = row.id
    }
    let summary = try? await WhySummary(graph, reader)
    self.structure = structure
    waiting = summary?.groups ?? []
    guard let progress, let elements else { return }
    let view = GraphView(
      progress: progress, elements: elements, structure: structure, waiting: waiting,
      rowsRead: rowsRead, now: now)
    panels = view.readPanels(report)
  }

  /// An operation that has ended stays so, whichever of row and event is older.
  private func take(_ rows: [OperationRow], _ count: Int) {
    for row in rows {
      let known = elements?.state(of: Int(row.id.index))
      let hasEnded = known.map { $0.position >= StateWord.succeeded.position } ?? false
      if hasEnded, row.outcome == nil { continue }
      elements?.take(row)
    }
    rowsRead = max(rowsRead, count)
    version += 1
    rowsVersion += 1
  }

  /// Rows that the list shows from a position on, and how many it has.
  func rows(
    _ filter: ElementStates.Filter, from position: Int
  ) async throws -> (rows: [OperationRow], count: Int) {
    lastUse = .now
    if progress == nil { try await begin() }
    guard let elements else { return ([], 0) }
    let count = elements.count(filter)
    guard let first = elements.operationIndex(at: position, filter) else { return ([], count) }
    var selection = Selection.graph(graph)
    selection.operation = filter.stage
    selection.states = filter.states
    let after = first == 0 ? nil : OperationID(graph: graph, index: UInt32(clamping: first - 1))
    return (try await reader.rows(selection, after: after, GraphView.rowsAtOnce), count)
  }
}
