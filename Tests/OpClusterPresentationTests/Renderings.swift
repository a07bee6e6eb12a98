// Every page, table and drawing at two widths; `Expected.swift` holds what they must look like.

import OpClusterModel
import OpClusterPresentation

/// Name and text of each rendering that is compared as a whole.
enum Renderings {
  static let widths = [60, 140]

  static var all: [(name: String, text: String)] {
    widths.flatMap { width in
      sized(Sample.style(width)).map { ("\($0.0) \(width)", $0.1.joined(separator: "\n")) }
    } + special.map { ($0.0, $0.1.joined(separator: "\n")) }
  }

  private static func sized(_ style: Style) -> [(String, [String])] {
    let command = "bwa mem -t 4 'ref genome.fa' ${{ item }}"
    let progress = GraphProgress(Sample.rnaseq)
    return [
      ("graph page", graphPage(Sample.rnaseq, style)),
      ("operation page", operationPage(Sample.failed, command: command, style)),
      ("failure page", failurePage(Sample.failed, command: command, style)),
      (
        "waiting page",
        operationPage(
          Sample.operation(.waiting, element: nil), command: "set -e\n\nmake \u{1b}all\n", style)
      ),
      ("graphs", graphTable([Sample.rnaseq.row, odd], style).lines(style)),
      (
        "operations",
        operationTable([Sample.failed, Sample.operation(.waiting)], style).lines(style)
      ),
      ("queues", queueTable(ClusterSample.queues, style).lines(style)),
      ("workers", workerTable(ClusterSample.workers, style).lines(style)),
      ("why", whyPage(explanations, style)),
      ("stage table", StageTable.frame(progress, height: 20, style)),
      ("stage table of 5", StageTable.frame(progress, height: 5, style)),
      ("drawing", GraphText.lines(Sample.rnaseq, style)),
      ("long edges", GraphText.lines(longEdges, style)),
      ("cycle", GraphText.lines(cycle, style)),
      ("events", ClusterSample.events.map { eventLine($0, names: SampleNames(), style: style) }),
    ]
  }

  private static var special: [(String, [String])] {
    let ascii = Sample.style(80, unicode: false)
    let colour = Sample.style(80, colour: true)
    return [
      ("drawing ascii", GraphText.lines(Sample.rnaseq, ascii)),
      ("drawing too narrow", GraphText.lines(Sample.rnaseq, Sample.style(30))),
      ("stage table ascii", StageTable.frame(GraphProgress(Sample.rnaseq), height: 9, ascii)),
      (
        "colour",
        graphTable([odd], colour).lines(colour)
          + StageTable.frame(GraphProgress(Sample.diamond), height: 9, colour)
          + GraphText.lines(Sample.diamond, colour)
      ),
      ("dot", [GraphDocuments.dot(escaping)]),
      ("mermaid", [GraphDocuments.mermaid(Sample.rnaseq)]),
      ("json events", jsonEvents),
    ]
  }

  /// A name that tries to steer the terminal, and is wide.
  private static let odd = GraphRow(
    graph: GraphID(7), name: "ゲノム解析\u{1b}[2J\u{202e}abc 🧬", state: .failed,
    counts: Sample.counts([.succeeded: 1_234_567, .failed: 2, .timedOut: 1]),
    submittedAt: Sample.start, finishedAt: Sample.later(seconds: 9_000), labels: [],
    allowedFailures: 0)

  private static let explanations = [
    Explanation(
      operation: OperationID(graph: GraphID(12), index: 3), shown: "12/align/3", state: .waiting,
      lines: [
        .init(
          "it waits for 12/index, which is executing on node-1 since 02:40:50 and has been tried "
            + "twice before"), .init("its queue 'io' is suspended", hint: .resumeQueue("io")),
      ]),
    Explanation(
      operation: OperationID(graph: GraphID(12), index: 4), shown: "12/align/4", state: .skipped,
      lines: ["12/index failed", "its stderr:\n\u{1b}[1mboom\n"]),
  ]

  private static func edges(_ pairs: [(UInt32, UInt32)]) -> [GroupEdge] {
    pairs.map { GroupEdge(from: $0.0, to: $0.1, policy: .succeeded) }
  }
  private static let letters = "abcdefgh".enumerated().map { at, letter in
    Sample.stage(String(letter), 1, first: UInt32(at), [.waiting: 1])
  }
  //  a → b → c → d, a → d, a → e → d, f → d, f → g → h, b → h, e → g
  private static let longEdges = Sample.structure(
    letters,
    edges([
      (0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (4, 3), (5, 3), (5, 6), (6, 7), (1, 7), (4, 6),
    ]))
  //  a → b → c → a, c → d
  private static let cycle = Sample.structure(
    Array(letters.prefix(4)), edges([(0, 1), (1, 2), (2, 0), (2, 3)]))

  static let escaping = Sample.structure(
    [
      Sample.stage("a\"b\\<&>", 1, first: 0, [.succeeded: 1]),
      Sample.stage("c\u{1b}[31m", 2, first: 1, [.skipped: 2]),
    ], edges([(0, 1)]))

  private static var jsonEvents: [String] {
    ClusterSample.events.map { event in
      var json = JSONText()
      json.event(event, names: SampleNames())
      return json.text
    }
  }
}
