// A report of one graph, for e-mails and papers: what ran, where, how long, what failed and why.
// Takes in the rows of the graph; then `html` writes one document without scripts that fetches
// nothing. Pure. Its size is bounded, whatever the graph has.

public import OpClusterModel

public struct GraphReport: Sendable {
  /// A failure that the report tells of.
  struct Failure: Sendable {
    var name: String
    var worker: String
    var attempt: UInt32
    var sentence: String
    var finishedAt: WallTime
    /// The end of stderr, or the words of the worker.
    var lines: [String]
  }
  /// What the operations of one name ran, as people would type it.
  struct Work: Sendable {
    var name: String
    var line: String
  }

  /// Those shown; all are counted.
  private static let mostFailures = 40
  private static let linesOfFailure = 40

  private(set) var statistics: GraphStatistics
  private(set) var trace: GraphTrace
  private(set) var failures: [Failure] = []
  private(set) var failureCount: UInt64 = 0
  private(set) var works: [Work] = []
  /// The programs that it was made with, one a line: `opbatch 1.0`.
  public var versions: [String] = []
  /// As it was submitted, if the caller has it.
  public var manifest: String?
  let madeAt: WallTime

  public init(_ structure: GraphStructure, _ submission: GraphSubmission?, now: WallTime) {
    statistics = GraphStatistics(structure, submission)
    trace = GraphTrace(structure, now: now)
    madeAt = now
  }

  /// Adds an operation, with the earlier attempts that its row has.
  public mutating func include(_ row: OperationRow) {
    statistics.add(row)
    trace.add(row)
    guard let outcome = row.outcome, outcome == .failed || outcome == .timedOut || outcome == .lost
    else { return }
    failureCount += 1
    guard failures.count < Self.mostFailures else { return }
    let result = row.result ?? AttemptResult()
    failures.append(
      Failure(
        name: statistics.structure.name(of: row.id.index), worker: row.workerName,
        attempt: row.attempt, sentence: row.result?.sentence ?? outcome.word,
        finishedAt: row.finishedAt,
        lines: Array(safeLines(result.diagnostic).suffix(Self.linesOfFailure))))
  }

  /// Adds what the operations of one name run.
  public mutating func addWork(_ name: String, _ line: String) {
    works.append(Work(name: name, line: line))
  }

  /// The document.
  public func html() -> String {
    var trace = trace
    trace.layOut()
    let page = ReportPage(report: self, trace: trace)
    var html = HTMLText()
    html.markup("<!DOCTYPE html>\n")
    html.element("html", [("lang", "en")]) { html in
      html.element("head") { page.head(&$0) }
      html.markup("\n")
      html.element("body") { html in
        html.element("header") { page.summary(&$0) }
        html.element("main") { page.sections(&$0) }
        html.element("footer") { page.foot(&$0) }
      }
    }
    html.markup("\n")
    return html.text
  }
}
