// What outlives a coordinator on a real disk: state, history, events; and what it does with a
// folder that is in use or damaged.

import Citations
import FoundationEssentials
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Testing

@Suite struct DurableServiceTests {
  /// Everything that a client can read, for comparing two lives.
  private struct View: Equatable {
    var graphs: [GraphRow]
    var operations: [OperationRow]
    var queues: [QueueRow]
    var events: [Event]
    var structures: [GraphStructure]
  }

  private func view(_ client: TestClient) throws -> View {
    guard case .queues(let queues, _) = try client.ask(.queues()) else {
      throw Impatience(awaited: "queues")
    }
    let graphs = try client.graphs(Selection(graphs: .all), limit: 2)
    let structures = try graphs.map { row in
      guard case .structure(var structure) = try client.ask(.structure(.graph(row.graph))) else {
        throw Impatience(awaited: "a structure")
      }
      structure.lastEvent = 0
      return structure
    }
    var operations = try client.operations(Selection(graphs: .all), limit: 3)
    // Until it has ended, only the present life knows when an operation became ready.
    for at in operations.indices where !operations[at].isFinished {
      operations[at].readyAt = .unknown
    }
    return View(
      graphs: graphs, operations: operations, queues: queues,
      events: try backlog(client, Selection(graphs: .all)), structures: structures)
  }

  private func backlog(_ client: TestClient, _ selection: Selection) throws -> [Event] {
    let number = UInt64.random(in: 1 ... .max)
    let wish = EventSubscription(
      number: number, selection: selection, since: 0, backlogOnly: true)
    _ = try client.send(.subscribe(wish))
    var events: [Event] = []
    while true {
      let batch = try client.nextBatch()
      #expect(batch.subscription == number && batch.first == UInt64(events.count))
      events += batch.events
      if batch.caughtUp { return events }
    }
  }

  /// One graph that ended well, one that failed, one that waits for a worker, one suspended.
  private func populate(_ service: Service) throws {
    let client = try TestClient(service)
    _ = try client.ask(.createQueue(QueueSettings(name: "io", maximumConcurrent: 2)))
    let worker = try TestWorker(service)
    let good = try client.submit(chainGraph("good", key: "k1"))
    try worker.work(through: 3)
    _ = try client.awaitEnd(of: good)
    let bad = try client.submit(chainGraph("bad"))
    try worker.work(through: 1, result: .failed(9))
    _ = try client.awaitEnd(of: bad)
    var held = arrayGraph("held", 5)
    held.isSuspended = true
    _ = try client.submit(held)
    var picky = chainGraph("picky")
    picky.templates[0].requirements = [LabelRequirement(key: "gpu", values: ["yes"])]
    _ = try client.submit(picky)
    try worker.dealer.send(Wire.encode(WorkerMessage.goodbye(lastReport: 0)))
    try eventually("the worker's leave") {
      guard case .workers(let rows) = try client.ask(.workers) else { return false }
      return rows.isEmpty
    }
  }

  /// The same is read after a restart; a repeated submission is recognised.
  @Test(.checks("G1", "G4", "G19")) func restartKeepsEverything() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder)
    try populate(service)
    let before = try view(TestClient(service))
    #expect(before.graphs.map(\.state) == [.succeeded, .failed, .suspended, .running])
    service.stop()
    service = try Service(.disk, in: folder)
    #expect(service.ready.epoch == Epoch(2))
    let client = try TestClient(service)
    #expect(try view(client) == before)
    guard
      case .accepted(GraphID(1), 3, repeated: true) = try client.ask(
        .submit(chainGraph("good", key: "k1")))
    else {
      Issue.record("the key is not remembered")
      return
    }
    guard case .refused(let refusal) = try client.ask(.submit(chainGraph("other", key: "k1")))
    else {
      Issue.record("other content under a known key is not refused")
      return
    }
    #expect(refusal.code == .conflict)
  }

  /// Snapshots are taken while it runs, turns dropped, and the same is read after a restart.
  @Test(.checks("G9")) func snapshotsKeepEverything() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder) { $0.snapshotTurns = 3 }
    try populate(service)
    let before = try view(TestClient(service))
    service.stop()
    let snapshot = try JournalTools.read(folder: "\(folder.path)/state") { $0.snapshotSequence }
    #expect(try #require(snapshot) > 3)
    #expect(try JournalExport.check(folder: "\(folder.path)/state") > 0)
    service = try Service(.disk, in: folder)
    #expect(try view(TestClient(service)) == before)
  }

  /// More graphs than one turn copies are in a snapshot, and were taken while others came.
  @Test(.checks("G9")) func manyGraphsAreCopiedOverTurns() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder) { $0.snapshotTurns = 3 }
    let client = try TestClient(service)
    var held = arrayGraph("held", 2)
    held.isSuspended = true
    for _ in 0..<1_000 { _ = try client.submit(held) }
    let before = try view(client)
    service.stop()
    let snapshot = try JournalTools.read(folder: "\(folder.path)/state") { $0.snapshotSequence }
    #expect(try #require(snapshot) > 512)
    service = try Service(.disk, in: folder)
    #expect(try view(TestClient(service)) == before)
  }

  /// What ended can be asked for in full: rows, attempts, reasons, sentences, filters, pages.
  @Test func historyAnswers() throws {
    let service = try Service(.disk, in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(arrayGraph("many", 10))
    try worker.work(through: 10)
    _ = try client.awaitEnd(of: graph)
    let chain = try client.submit(chainGraph("chain"))
    try worker.work(through: 1)
    try worker.work(through: 1, result: .failed(4))
    _ = try client.awaitEnd(of: chain)
    let all = try client.operations(Selection(graphs: .all), limit: 4)
    #expect(all.map(\.id.graph.number) == Array(repeating: 1, count: 10) + [2, 2, 2])
    #expect(all.map(\.state).filter { $0 == .succeeded }.count == 11)
    #expect(all[0].result == .done && all[0].workerName == "w1" && all[0].attempts.isEmpty)
    #expect(all[12].reason == .dependency(OperationID(graph: chain, index: 1), .failed))
    let elements = Selection(
      graphs: .last(back: 1), operation: "a", elements: [IndexRun(first: 3, count: 2)])
    #expect(try client.operations(elements).map(\.index) == [3, 4])
    let failed = Selection(graphs: .all, states: [.failed])
    let row = try #require(try client.operations(failed).first)
    #expect(row.id == OperationID(graph: chain, index: 1))
    #expect(row.attempts.map(\.result.exitStatus) == [4] && row.needs.map(\.shown) == ["2/a"])
    #expect(row.finishedAt == WallTime(milliseconds: 2_000))
    guard case .explanations(let found, false) = try client.ask(.explain(failed)) else {
      Issue.record("no explanation")
      return
    }
    #expect(found.first?.lines.first == "attempt 1 on worker w1 ended with exit status 4")
    #expect(try client.graphs(Selection(graphs: .all, states: [.failed])).map(\.graph) == [chain])
    #expect(try client.graphs(Selection(graphs: .active)).isEmpty)
    guard case .refused(let refusal) = try client.ask(.structure(.graph(GraphID(99)))) else {
      Issue.record("an unknown graph has a structure")
      return
    }
    #expect(refusal.code == .unknownGraph)
    // Events of one operation of a graph that ended: its own six, and the graph's two.
    let one = Selection(
      graphs: .numbers([.init(graph, graph)]), operation: "a",
      elements: [
        IndexRun(first: 2, count: 1)
      ])
    let events = try backlog(client, one)
    #expect(events.count == 8)
    #expect(
      events.dropFirst().dropLast().allSatisfy {
        guard case .operation(let id, _) = $0.subject else { return false }
        return id.index == 1
      })
  }

  /// Why and when operations ended that never began is kept beyond their graph's end, and a
  /// restart; before that it is told of living graphs, too.
  @Test func endsWithoutAnAttemptAreKept() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder)
    var client = try TestClient(service)
    let many = try client.submit(arrayGraph("many", 9_000))
    var chain = chainGraph("chain")
    chain.templates[0].requirements = [LabelRequirement(key: "gpu", values: ["yes"])]
    let chained = try client.submit(chain)
    for graph in [many, chained] {
      var selection = Selection.graph(graph)
      selection.elements = graph == many ? [IndexRun(first: 2, count: 8_999)] : []
      selection.operation = "a"
      _ = try client.ask(.cancel(.selection(selection), reason: "not needed", grace: nil))
    }
    _ = try client.awaitEnd(of: chained)
    var last = Selection.graph(many)
    last.elements = [IndexRun(first: 9_000, count: 1)]
    let living = try #require(try client.operations(last).first)
    #expect(living.state == .cancelled && living.finishedAt != .unknown)
    let worker = try TestWorker(service)
    try worker.work(through: 1)
    _ = try client.awaitEnd(of: many)
    for restarts in [false, true] {
      if restarts {
        service.stop()
        service = try Service(.disk, in: folder)
        client = try TestClient(service)
      }
      let rows = try client.operations(.graph(many), limit: 1_000)
      #expect(rows.count == 9_000 && rows[0].state == .succeeded && rows[0].reason == nil)
      #expect(rows.dropFirst().allSatisfy { $0.reason == .request("not needed") })
      #expect(rows.dropFirst().allSatisfy { $0.finishedAt != .unknown && $0.attempt == 0 })
      let ends = try client.operations(.graph(chained))
      #expect(ends.map(\.state) == [.cancelled, .skipped, .skipped])
      #expect(ends[1].reason == .dependency(ends[0].id, .cancelled))
      #expect(ends[2].reason == .dependency(ends[1].id, .skipped))
      #expect(ends.allSatisfy { $0.finishedAt != .unknown })
      let one = try #require(try client.operations(last).first)
      #expect(one.finishedAt == living.finishedAt && one.attempts.isEmpty && one.result == nil)
      guard case .explanations(let found, false) = try client.ask(.explain(last)) else {
        Issue.record("no explanation")
        return
      }
      #expect(found.first?.lines.first == "somebody cancelled it: not needed")
    }
  }

  /// One process at a time; the second names the first and leaves with 73.
  @Test(.checks("F31")) func theFolderIsInUse() throws {
    let folder = try TestFolder()
    let service = try Service(.disk, in: folder)
    do {
      _ = try Service(.disk, in: folder)
      Issue.record("two coordinators serve on one journal")
    } catch let error as Service.NotServing {
      #expect(error.end?.status == 73)
    }
    #expect(service.end == nil)
  }

  /// A turn that means nothing is named; nothing on disk changes.
  @Test(.checks("G6")) func anUnreadableTurnIsNamed() throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/state"
    let opened = try SQLiteJournal.open(
      folder: path, observer: JournalObserver(onDurable: { _ in }, onFailure: { _ in }))
    #expect(opened.journal.append(.init(sequence: 1, epoch: 1, body: [0xFF, 1, 2])) == .accepted)
    opened.journal.close()
    do {
      _ = try Service(.disk, in: folder)
      Issue.record("it serves")
    } catch let error as Service.NotServing {
      guard case .failed(let failure)? = error.end else {
        Issue.record("it stopped in good order")
        return
      }
      #expect(failure.status == 65 && failure.description.contains("turn 1"))
    }
    #expect(try JournalTools.verify(folder: path).lastSequence == 1)
  }
}
