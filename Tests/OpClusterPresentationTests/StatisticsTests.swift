// What a graph cost, its critical path, its advice; and the same graph as a trace.

import OpClusterModel
import Testing

@testable import OpClusterPresentation

@Suite struct StatisticsTests {
  /// split → align [3] (same index) → sort [3] → merge, and alone.
  private static let structure = Sample.structure(
    [
      Sample.stage("split", 1, first: 0, [.succeeded: 1]),
      Sample.stage(
        "align", 3, first: 1, [.succeeded: 3], runs: [IndexRun(first: 10, count: 3, step: 10)]),
      Sample.stage("sort", 3, first: 4, isArray: true, [.succeeded: 3]),
      Sample.stage("merge", 1, first: 7, [.failed: 1]),
      Sample.stage("alone", 1, first: 8, [.executing: 1]),
    ],
    [
      GroupEdge(from: 0, to: 1, policy: .succeeded),
      GroupEdge(from: 1, to: 2, policy: .succeeded, match: .sameIndex),
      GroupEdge(from: 2, to: 3, policy: .finished),
    ])

  /// Milliseconds after the submission.
  private static func row(
    _ index: UInt32, ready: Int64?, _ start: Int64, _ end: Int64?, worker: String = "w1",
    outcome: Outcome = .succeeded, change: (inout OperationRow) -> Void = { _ in }
  ) -> OperationRow {
    func moment(_ offset: Int64?) -> WallTime {
      offset.map { WallTime(milliseconds: Sample.start.milliseconds + $0) } ?? .unknown
    }
    let id = OperationID(graph: GraphID(12), index: index)
    var row = OperationRow(
      id: id, name: "", index: nil, state: end == nil ? .executing : StateWord(outcome))
    row.outcome = end == nil ? nil : outcome
    row.submittedAt = Sample.start
    row.readyAt = moment(ready)
    row.startedAt = moment(start)
    row.finishedAt = moment(end)
    row.workerName = worker
    row.attempt = 1
    change(&row)
    return row
  }

  private static let rows: [OperationRow] = [
    row(0, ready: 0, 100, 1_100),
    row(1, ready: 1_110, 1_200, 2_200), row(2, ready: 1_110, 1_200, 4_200, worker: "w2"),
    row(3, ready: 1_110, 2_200, 3_000),
    row(4, ready: 2_210, 2_300, 2_400), row(5, ready: 4_210, 4_300, 9_300, worker: "w2"),
    row(6, ready: 3_010, 3_100, 3_200),
    row(7, ready: 9_310, 9_400, 9_900, outcome: .failed) { row in
      var result = AttemptResult()
      result.cause = .failed
      result.exitStatus = 3
      row.result = result
    },
    row(8, ready: 0, 100, nil),
  ]

  private static func statistics(
    _ submission: GraphSubmission? = nil
  ) -> GraphStatistics {
    var statistics = GraphStatistics(structure, submission)
    for row in rows.reversed() { statistics.add(row) }
    return statistics
  }

  @Test func adds() {
    let statistics = Self.statistics()
    #expect(statistics.span == 9_900)
    #expect(statistics.ran == 1_000 + 1_000 + 3_000 + 800 + 100 + 5_000 + 100 + 500)
    #expect(statistics.parallelism == Double(statistics.ran) / 9_900)
    let align = statistics.stages[1]
    #expect(align.counts[.succeeded] == 3 && align.ran.count == 3 && align.ran.longest == 3_000)
    #expect(align.waitedForStart.sum == 90 + 90 + 1_090)
    #expect(align.waitedForDependencies.sum == 3 * 1_110)
    #expect(statistics.stages[4].ran.count == 0, "it still runs")
  }

  /// By the one that ended last of a whole stage, and by the own index where that is meant.
  @Test func criticalPath() {
    let path = Self.statistics().criticalPath()
    #expect(path.map(\.name) == ["split", "align/20", "sort/2", "merge"])
    #expect(path.map(\.waited) == [100, 100, 100, 100])
    #expect(path.map(\.ran) == [1_000, 3_000, 5_000, 500])
    #expect(Self.statistics().criticalPath(atMost: 2).map(\.name) == ["sort/2", "merge"])
    #expect(GraphStatistics(Self.structure, nil).criticalPath().isEmpty, "nothing has ended")
  }

  /// A cycle that was allowed is not followed for ever, nor ends that are all at one moment.
  @Test func pathsEnd() {
    let structure = Sample.structure(
      [Sample.stage("a", 1, first: 0, [:]), Sample.stage("b", 1, first: 1, [:])],
      [
        GroupEdge(from: 0, to: 1, policy: .finished), GroupEdge(from: 1, to: 0, policy: .finished),
        GroupEdge(from: 0, to: 0, policy: .finished),
      ])
    var statistics = GraphStatistics(structure, nil)
    statistics.add(Self.row(0, ready: 0, 5, 10))
    statistics.add(Self.row(1, ready: 0, 5, 10))
    #expect(statistics.criticalPath().count <= 2)
    // Rows of operations that the structure does not have are nobody's.
    statistics.add(Self.row(99, ready: 0, 5, 10))
    #expect(statistics.ran == 10)
  }

  /// Ends by two clocks may be out of order; and a coordinator may say anything.
  @Test func clocksAndNumbers() {
    var statistics = GraphStatistics(Self.structure, nil)
    statistics.add(Self.row(0, ready: 0, 100, 1_100))
    statistics.add(Self.row(1, ready: 0, 1_000, 1_050))
    #expect(statistics.criticalPath().map(\.name) == ["split"])
    statistics.add(Self.row(4, ready: 0, 1_060, 1_101))
    #expect(statistics.criticalPath().map(\.name) == ["split", "align/10", "sort/1"])
    var strange = Self.structure
    strange.stages[1].count = .max
    strange.stages[2].firstIndex = .max
    #expect(GraphStatistics(strange, nil).structure.stages.map(\.count) == [1, 0, 0, 1, 1])
    var trace = GraphTrace(strange, now: Sample.start)
    for row in Self.rows { trace.add(row) }
    #expect(trace.flows().count == 0)
    strange.elementEdgeCount = 7
    #expect(!GraphStatistics(strange, nil).knowsAllDependencies)
    let page = statisticsPage(GraphStatistics(strange, nil), Sample.style(200))
    #expect(page.contains { $0.contains("may be another") })
  }

  @Test func advice() {
    func advice(
      cpus: Int64, memory: Int64, used: Double, peak: UInt64, seconds: Int64 = 60
    ) -> [ResourceAdvice] {
      var submission = GraphSubmission(name: "g")
      submission.templates = Self.structure.stages.map {
        OperationTemplate(name: $0.name, count: $0.count, work: .command)
      }
      submission.templates[0].demand = Resources(
        cpus: ResourceAmount(tenThousandths: cpus * 10_000), memoryBytes: memory)
      var statistics = GraphStatistics(Self.structure, submission)
      statistics.add(
        Self.row(0, ready: 0, 0, seconds * 1_000) { row in
          var result = AttemptResult()
          result.processorMicroseconds = UInt64(used * Double(seconds) * 1e6)
          result.maximumResidentBytes = peak
          row.result = result
        })
      return statistics.stages[0].advice
    }
    let giga: UInt64 = 1 << 30
    #expect(
      advice(cpus: 8, memory: 0, used: 1.5, peak: 0) == [.fewerProcessors(asked: 8, used: 1.5)])
    #expect(advice(cpus: 1, memory: 0, used: 3, peak: 0) == [.moreProcessors(asked: 1, used: 3)])
    #expect(advice(cpus: 1, memory: 0, used: 1.1, peak: 0).isEmpty)
    #expect(advice(cpus: 8, memory: 0, used: 1, peak: 0, seconds: 5).isEmpty, "too short to say")
    #expect(
      advice(cpus: 1, memory: Int64(8 * giga), used: 1, peak: giga)
        == [.lessMemory(asked: 8 * giga, used: giga)])
    #expect(advice(cpus: 1, memory: Int64(giga), used: 1, peak: giga * 3 / 4).isEmpty)
    #expect(advice(cpus: 1, memory: 0, used: 1, peak: 2 * giga) == [.someMemory(used: 2 * giga)])
    #expect(
      ResourceAdvice.lessMemory(asked: 8 * giga, used: giga).sentence
        == "asks for 8.0 GiB, and uses at most 1.0 GiB: ask for less")
  }

  @Test func quantiles() {
    var series = TimeSeries()
    #expect(series.quantile(0.5) == nil)
    for time in 1...1_000 as ClosedRange<Int64> { series.add(time) }
    series.add(-5)
    #expect(series.count == 1_001 && series.sum == 500_500 && series.longest == 1_000)
    for share in [0.01, 0.5, 0.95, 0.99] {
      let exact = share * 1_001
      let found = Double(series.quantile(share) ?? 0)
      #expect(found >= exact - 1 && found <= exact * 1.07 + 1, "\(share): \(found) of \(exact)")
    }
    #expect(series.quantile(0) == 0 && series.quantile(1) == 1_000)
    series.add(.max)
    #expect(series.quantile(1) == .max)
  }

  // MARK: - Shown

  @Test(arguments: [40, 60, 80, 200]) func page(width: Int) {
    let lines = statisticsPage(Self.statistics(), Sample.style(width))
    #expect(lines.allSatisfy { displayWidth($0) <= width }, "\(lines)")
    #expect(lines.contains { $0 == "critical path" })
    #expect(lines.contains { $0.contains("align/20") })
    if width == 80 {
      #expect(lines.contains("  took       9.9s to its last end"), "\(lines)")
    }
  }

  @Test func json() throws {
    var listing = JSONListing("graphs", format: .json)
    listing.row { $0.fields(of: Self.statistics()) }
    listing.end()
    let text = String(decoding: listing.take(), as: UTF8.self)
    let graph = try #require(try StrictJSON(text)["graphs"]?[0])
    #expect(graph["span_seconds"] == .number(9.9))
    #expect(graph["operations"]?[1]?["ran_longest_seconds"] == .number(3))
    #expect(graph["critical_path"]?[2]?["id"] == .string("12/sort/2"))
    #expect(graph["operations"]?[4]?["ran_seconds"] == nil)
  }

  // MARK: - Traces

  private static func trace() -> GraphTrace {
    var trace = GraphTrace(structure, now: Sample.later(seconds: 20))
    for row in rows { trace.add(row) }
    // It was tried before, elsewhere.
    var again = row(6, ready: 3_010, 3_100, 3_200)
    again.attempt = 2
    #expect(GraphTrace.hasEarlierAttempts(again))
    again.attempts = ([1, 2] as [UInt32]).map { run in
      var result = AttemptResult()
      result.startedAt = WallTime(milliseconds: Sample.start.milliseconds + 5_000 * Int64(run))
      result.endedAt = WallTime(milliseconds: Sample.start.milliseconds + 5_000 * Int64(run) + 100)
      if run == 1 { result.cause = .signal }
      var attempt = AttemptHistory(
        attempt: AttemptID(operation: again.id, attempt: run), outcome: run == 1 ? nil : .succeeded,
        reason: nil, workerName: "w\(run)", result: result)
      attempt.run = run
      return attempt
    }
    #expect(!GraphTrace.hasEarlierAttempts(again))
    trace.add(again)
    return trace
  }

  private func events(_ trace: GraphTrace) throws -> [StrictJSON] {
    var bytes: [UInt8] = []
    trace.chromeTrace { bytes += $0 }
    let document = try StrictJSON(String(decoding: bytes, as: UTF8.self))
    guard case .array(let events)? = document["traceEvents"] else { return [] }
    return events
  }

  @Test func chromeTrace() throws {
    let events = try events(Self.trace())
    func all(_ phase: String) -> [StrictJSON] { events.filter { $0["ph"] == .string(phase) } }
    #expect(all("X").count == Self.rows.count + 2)
    let merge = try #require(all("X").first { $0["name"] == .string("merge") })
    #expect(merge["args"]?["exit_status"] == .number(3))
    #expect(merge["args"]?["state"] == .string("failed"))
    #expect(merge["dur"] == .number(500_000))
    let alone = try #require(all("X").first { $0["name"] == .string("alone") })
    #expect(alone["args"]?["state"] == .string("executing"))
    #expect(alone["dur"] == .number(19_900_000), "until now")
    #expect(all("X").contains { $0["args"]?["state"] == .string("tried again") })
    // split to three, three to three, the last one to merge.
    #expect(all("s").count == 7 && all("f").count == 7)
    #expect(Set(all("s").map { "\(String(describing: $0["id"]))" }).count == 7)
    let names = all("M").compactMap { $0["args"]?["name"] }
    #expect(names.contains(.string("worker w1")) && names.contains(.string("slot 2")))
    #expect(all("C").contains { $0["args"]?["operations"] == .number(3) })
    let last = all("C").last { $0["name"] == .string("running") }
    #expect(last?["args"]?["operations"] == .number(0))
  }

  /// What runs at once on one worker never shares a row.
  @Test func rowsOfAWorker() throws {
    let count = 300
    var trace = GraphTrace(
      Sample.structure([Sample.stage("a", UInt32(count), first: 0, [:])]), now: Sample.start)
    var state: UInt32 = 7
    func chance(_ below: Int64) -> Int64 {
      state = state &* 1_664_525 &+ 1_013_904_223
      return Int64(state >> 8) % below
    }
    for index in 0..<count {
      let start = chance(1_000)
      trace.add(
        Self.row(UInt32(index), ready: nil, start, start + chance(50), worker: "w\(index % 2)"))
    }
    trace.layOut()
    var ends: [[Int]: Int64] = [:]
    for slice in trace.slices {
      let row = [slice.worker, slice.lane]
      #expect(ends[row] ?? 0 <= slice.start)
      ends[row] = max(slice.end, slice.start + 1)
    }
    #expect(ends.count < 60, "rows are used again")
  }

  @Test func openTelemetry() throws {
    let parent = try #require(
      TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    func spans(below parent: TraceParent?) throws -> [StrictJSON] {
      var bytes: [UInt8] = []
      Self.trace().openTelemetryTrace(below: parent) { bytes += $0 }
      let document = try StrictJSON(String(decoding: bytes, as: UTF8.self))
      let spans = document["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]
      guard case .array(let all)? = spans else { return [] }
      return all
    }
    let all = try spans(below: parent)
    // The graph, nine operations, and of one of them two attempts more.
    #expect(all.count == 1 + 9 + 9 + 2)
    #expect(all.allSatisfy { $0["traceId"] == .string("0af7651916cd43dd8448eb211c80319c") })
    #expect(all[0]["parentSpanId"] == .string("b7ad6b7169203331"))
    let numbers = Set(all.map { "\(String(describing: $0["spanId"]))" })
    #expect(all.dropFirst().allSatisfy {
      numbers.contains("\(String(describing: $0["parentSpanId"]))")
    })
    let merge = try #require(all.first { $0["name"] == .string("merge") })
    #expect(merge["status"]?["code"] == .number(2))
    let alone = try spans(below: nil)
    #expect(try spans(below: nil) == alone, "the same graph is the same trace")
    let running = try #require(all.first { $0["name"] == .string("alone") })
    #expect(running["status"] == nil, "it has no outcome")
    #expect(alone[0]["parentSpanId"] == nil && alone[0]["traceId"] != all[0]["traceId"])
  }

  @Test func traceParents() throws {
    #expect(TraceParent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more") != nil)
    #expect(TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more") == nil)
    for text in [
      "", "00", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
      "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
    ] { #expect(TraceParent(text) == nil, "\(text)") }
    // The Python package computes the same.
    let parent = try #require(
      TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    let spans = GraphSpans(GraphID(12), below: parent)
    #expect(
      "\(parent.with(span: spans.attempt(2, of: 7)))"
        == "00-0af7651916cd43dd8448eb211c80319c-9f91e02899d181e0-01")
  }
}
