// Parts of the pages for browsers: states of elements, maps, rates, layers, and that nothing from
// elsewhere becomes markup.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterPresentation

@Suite struct WebPageTests {
  private func structure(
    _ stages: [(name: String, count: UInt32)], edges: [(UInt32, UInt32)] = [],
    state: StateWord = .waiting
  ) -> GraphStructure {
    var first: UInt32 = 0
    let all = stages.map { stage in
      defer { first += stage.count }
      var counts = StateCounts()
      counts[state] = stage.count
      return GraphStructure.Stage(
        name: stage.name, count: stage.count, firstIndex: first, isArray: stage.count > 1,
        indexRuns: [], queue: "q", work: "command", counts: counts)
    }
    var total = StateCounts()
    for stage in all { total.add(stage.counts) }
    let row = GraphRow(
      graph: GraphID(3), name: "g", state: .running, counts: total, submittedAt: .unknown,
      finishedAt: .unknown, labels: [], allowedFailures: 0)
    return GraphStructure(
      row: row, stages: all,
      groupEdges: edges.map { GroupEdge(from: $0.0, to: $0.1, policy: .succeeded, match: .all) },
      elementEdges: ElementEdges(), elementEdgeCount: 0)
  }

  private func event(_ index: UInt32, _ kind: Event.Kind) -> EventRun {
    let id = OperationID(graph: GraphID(3), index: index)
    let event = Event(
      sequence: 1, commit: CommitIndex(1), time: .unknown, subject: .operation(id, sequence: 1),
      kind: kind)
    return EventRun(first: event, count: 1)
  }

  @Test func elements() {
    var states = ElementStates(structure([("a", 3), ("b", 1_000)]))
    #expect(states.count == 1_003 && states.state(of: 5) == .waiting)
    states.apply(event(1, .isExecuting(true)))
    states.apply(event(2, .isFinished(.failed)))
    // An event that is older than the end says nothing.
    states.apply(event(2, .isExecuting(true)))
    states.apply(event(4_000_000_000, .isFinished(.succeeded)))
    #expect(states.state(of: 1) == .executing && states.state(of: 2) == .failed)
    #expect(states.state(of: 1_003) == nil && states.state(of: -1) == nil)
    let failed = ElementStates.Filter(states: [.failed])
    #expect(states.count(failed) == 1 && states.operationIndex(at: 0, failed) == 2)
    #expect(states.operationIndex(at: 1, failed) == nil)
    #expect(states.operationIndex(at: -1, failed) == nil)
    let stage = ElementStates.Filter(stage: "b")
    #expect(states.count(stage) == 1_000 && states.operationIndex(at: 7, stage) == 10)
    #expect(states.operationIndex(at: 1_000, stage) == nil)
    #expect(states.count(ElementStates.Filter(stage: "none")) == 0)
    #expect(states.look(0..<3) == "failed" && states.look(0..<2) == "running")
  }

  /// A map is as small for a million as for a thousand.
  @Test func maps() {
    var html = HTMLText()
    var states = ElementStates(structure([("a", 1_000_000), ("b", 40)]))
    for index in stride(from: UInt32(0), to: 1_000_000, by: 991) {
      states.apply(event(index, .isFinished(.failed)))
    }
    HeatMap(states, of: GraphID(3)).draw(&html)
    #expect(html.text.utf8.count < 150_000)
    #expect(html.text.contains("failed") && html.text.contains("a: 1,000,000"))
  }

  @Test func rates() {
    var rates = RateHistory(now: 1_000)
    rates.count(started: 5, ended: 3, now: 1_000)
    rates.count(started: 0, ended: 7, now: 1_001)
    rates.pass(to: 1_002)
    #expect(rates.rate == 1)
    #expect(rates.all.count == RateHistory.length - 1)
    #expect(rates.all.suffix(2).map(\.ended) == [3, 7])
    // A clock that goes back or jumps costs nothing.
    rates.pass(to: 5)
    rates.pass(to: .max)
    #expect(rates.rate == 0)
  }

  @Test func layers() {
    let graph = StageGraph(
      structure(
        [("a", 1), ("b", 1), ("c", 1), ("d", 1)], edges: [(0, 1), (0, 2), (1, 3), (2, 3)]))
    #expect(stageLayers(graph) == [[0], [1, 2], [3]])
    // A cycle has no layers, and no end.
    let cycle = StageGraph(structure([("a", 1), ("b", 1)], edges: [(0, 1), (1, 0)]))
    #expect(stageLayers(cycle).isEmpty)
    var html = HTMLText()
    layerPicture(structure([("a", 1), ("b", 9)], edges: [(0, 1)]), &html)
    #expect(html.text.contains("layer 2"))
  }

  @Test(.checks("G38")) func textOfOthers() {
    // A sign that begins or ends a cluster of scalars is a sign all the same.
    let evil = "<script>alert(1)</script>\"'&\u{202E}\u{600}<b \u{600}>\u{301}"
    var row = OperationRow(
      id: OperationID(graph: GraphID(3), index: 0), name: evil, index: nil, state: .failed)
    row.workerName = evil
    row.outcome = .failed
    var result = AttemptResult()
    result.cause = .failed
    result.diagnostic = evil
    row.result = result
    let frame = WebFrame(cluster: evil, mayAct: true, formToken: evil)
    let pages = [
      OperationView(
        row: row, command: evil, blocks: [], files: [], reasons: [], now: .unknown
      ).page(frame, logs: [("stdout", evil)]).html(frame, note: evil),
      GraphsView(
        listing: GraphListing(search: evil, state: evil, order: evil), rows: [], hasMore: false,
        now: .unknown
      ).page.html(frame), rowsHTML([row], from: 0),
    ]
    for page in pages {
      #expect(!page.contains("<script>alert") && !page.contains("\u{202E}"))
      #expect(!page.utf8.containsSequence("<b ".utf8))
      #expect(page.contains("&lt;script&gt;"))
    }
  }

  /// For a shell, a browser and dot a quote is one, whatever mark combines with it.
  @Test(.checks("G38")) func quotesThatMarksCombineWith() {
    let word = "a'\u{301}b"
    #expect(shellQuoted(word).unicodeScalars.elementsEqual("'a'\\''\u{301}b'".unicodeScalars))
    let escaped = xmlEscaped("\u{600}<\u{600}>\"\u{301}")
    #expect(!escaped.utf8.contains(UInt8(ascii: "<")) && !escaped.utf8.contains(UInt8(ascii: ">")))
    #expect(!escaped.utf8.contains(UInt8(ascii: "\"")))
  }

  /// What a coordinator says is not believed to be in order.
  @Test func stagesInAnyOrder() {
    var odd = structure([("a", 3), ("b", 5)])
    odd.stages.reverse()
    var states = ElementStates(odd)
    states.apply(event(7, .isFinished(.failed)))
    #expect(states.count == 8 && states.state(of: 7) == .failed)
  }

  @Test func listings() {
    let listing = GraphListing(search: "ALI", state: "nonsense", order: "nonsense")
    #expect(listing.state.isEmpty && listing.order == .newest)
    var row = structure([("a", 1)]).row
    row.name = "align"
    #expect(listing.shows(row))
    row.name = "x"
    row.labels = [Label(key: "project", value: "alicante")]
    #expect(listing.shows(row))
    row.labels = []
    #expect(!listing.shows(row))
    #expect(GraphListing(search: "3", state: "active", order: "").shows(row))
    #expect(!GraphListing(search: "", state: "failed", order: "").shows(row))
  }
}

extension Collection where Element: Equatable {
  fileprivate func containsSequence(_ other: some Collection<Element>) -> Bool {
    indices.contains { self[$0...].starts(with: other) }
  }
}
