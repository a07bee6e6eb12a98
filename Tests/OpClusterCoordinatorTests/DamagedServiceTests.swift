// What a coordinator says when its disk is not what it was: a damaged history is no smaller truth,
// a folder that was taken away ends it.

import Citations
import FoundationEssentials
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import Testing

@Suite struct DamagedServiceTests {
  private func database(_ folder: TestFolder) -> String { "\(folder.path)/state/journal.db" }

  /// One graph that has ended; the coordinator is stopped.
  private func populate(_ folder: TestFolder) throws {
    let service = try Service(.disk, in: folder)
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(chainGraph("good"))
    try worker.work(through: 3)
    _ = try client.awaitEnd(of: graph)
    service.stop()
  }

  /// Without the cells of an index no ended graph is found, and SQLite notices nothing.
  @Test(.checks("G6")) func aLostIndexIsNoSmallerTruth() throws {
    let folder = try TestFolder()
    try populate(folder)
    let url = URL(fileURLWithPath: database(folder))
    var bytes = [UInt8](try Data(contentsOf: url))
    // Leaves of indexes: their cells are gone. `meta` is kept like one, and stays as it is.
    for start in stride(from: 4_096, to: bytes.count, by: 4_096) where bytes[start] == 10 {
      let page = bytes[start..<min(start + 4_096, bytes.count)]
      if page.contains(Array("format".utf8)) { continue }
      (bytes[start + 3], bytes[start + 4]) = (0, 0)
    }
    try Data(bytes).write(to: url)
    #expect(throws: JournalError.self) { try JournalTools.verify(folder: "\(folder.path)/state") }
    let service = try Service(.disk, in: folder)
    let client = try TestClient(service)
    guard
      case .refused(let refusal) = try client.ask(
        .graphs(Selection(graphs: .all), after: nil, limit: 10))
    else {
      Issue.record("an answer without the ended graph")
      return
    }
    #expect(refusal.message.contains("damaged"), "\(refusal)")
    guard case .configuration(let values) = try client.ask(.configuration) else {
      Issue.record("no configuration")
      return
    }
    #expect(values.historyProblem?.contains("damaged") == true)
  }

  /// The folder removed under an idle coordinator, and under one that is asked to
  /// acknowledge.
  @Test(.checks("G7", "F63"), arguments: [false, true]) func aRemovedFolderEndsIt(_ isAsked: Bool)
    throws
  {
    let folder = try TestFolder()
    let service = try Service(.disk, in: folder)
    let client = try TestClient(service)
    try FileManager.default.removeItem(atPath: "\(folder.path)/state")
    // It may have looked at its folder, and ended, before it could be asked.
    if isAsked {
      do {
        try client.send(.submit(chainGraph("into nothing")), within: 0)
      } catch is Impatience {
        try eventually("its end before it is asked") { service.end != nil }
      }
    }
    try eventually("its end") { service.end != nil }
    #expect(service.end?.status == 74)
  }
}
