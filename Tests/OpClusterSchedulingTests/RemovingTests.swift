// Ended graphs are removed: by whom, when not, and what of them is left; and whose graphs a client
// may change at all.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

extension World {
  /// As the body asks on behalf of a submitter's key.
  fileprivate mutating func ask(_ request: ClientRequest, onlyOf name: String) -> ClientReply? {
    lastRequest += 1
    let number = lastRequest
    input(.client(PeerID(1), RequestID(number), request, mayChange: .graphs(of: name)))
    return replies[number]
  }

  /// A graph of one operation, submitted with a key of this name.
  fileprivate mutating func submit(_ name: String = "") {
    var submission = graph(["a"])
    submission.key = SubmissionKey("k\(lastRequest)")
    if !name.isEmpty {
      submission.labels = [Label(key: GraphSubmission.submitterLabel, value: name)]
    }
    ask(.submit(submission))
  }
}

private func code(_ reply: ClientReply?) -> Refusal.Code? {
  if case .refused(let refusal)? = reply { refusal.code } else { nil }
}

@Suite struct RemovingTests {
  @Test func whatIsRemembered() throws {
    var world = World()
    world.join("w")
    for _ in 0..<3 { world.submit() }
    world.runAll()
    #expect(world.scheduler.ended.count == 3)
    #expect(world.ask(.removeGraphs([GraphID(2), GraphID(2)])) == .changed(1, unchanged: 0))
    #expect(world.scheduler.ended[GraphID(2)] == nil && world.scheduler.ended.count == 2)
    #expect(world.scheduler.state.endedOrder.map(\.number) == [1, 3])
    #expect(world.scheduler.takeRemoved() == [GraphID(2)])
    #expect(world.scheduler.takeRemoved() == [])
    // Whoever replays the journal learns the same.
    var again = world.replayed()
    #expect(again.ended.keys.sorted().map(\.number) == [1, 3])
    #expect(again.takeRemoved() == [GraphID(2)])
    #expect(world.brokenInvariant == nil)
  }

  @Test func whatCannotBeRemoved() throws {
    var world = World()
    world.submit()
    #expect(code(world.ask(.removeGraphs([GraphID(1)]))) == .badRequest, "it has not ended")
    #expect(code(world.ask(.removeGraphs([GraphID(2)]))) == .unknownGraph)
    #expect(code(world.ask(.removeGraphs([GraphID(0)]))) == .unknownGraph)
    #expect(world.ask(.removeGraphs([])) == .changed(0, unchanged: 0))
  }

  // What a living graph still depends on stays.
  @Test(.checks("S27")) func whatIsCitedStays() throws {
    var world = World()
    world.join("w")
    world.submit()
    world.runAll()
    var next = graph(["b", "c"], [("b", "c")])
    next.externalEdges = [ExternalEdge(from: operation(1, 0), to: 1, policy: .succeeded)]
    world.ask(.submit(next))
    #expect(code(world.ask(.removeGraphs([GraphID(1)]))) == .badRequest)
    world.runAll()
    #expect(world.ask(.removeGraphs([GraphID(1)])) == .changed(1, unchanged: 0))
  }

  /// `Limits.graphsPerRemoval`
  @Test func soManyAtOnce() {
    var world = World()
    let many = (1...UInt32(Limits.graphsPerRemoval)).map { GraphID($0) }
    #expect(code(world.ask(.removeGraphs(many))) == .unknownGraph)
    #expect(code(world.ask(.removeGraphs(many + [GraphID(1)]))) == .limitExceeded)
  }

  // Whose it was is known of graphs that have ended, too.
  @Test(.checks("G36")) func ownAlone() throws {
    var world = World()
    world.join("w")
    world.submit("anna")
    world.submit("bert")
    world.submit()
    world.runAll()
    for number: UInt32 in [2, 3] {
      #expect(code(world.ask(.removeGraphs([GraphID(number)]), onlyOf: "anna")) == .forbidden)
    }
    // One that is another's refuses all of them.
    let both = ClientRequest.removeGraphs([GraphID(1), GraphID(2)])
    #expect(code(world.ask(both, onlyOf: "anna")) == .forbidden)
    let own = ClientRequest.removeGraphs([GraphID(1)])
    #expect(world.ask(own, onlyOf: "anna") == .changed(1, unchanged: 0))
    #expect(code(world.ask(own, onlyOf: "anna")) == .forbidden, "nobody remembers whose it was")
    #expect(world.ask(.removeGraphs([GraphID(2), GraphID(3)])) == .changed(2, unchanged: 0))
  }
}

@Suite struct OwnSteeringTests {
  private static let first = OperationTarget.operations([operation(1, 0)])

  /// Everything that changes a graph.
  private static let changes: [ClientRequest] = [
    .cancel(first, reason: "", grace: nil),
    .cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil),
    .suspendGraphs(.graph(GraphID(1)), true), .setPriority(first, .high), .hold(first, true),
    .setQueue(first, queue: "default"), .enqueue([operation(1, 0)], queue: "default"),
    .addDependency(from: operation(2, 0), to: operation(1, 0), .succeeded),
    .removeDependency(from: operation(2, 0), to: operation(1, 0)),
    .addBlocks(operation(1, 0), []), .cancelQueue("default", reason: ""),
    .cancel(.dependents(of: operation(2, 0)), reason: "", grace: nil),
  ]

  // Nothing of another's graph is changed, and what would be is told whose it is.
  @Test(.checks("G36"), arguments: changes.indices)
  func anothersIsRefused(at: Int) throws {
    var world = World()
    world.submit("anna")
    world.submit("bert")
    world.ask(.addDependency(from: operation(2, 0), to: operation(1, 0), .succeeded))
    let before = world.journal.count
    let reply = world.ask(Self.changes[at], onlyOf: "bert")
    guard case .refused(let refusal)? = reply else {
      Issue.record("\(Self.changes[at]) was not refused: \(String(describing: reply))")
      return
    }
    #expect(refusal.code == .forbidden && refusal.message.contains("'anna'"))
    #expect(world.journal.count == before)
    // For everybody else, and for its owner, it is no question of whose it is.
    for reply in [world.ask(Self.changes[at], onlyOf: "anna"), world.ask(Self.changes[at])] {
      #expect(code(reply) != .forbidden || at == 10, "\(Self.changes[at])")
    }
  }

  // Who names all of them means its own.
  @Test func allAreItsOwn() throws {
    var world = World()
    for name in ["anna", "bert", "bert"] { world.submit(name) }
    let all = OperationTarget.selection(Selection(graphs: .active))
    guard
      case .cancelled(let verdicts, let counts)? = world.ask(
        .cancel(all, reason: "", grace: nil), onlyOf: "bert")
    else {
      Issue.record("not both of them")
      return
    }
    #expect(verdicts.map(\.operation.graph.number) == [2, 3] && counts.total == 2)
    #expect(world.scheduler.graphs.contains(1))
    let suspend = ClientRequest.suspendGraphs(Selection(graphs: .all), true)
    #expect(code(world.ask(suspend, onlyOf: "carl")) == .unknownGraph)
  }
}
