// Names in events stay right however many graphs, queues and workers a batch has, and the book of
// names stays small (S104).

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import Synchronization
import Testing

@testable import opbatch

/// A cluster of graphs with one operation `make`; counts what it is asked.
private final class Cluster: NameSource {
  let asked = Mutex((graphs: 0, queues: 0, workers: 0))
  let stages: Int
  let queueNames: [QueueID: String]
  /// What a graph with an odd number is refused with.
  let refusal: Refusal?

  init(stages: Int = 1, queues: [QueueID: String] = [:], refusal: Refusal? = nil) {
    self.stages = stages
    queueNames = queues
    self.refusal = refusal
  }

  func structure(_ graph: GraphID) async throws -> GraphStructure {
    asked.withLock { $0.graphs += 1 }
    if let refusal, graph.number % 2 == 1 { throw ClientError(refusal) }
    return Self.structure(graph, stages)
  }
  func queues() async throws -> [QueueRow] {
    asked.withLock { $0.queues += 1 }
    return queueNames.keys.sorted().map { queue in
      QueueRow(
        queue: queue, settings: QueueSettings(name: queueNames[queue] ?? ""), operationCount: 0,
        executing: 0, dispatched: 0, barriers: 0)
    }
  }
  func workers() async throws -> [WorkerRow] {
    asked.withLock { $0.workers += 1 }
    return []
  }

  static func structure(_ graph: GraphID, _ stages: Int) -> GraphStructure {
    GraphStructure(
      row: GraphRow(
        graph: graph, name: "g", state: .running, counts: StateCounts(),
        submittedAt: WallTime(milliseconds: 0), finishedAt: WallTime(milliseconds: 0), labels: [],
        allowedFailures: 0),
      stages: (0..<UInt32(stages)).map { index in
        GraphStructure.Stage(
          name: index == 0 ? "make" : "more\(index)", count: 1, firstIndex: index, isArray: false,
          indexRuns: [], queue: "default", work: "command", counts: StateCounts())
      }, groupEdges: [], elementEdges: ElementEdges(), elementEdgeCount: 0)
  }
}

@Suite struct NameBookTests {
  private func event(_ graph: UInt32, _ kind: Event.Kind = .isReady(true)) -> Event {
    Event(
      sequence: 1, commit: CommitIndex(1), time: WallTime(milliseconds: 0),
      subject: .operation(OperationID(graph: GraphID(graph), index: 0), sequence: 1), kind: kind)
  }

  /// The lines of a batch, as `opbatch events` makes them.
  private func lines(_ book: inout NameBook, _ events: [Event]) async throws -> [String] {
    var lines: [String] = []
    for event in events {
      try await book.learn(event)
      lines.append(eventLine(event, names: book, style: Style()))
    }
    return lines
  }

  @Test func namesStayRightBeyondWhatIsKept() async throws {
    // Each graph as heavy as a tenth of what is kept.
    let cluster = Cluster(stages: 100 - NameBook.graphWeight)
    var book = NameBook(cluster, keptStages: 1_000)
    for (number, line) in try await lines(&book, (1...60).map { event($0) }).enumerated() {
      #expect(line.contains("\(number + 1)/make"), "\(line)")
    }
    #expect(book.knownGraphs <= 10)
    // What was let go of is asked for anew.
    #expect(try await lines(&book, [event(1)])[0].contains("1/make"))
    #expect(cluster.asked.withLock(\.graphs) == 61)
  }

  /// A busy cluster: what is asked for is asked once, in whatever order its events come.
  @Test func manyGraphsAtOnce() async throws {
    let cluster = Cluster()
    var book = NameBook(cluster)
    let events = (0..<3).flatMap { _ in (1...1_000).map { event($0) } }
    #expect(try await lines(&book, events).allSatisfy { $0.contains("/make") })
    #expect(cluster.asked.withLock(\.graphs) == 1_000)
  }

  /// Both names of one event are there, were each as heavy as all that may be kept.
  @Test func bothNamesOfAnEvent() async throws {
    let other = OperationID(graph: GraphID(2), index: 0)
    let kinds: [Event.Kind] = [
      .isCancelled(.dependency(other, .failed)), .dependencyAdded(other, .succeeded),
      .dependencyRemoved(other),
    ]
    for kind in kinds {
      var book = NameBook(Cluster(stages: 100), keptStages: 100)
      let line = try await lines(&book, [event(2), event(3), event(1, kind)])[2]
      #expect(line.contains("1/make") && line.contains("2/make"), "\(line)")
    }
  }

  @Test func queuesOfOtherKinds() async throws {
    let cluster = Cluster(queues: [QueueID(7): "seven"])
    var book = NameBook(cluster)
    let events = [
      event(1, .enqueued(QueueID(7))), event(1, .enqueued(QueueID(8))),
      event(1, .enqueued(QueueID(8))),
    ]
    let lines = try await lines(&book, events)
    #expect(lines[0].hasSuffix("into queue seven") && lines[2].hasSuffix("into queue #8"))
    #expect(cluster.asked.withLock(\.queues) == 2, "who is not known is not asked for again")
  }

  /// A graph that nobody knows any more has numbers; a coordinator that is busy is a failure, since
  /// a wrong name would be believed.
  @Test func whoIsUnknownIsToldFromWhoIsBusy() async throws {
    let forgotten = Cluster(refusal: Refusal(.unknownGraph, "there is no graph 1"))
    var book = NameBook(forgotten)
    #expect(try await lines(&book, [event(1), event(1)])[1].contains("1/#0"))
    #expect(forgotten.asked.withLock(\.graphs) == 1)
    var other = NameBook(Cluster(refusal: Refusal(.busy, "too much")))
    await #expect(throws: ClientError.self) { try await other.learn(event(1)) }
  }

  @Test func theNewestTwoAreAlwaysKept() {
    var kept = RecentlyUsed<Int, Int>(capacity: 4)
    for key in 0..<100 {
      kept.insert(key, for: key, weight: key % 7)
      #expect(kept[key] == key && (key == 0 || kept[key - 1] == key - 1))
      #expect(kept.count <= 5)
      if key > 1 { #expect(kept.use(key - 1) && kept.use(key) && kept[key - 1] == key - 1) }
    }
  }
}
