// Which graphs and events a selection means.

import Citations
import OpClusterModel
import OpClusterQueries
import Testing

@testable import OpClusterCoordinator

@Suite struct EventFilterTests {
  /// As few runs as may be, and the same numbers.
  @Test(.checks("G29")) func runsAreJoined() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let runs = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        IndexRun(
          first: .random(in: 0...20, using: &random), count: .random(in: 0...5, using: &random),
          step: .random(in: 0...3, using: &random))
      }
      let joined = runs.joined()
      #expect(joined.count <= max(1, runs.count) && !joined.isEmpty)
      #expect(numbers(joined) == numbers(runs), "\(runs)")
    }
    let many = (0..<1_000).map { IndexRun(first: $0, count: 1) }
    #expect(many.joined() == [IndexRun(first: 0, count: 1_000)])
    let stepped = IndexRun(first: 3, count: 9, step: 2)
    #expect([stepped, stepped].joined() == [stepped])
    let all = [IndexRun(first: 1, count: .max), IndexRun(first: 0, count: 1)].joined()
    #expect(all.map(\.first) == [0, .max] && all.map(\.count) == [.max, 1])
  }

  private func numbers(_ runs: [IndexRun]) -> Set<UInt32> {
    Set(runs.flatMap { run in (0..<run.count).map { run.first + $0 * max(run.step, 1) } })
  }

  // MARK: - Events

  private func filter(_ selection: Selection, graphsOnly: Bool = false) -> EventFilter {
    EventFilter(
      selection, graphs: GraphSet(selection.graphs, living: .init(), last: 9),
      graphsOnly: graphsOnly)
  }

  private func run(
    _ graph: UInt32, _ first: UInt32, _ count: UInt32, _ kind: Event.Kind, from sequence: UInt64 = 1
  ) -> EventRun {
    let subject = Event.Subject.operation(
      OperationID(graph: GraphID(graph), index: first), sequence: 1)
    return EventRun(
      first: Event(
        sequence: sequence, commit: CommitIndex(1), time: .unknown, subject: subject, kind: kind),
      count: count)
  }

  private func single(_ subject: Event.Subject, _ kind: Event.Kind) -> EventRun {
    EventRun(
      first: Event(
        sequence: 1, commit: CommitIndex(1), time: .unknown, subject: subject, kind: kind),
      count: 1)
  }

  private func parts(_ filter: EventFilter, _ run: EventRun) -> [EventRun] {
    var parts: [EventRun] = []
    filter.forEachPart(of: run) { parts.append($0) }
    return parts
  }

  @Test func otherGraphsAreNotTold() {
    let filter = filter(.graph(GraphID(3)))
    #expect(parts(filter, run(3, 0, 5, .isReady(true))) == [run(3, 0, 5, .isReady(true))])
    #expect(parts(filter, run(4, 0, 5, .isReady(true))).isEmpty)
    #expect(parts(filter, single(.queue(.main), .queueRemoved)).isEmpty)
    #expect(parts(filter, single(.worker(WorkerID(1)), .workerLost)).isEmpty)
  }

  @Test func clusterEventsGoToWhoAskedForAll() {
    let lost = single(.worker(WorkerID(1)), .workerLost)
    #expect(parts(filter(Selection(graphs: .all)), lost) == [lost])
    #expect(parts(filter(Selection(graphs: .all), graphsOnly: true), lost).isEmpty)
    #expect(parts(filter(Selection(graphs: .all, queue: "io")), lost).isEmpty)
  }

  @Test func ownGraphsAndQueues() {
    let nothing = Selection(graphs: .numbers([]))
    var filter = EventFilter(
      nothing, graphs: GraphSet(nothing.graphs, living: .init(), last: 9), graphsOnly: false,
      includesOwn: true)
    let mine = run(3, 0, 5, .isReady(true))
    #expect(parts(filter, mine).isEmpty)
    filter.learnOwn(GraphID(3))
    #expect(parts(filter, mine) == [mine])
    #expect(parts(filter, run(4, 0, 5, .isReady(true))).isEmpty)
    let changed = single(.queue(.main), .queueCount(7))
    #expect(parts(filter, changed) == [changed])
    #expect(parts(filter, single(.worker(WorkerID(1)), .workerLost)).isEmpty)
    filter.forget(GraphID(3))
    #expect(parts(filter, mine).isEmpty)
    // Nobody else follows, even if it is told to.
    var plain = self.filter(nothing)
    plain.learnOwn(GraphID(3))
    #expect(parts(plain, mine).isEmpty && parts(plain, changed).isEmpty)
  }

  @Test func graphsOnly() {
    let filter = filter(Selection(graphs: .all), graphsOnly: true)
    let finished = single(.graph(GraphID(3)), .graphFinished(.succeeded))
    #expect(parts(filter, finished) == [finished])
    #expect(parts(filter, run(3, 0, 5, .isReady(true))).isEmpty)
  }

  @Test func statesAreThoseThatAreEntered() {
    let filter = filter(Selection(graphs: .all, states: [.failed, .executing]))
    #expect(parts(filter, run(1, 0, 1, .isFinished(.failed))).count == 1)
    #expect(parts(filter, run(1, 0, 1, .isExecuting(true))).count == 1)
    #expect(parts(filter, run(1, 0, 1, .isExecuting(false))).isEmpty)
    #expect(parts(filter, run(1, 0, 1, .isFinished(.succeeded))).isEmpty)
  }

  /// `12/b/1-2` of an array behind another: runs are cut, sequences kept.
  @Test func runsAreCut() throws {
    var submission = GraphSubmission(name: "g")
    var second = OperationTemplate(name: "b", count: 4, work: .command)
    second.isArray = true
    submission.templates = [OperationTemplate(name: "a", count: 3, work: .command), second]
    var selection = Selection.graph(GraphID(3))
    selection.operation = "b"
    selection.elements = [IndexRun(first: 1, count: 2)]
    var filter = filter(selection)
    let whole = run(3, 1, 5, .isReady(true), from: 100)
    #expect(filter.unknownGraph(of: whole) == GraphID(3))
    #expect(filter.unknownGraph(of: run(4, 1, 5, .isReady(true))) == nil)
    filter.learn(try .init(selection, submission, graph: GraphID(3)), of: GraphID(3))
    #expect(filter.unknownGraph(of: whole) == nil)
    #expect(parts(filter, whole) == [run(3, 3, 2, .isReady(true), from: 102)])
    // The graph's own events come along.
    #expect(parts(filter, single(.graph(GraphID(3)), .graphSuspended(true))).count == 1)
    filter.learn(.nothing, of: GraphID(3))
    #expect(parts(filter, single(.graph(GraphID(3)), .graphSuspended(true))).isEmpty)
  }

  /// A subscription by a pattern is told of every operation that has such a name.
  @Test(.checks("S97"), arguments: [("s*", [0..<4]), ("?olve", [3..<4]), ("*", [0..<6])])
  func patterns(pattern: String, expected: [Range<UInt32>]) throws {
    var submission = GraphSubmission(name: "g")
    submission.templates = [("split", 3), ("solve", 1), ("join", 2)].map { name, count in
      OperationTemplate(name: name, count: count, work: .command)
    }
    var selection = Selection.graph(GraphID(3))
    selection.operation = pattern
    let scope = try EventFilter.Scope(selection, submission, graph: GraphID(3))
    guard case .operations(let ranges) = scope else {
      Issue.record("\(scope)")
      return
    }
    #expect(ranges.flatMap { $0 } == expected.flatMap { $0 })
  }

  @Test func labelsOfTheGraphOrTheTemplate() throws {
    let label = Label(key: "k", value: "v")
    let selection = Selection(graphs: .all, labels: [label])
    var submission = GraphSubmission(name: "g")
    submission.templates = [
      OperationTemplate(name: "a", work: .command), OperationTemplate(name: "b", work: .command),
    ]
    #expect(try EventFilter.Scope(selection, submission, graph: GraphID(1)) == .nothing)
    submission.templates[1].labels = [label]
    #expect(try EventFilter.Scope(selection, submission, graph: GraphID(1)) == .operations([1..<2]))
    submission.labels = [label]
    #expect(try EventFilter.Scope(selection, submission, graph: GraphID(1)) == .everything)
  }
}
