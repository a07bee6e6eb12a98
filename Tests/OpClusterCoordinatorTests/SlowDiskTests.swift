// What is answered while the disk is slow, and what clients are told of it (G3).

import Citations
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import Testing

@testable import OpClusterCoordinator

@Suite struct SlowDiskTests {
  /// While the disk is slow, a question is answered if nothing undurable could be in the
  /// answer; the others wait, and clients are told for what.
  @Test(.checks("G3")) func aSlowDiskHoldsUpWhatDependsOnIt() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.diskPatience = .milliseconds(1)
    }
    let client = try TestClient(service)
    let old = try client.submit(chainGraph("old"))
    let journal = try #require(service.journal)
    journal.hold()
    let asker = try TestClient(service)
    let submission = try client.send(.submit(chainGraph("new")))
    try client.awaitHeartbeat()
    try client.awaitHeartbeat()
    #expect(client.diskWait > .zero)
    // About what is durable.
    guard
      case .operations(let rows, false) = try asker.ask(
        .operations(.graph(old), after: nil, limit: 0))
    else { throw Impatience(awaited: "rows") }
    #expect(rows.count == 3)
    guard
      case .graphs(let graphs, false) = try asker.ask(
        .graphs(.graph(old), after: nil, limit: 0))
    else { throw Impatience(awaited: "a row") }
    #expect(graphs.map(\.name) == ["old"])
    guard case .submission = try asker.ask(.submission(old)) else {
      throw Impatience(awaited: "a submission")
    }
    // About what may not be.
    let new = GraphID(old.number + 1)
    let waiting = try [
      ClientRequest.operations(.graph(new), after: nil, limit: 0),
      .graphs(Selection(graphs: .last(back: 0)), after: nil, limit: 0),
      .graphs(Selection(graphs: .all), after: nil, limit: 0),
      .graphs(Selection(graphs: .active), after: nil, limit: 0),
      .submission(new), .structure(.graph(old)), .explain(.graph(old)), .ping,
    ].map { try asker.send($0) }
    let cancel = try asker.send(.cancel(.selection(.graph(old)), reason: "", grace: nil))
    try asker.awaitHeartbeat()
    let own = try asker.send(.graphs(.graph(old), after: nil, limit: 0))
    try asker.awaitHeartbeat()
    for request in waiting + [cancel, own] {
      #expect(try !asker.hasReply(to: request, within: 1), "\(request)")
    }
    #expect(try !client.hasReply(to: submission, within: 1))
    journal.letGo()
    journal.commit()
    for request in waiting + [cancel, own] { _ = try asker.reply(to: request) }
    guard case .accepted(new, 3, false) = try client.reply(to: submission) else {
      throw Impatience(awaited: "the new graph")
    }
    _ = try asker.ask(.graphs(.graph(old), after: nil, limit: 0))
  }
}
