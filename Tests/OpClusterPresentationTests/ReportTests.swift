// A report is one document without scripts that fetches nothing, in which nothing of others is
// markup, and whose size is bounded whatever the graph has.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterPresentation

@Suite struct ReportTests {
  private static let structure = Sample.structure(
    [
      Sample.stage("split", 1, first: 0, [.succeeded: 1]),
      Sample.stage("align", 3, first: 1, isArray: true, [.succeeded: 2, .failed: 1]),
    ],
    [GroupEdge(from: 0, to: 1, policy: .succeeded)])

  /// Milliseconds after the submission.
  private static func row(
    _ index: UInt32, _ start: Int64, _ end: Int64, worker: String = "w1",
    change: (inout OperationRow) -> Void = { _ in }
  ) -> OperationRow {
    func moment(_ offset: Int64) -> WallTime {
      WallTime(milliseconds: Sample.start.milliseconds + offset)
    }
    var row = OperationRow(
      id: OperationID(graph: GraphID(12), index: index), name: "", index: nil, state: .succeeded)
    row.outcome = .succeeded
    row.submittedAt = Sample.start
    row.readyAt = moment(max(0, start - 50))
    row.startedAt = moment(start)
    row.finishedAt = moment(end)
    row.workerName = worker
    row.attempt = 1
    change(&row)
    return row
  }

  private static func fail(_ row: inout OperationRow, _ diagnostic: String) {
    var result = AttemptResult()
    result.cause = .failed
    result.exitStatus = 3
    result.startedAt = row.startedAt
    result.endedAt = row.finishedAt
    result.diagnostic = diagnostic
    (row.state, row.outcome, row.result) = (.failed, .failed, result)
  }

  private static func report(_ rows: [OperationRow]) -> GraphReport {
    var report = GraphReport(structure, nil, now: Sample.later(seconds: 60))
    for row in rows { report.include(row) }
    return report
  }

  private static let rows = [
    row(0, 100, 1_100), row(1, 1_200, 2_200), row(2, 1_200, 4_200, worker: "w2"),
    row(3, 2_200, 3_000) { fail(&$0, "reading 7\nno such tile\n") },
  ]

  /// Well-formed as XML is, which a browser need not repair.
  private static func problem(_ html: String) -> String? {
    let head = "<!DOCTYPE html>\n"
    guard html.hasPrefix(head) else { return "no document type" }
    return WellFormedXML.problem(String(html.dropFirst(head.count)))
  }

  @Test func tells() {
    var report = Self.report(Self.rows)
    report.addWork("align", "bwa mem ref.fa ${{ item }}")
    report.manifest = "version: 1\nname: g\n"
    report.versions = ["opbatch 1.2"]
    let html = report.html()
    #expect(Self.problem(html) == nil)
    for words in [
      "align/3", "exit status 3, at w1", "reading 7\nno such tile", "Critical path",
      "bwa mem ref.fa", "version: 1\nname: g", "opbatch 1.2", "align/2: succeeded, 3.0s",
      "Workers", ">w2<",
    ] {
      #expect(html.contains(words), "\(words)")
    }
  }

  /// Browsers are told to fetch and run nothing, and are given nothing to fetch or run.
  @Test func isByItself() {
    let html = Self.report(Self.rows).html()
    #expect(html.contains("default-src 'none'; style-src 'unsafe-inline'"))
    let place = html.replacing("http://www.w3.org/2000/svg", with: "")
    for sign in ["<script", "http:", "https:", "src=", "href=", "url(h", "@import", "onload"] {
      #expect(!place.contains(sign), "\(sign)")
    }
  }

  /// Names, workers, labels, reasons, commands and manifests of others stay text.
  @Test(.checks("G38")) func namesAreText() {
    let evil = "x\"'><script>alert(1)</script>&amp;<!--\u{1b}[2J\u{202e}"
    var structure = Self.structure
    structure.row.name = evil
    structure.row.labels = [Label(key: evil, value: evil)]
    for at in structure.stages.indices { structure.stages[at].name = evil }
    var report = GraphReport(structure, nil, now: Sample.later(seconds: 60))
    for row in Self.rows {
      var row = row
      row.workerName = evil
      if row.outcome == .failed { Self.fail(&row, evil) }
      report.include(row)
    }
    report.addWork(evil, evil)
    report.manifest = evil
    report.versions = [evil]
    let html = report.html()
    #expect(Self.problem(html) == nil)
    #expect(!html.contains("<script") && !html.contains("<!--"))
    #expect(!html.unicodeScalars.contains { $0.canSteerTerminal && $0 != "\n" })
  }

  /// A mail has room for it: of what there is much of, a part is shown and the rest counted.
  @Test func sizeIsBounded() {
    let count: UInt32 = 20_000
    let names: UInt32 = 1_000
    let structure = Sample.structure(
      (0..<names).map {
        Sample.stage(
          "name\($0)", count / names, first: $0 * (count / names), isArray: true,
          [.failed: count / names])
      },
      (1..<names).map { GroupEdge(from: $0 - 1, to: $0, policy: .finished) })
    var report = GraphReport(structure, nil, now: Sample.later(seconds: 60))
    let words = String(repeating: "<&>\n", count: Limits.diagnosticBytes / 4)
    for index in 0..<count {
      report.include(
        Self.row(index, Int64(index), Int64(index) + 700, worker: "worker\(index % 500)") {
          Self.fail(&$0, words)
        })
    }
    report.manifest = String(repeating: "&\n", count: 1 << 20)
    let html = report.html()
    #expect(Self.problem(html) == nil)
    #expect(html.utf8.count < 2_000_000, "\(html.utf8.count)")
    #expect(html.contains("19,960 further failures"))
  }

  /// Clocks of workers and numbers of a coordinator of another release may be anything.
  @Test func anyTimes() {
    for (start, end) in [
      (Int64.min, Int64.max), (.max, .min), (0, 0), (-1, .max), (.min, .min), (.max, .max),
    ] {
      var row = Self.row(0, 0, 0)
      (row.startedAt, row.finishedAt) = (
        WallTime(milliseconds: start), WallTime(milliseconds: end)
      )
      row.readyAt = WallTime(milliseconds: end)
      Self.fail(&row, "")
      let problem = Self.problem(Self.report([row] + Self.rows).html())
      #expect(problem == nil, "\(start) \(end)")
    }
    #expect(Self.problem(Self.report([]).html()) == nil)
    #expect(
      Self.problem(
        GraphReport(Sample.structure([], []), nil, now: .unknown).html()) == nil)
  }

  /// Parts of a time have the averages that a slow count gives.
  @Test func binnedCounts() {
    var random = Dice(state: 7)
    for _ in 0..<50 {
      let parts = Int.random(in: 1...9, using: &random)
      var counts = BinnedCounts(from: 0, to: 90 * Int64(parts), parts: parts)
      var slow = Array(repeating: 0.0, count: parts)
      for _ in 0..<20 {
        let from = Int64.random(in: -50...900, using: &random)
        let to = Int64.random(in: -50...900, using: &random)
        counts.cover(from: from, to: to)
        for at in 0..<parts {
          let (begin, end) = (Int64(at) * 90, Int64(at + 1) * 90)
          slow[at] += Double(max(0, min(end, to) - max(begin, from))) / 90
        }
      }
      for (one, other) in zip(counts.averages, slow) { #expect(abs(one - other) < 1e-6) }
    }
  }

  /// Every time is in one class, in order.
  @Test func histograms() {
    var random = Dice(state: 8)
    var times = TimeSeries()
    #expect(times.histogram(atMost: 24).isEmpty)
    for _ in 0..<1_000 { times.add(Int64.random(in: 0...(1 << 40), using: &random) >> 9) }
    for limit in [1, 7, 24, 10_000] {
      let bars = times.histogram(atMost: limit)
      #expect(bars.count <= limit && bars.reduce(0) { $0 + $1.count } == 1_000)
      #expect(bars.last?.longest == times.longest)
      #expect(zip(bars, bars.dropFirst()).allSatisfy { $0.longest < $1.longest })
    }
  }
}

/// The same draws each time.
private struct Dice: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}
