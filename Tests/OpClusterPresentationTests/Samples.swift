// Graphs, operations and names that the tests of this target share.

import OpClusterModel
import OpClusterPresentation

enum Sample {
  /// 2026-11-21T01:40:48.123Z.
  static let start = WallTime(milliseconds: 1_795_225_248_123)

  static func later(seconds: Int64) -> WallTime {
    WallTime(milliseconds: start.milliseconds + seconds * 1000)
  }

  // 83 seconds after the start, in a zone one hour east.
  static func style(_ width: Int?, colour: Bool = false, unicode: Bool = true) -> Style {
    Style(
      width: width, usesColour: colour, usesUnicode: unicode, now: later(seconds: 83),
      secondsEastOfUTC: 3600)
  }

  static func counts(_ pairs: [StateWord: UInt32]) -> StateCounts {
    var counts = StateCounts()
    for word in StateWord.allCases { counts[word] = pairs[word] ?? 0 }
    return counts
  }

  static func stage(
    _ name: String, _ count: UInt32, first: UInt32, isArray: Bool? = nil,
    _ counts: [StateWord: UInt32], runs: [IndexRun] = []
  ) -> GraphStructure.Stage {
    .init(
      name: name, count: count, firstIndex: first, isArray: isArray ?? (count != 1),
      indexRuns: runs, queue: "default", work: "command", counts: Sample.counts(counts))
  }

  static func row(
    _ number: UInt32 = 12, _ name: String = "rnaseq", _ state: GraphRow.State = .running,
    counts: StateCounts, finishedAt: WallTime = .unknown
  ) -> GraphRow {
    GraphRow(
      graph: GraphID(number), name: name, state: state, counts: counts, submittedAt: start,
      finishedAt: finishedAt, labels: [], allowedFailures: 0)
  }

  static func structure(
    _ stages: [GraphStructure.Stage], _ edges: [GroupEdge] = [], state: GraphRow.State = .running
  ) -> GraphStructure {
    var counts = StateCounts()
    for stage in stages { counts.add(stage.counts) }
    return GraphStructure(
      row: row(12, "rnaseq", state, counts: counts), stages: stages, groupEdges: edges,
      elementEdges: ElementEdges(), elementEdgeCount: 0)
  }

  //   index ──┬── align [400] ──┬── merge ── report
  //   fetch ──┘        └── stats ──────────────┘
  static let rnaseq = structure(
    [
      stage("index", 1, first: 0, [.succeeded: 1]),
      stage("fetch", 1, first: 1, [.succeeded: 1]),
      stage(
        "align", 400, first: 2, [.succeeded: 300, .failed: 2, .executing: 8, .waiting: 90]),
      stage("merge", 1, first: 402, [.waiting: 1]),
      stage("stats", 400, first: 403, [.succeeded: 120, .executing: 4, .ready: 6, .waiting: 270]),
      stage("report", 1, first: 803, [.waiting: 1]),
    ],
    [
      GroupEdge(from: 0, to: 2, policy: .succeeded), GroupEdge(from: 1, to: 2, policy: .succeeded),
      GroupEdge(from: 2, to: 3, policy: .succeeded),
      GroupEdge(from: 2, to: 4, policy: .succeeded, match: .sameIndex),
      GroupEdge(from: 3, to: 5, policy: .succeeded), GroupEdge(from: 4, to: 5, policy: .finished),
    ])

  static let diamond = structure(
    [
      stage("a", 1, first: 0, [.succeeded: 1]), stage("b", 1, first: 1, [.executing: 1]),
      stage("c", 1, first: 2, [.failed: 1]), stage("d", 1, first: 3, [.waiting: 1]),
    ],
    [
      GroupEdge(from: 0, to: 1, policy: .succeeded), GroupEdge(from: 0, to: 2, policy: .succeeded),
      GroupEdge(from: 1, to: 3, policy: .succeeded), GroupEdge(from: 2, to: 3, policy: .succeeded),
    ])

  static func operation(
    _ state: StateWord, name: String = "align", element: UInt32? = 3
  ) -> OperationRow {
    let id = OperationID(graph: GraphID(12), index: 4)
    var row = OperationRow(id: id, name: name, index: element, state: state)
    row.queue = "default"
    row.submittedAt = start
    return row
  }

  static var failed: OperationRow {
    var row = operation(.failed)
    row.isReady = true
    row.isFinished = true
    row.outcome = .failed
    row.attempt = 2
    row.workerName = "w1"
    row.readyAt = later(seconds: 1)
    row.startedAt = later(seconds: 2)
    row.finishedAt = later(seconds: 62)
    row.needs = [
      .init(id: OperationID(graph: GraphID(12), index: 0), shown: "12/index", policy: .succeeded)
    ]
    var result = AttemptResult()
    result.cause = .failed
    result.exitStatus = 2
    result.maximumResidentBytes = 3 << 29
    result.processorMicroseconds = 58_000_000
    result.diagnostic = "reading \u{1b}[31mref.fa\u{1b}[0m\nbwa: cannot open\n"
    row.result = result
    var first = AttemptResult()
    first.cause = .timeout
    first.signal = 15
    row.attempts = [
      AttemptHistory(
        attempt: AttemptID(operation: row.id, attempt: 2), outcome: nil, reason: nil,
        workerName: "w2", result: first),
      AttemptHistory(
        attempt: AttemptID(operation: row.id, attempt: 4), outcome: .failed, reason: nil,
        workerName: "w1", result: result),
    ]
    // Attempts that were given back before they began have numbers, too, which nobody is shown.
    row.attempts[1].run = 2
    return row
  }
}

struct SampleNames: EventNames {
  func path(of operation: OperationID) -> String { "12/align/\(operation.index)" }
  func name(of queue: QueueID) -> String { "io" }
  func name(of worker: WorkerID) -> String { "w\(worker.number)" }
}
