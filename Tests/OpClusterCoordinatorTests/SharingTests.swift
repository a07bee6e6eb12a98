// People who share a cluster: whose graphs a submitter's key may change, and graphs that are
// removed for good.

import Citations
import OpClusterJournal
import OpClusterModel
import OpClusterPresentation
import Testing

@testable import OpClusterCoordinator

@Suite struct SharingTests {
  private func code(_ reply: ClientReply) -> Refusal.Code? {
    if case .refused(let refusal) = reply { refusal.code } else { nil }
  }

  private func cancel(_ graph: GraphID) -> ClientRequest {
    .cancel(.selection(.graph(graph)), reason: "", grace: nil)
  }

  // A submitter changes its own graphs, where the coordinator is not told otherwise.
  @Test(.checks("G36"), arguments: Steering.allCases)
  func whoseGraphs(steering: Steering) throws {
    let guarded = try GuardedService { $0.steering = steering }
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    let bert = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    let chief = try TestClient(guarded.service, keys: guarded.key("chief", .admin))
    let graph = try anna.submit(arrayGraph("g", 2))
    let first = OperationTarget.operations([OperationID(graph: graph, index: 0)])
    // Everybody still sees everything.
    #expect(try bert.graphs(Selection(graphs: .all), limit: 9).map(\.submitter) == ["anna"])
    let byOther = try bert.ask(.hold(first, true))
    if steering == .own {
      guard case .refused(let refusal) = byOther else {
        Issue.record("bert changed a graph of anna's")
        return
      }
      #expect(refusal.code == .forbidden && refusal.message.contains("'anna'"))
      #expect(refusal.hint.forShell.contains("--steering all"))
    } else {
      #expect(code(byOther) == nil)
    }
    #expect(code(try anna.ask(.hold(first, false))) == nil)
    #expect(code(try chief.ask(cancel(graph))) == nil)
    _ = try chief.awaitEnd(of: graph)
    let remove = ClientRequest.removeGraphs([graph])
    if steering == .own { #expect(code(try bert.ask(remove)) == .forbidden) }
    #expect(code(try (steering == .own ? anna : bert).ask(remove)) == nil)
    #expect(try anna.graphs(Selection(graphs: .all), limit: 9).isEmpty)
  }

  // Where nobody has a key, nothing is asked.
  @Test func withoutKeys() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let (one, other) = (try TestClient(service), try TestClient(service))
    let graph = try one.submit(arrayGraph("g", 2))
    #expect(code(try other.ask(cancel(graph))) == nil)
    _ = try other.awaitEnd(of: graph)
    #expect(code(try other.ask(.removeGraphs([graph]))) == nil)
  }

  // A removed graph is in no list, before and after a restart, and nothing of its attempts stays.
  @Test func removedForGood() throws {
    let (disk, folder) = (MemoryDisk(), try TestFolder())
    var service = try Service(.memory(disk), in: folder)
    var client = try TestClient(service)
    let worker = try TestWorker(service)
    var graphs: [GraphID] = []
    for name in ["stays", "goes"] {
      graphs.append(try client.submit(chainGraph(name)))
      try worker.work(through: 3)
      _ = try client.awaitEnd(of: graphs[graphs.count - 1])
    }
    let gone = graphs[1]
    #expect(try client.ask(.removeGraphs([gone])) == .changed(1, unchanged: 0))
    for isAfter in [false, true] {
      #expect(try client.graphs(Selection(graphs: .all), limit: 9).map(\.name) == ["stays"])
      for question: ClientRequest in [
        .submission(gone), .structure(.graph(gone)),
        .operations(.graph(gone), after: nil, limit: 9),
        .explain(.graph(gone)),
      ] {
        #expect(code(try client.ask(question)) != nil, "\(question) is answered")
      }
      if isAfter { break }
      service.stop()
      service = try Service(.memory(disk), in: folder)
      client = try TestClient(service)
    }
    // The number is not given again.
    #expect(try client.submit(chainGraph("next")).number == gone.number + 1)
    service.stop()
    let observer = JournalObserver(onDurable: { _ in }, onFailure: { _ in })
    let reader = try MemoryJournal.open(disk: disk, observer: observer).journal.makeReader()
    for graph in graphs {
      let rows = try reader.chapters(
        subject: UInt64(graph.number), overlapping: 0 ... .max, after: 0, limit: ReadLimit(rows: 9))
      #expect(rows.isEmpty == (graph == gone))
    }
  }
}
