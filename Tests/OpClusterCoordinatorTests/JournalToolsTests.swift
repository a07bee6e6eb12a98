// What a person does to a coordinator's journal, on real files of a coordinator that has worked:
// nothing is changed of one that is damaged, and what is called sound can be served (G6, G9).

import FoundationEssentials
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import Testing

@Suite struct JournalToolsTests {
  /// A folder in which a coordinator ended a graph, and left snapshots or none.
  private func worked(snapshotTurns: Int?) throws -> TestFolder {
    let folder = try TestFolder()
    let service = try Service(.disk, in: folder) { settings in
      if let snapshotTurns { settings.snapshotTurns = snapshotTurns }
    }
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(chainGraph("good", key: "k1"))
    try worker.work(through: 3)
    _ = try client.awaitEnd(of: graph)
    service.stop()
    return folder
  }

  /// The bodies of a table's rows, as far as they are small.
  private func bodies(of table: String, in state: String) throws -> [[UInt8]] {
    let reader = try JournalReader(folder: state)
    let limit = ReadLimit(rows: 100)
    switch table {
    case "stream": return try reader.stream(from: 1, limit: limit).map(\.body)
    case "chapters":
      return try reader.chapters(subject: 1, overlapping: 0...99, after: 0, limit: limit)
        .map(\.body)
    default:
      return try (0..<8).flatMap { kind in
        try reader.documents(kind: kind, before: nil, limit: limit).map(\.body)
      }
    }
  }

  private func database(_ state: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "\(state)/journal.db")))
  }

  private func places(of body: [UInt8], in bytes: [UInt8]) -> [Int] {
    bytes.indices.filter { bytes[$0] == body[0] && bytes[$0...].starts(with: body) }
  }

  /// Flips one bit in a row of a table and nowhere else.
  private func damage(_ table: String, in state: String) throws {
    var bytes = try database(state)
    let found = try bodies(of: table, in: state).lazy
      .filter { $0.count >= 8 }.map { places(of: $0, in: bytes) }.first { $0.count == 1 }
    bytes[try #require(found, "a row of \(table)")[0] + 4] ^= 1
    try Data(bytes).write(to: URL(filePath: "\(state)/journal.db"))
  }

  @Test("compaction of a journal with damaged history changes nothing; it is served (G6, G9)")
  func compactionOfDamagedHistory() throws {
    for snapshotTurns in [nil, 2] {
      for table in ["stream", "chapters", "documents"] {
        let folder = try worked(snapshotTurns: snapshotTurns)
        let state = "\(folder.path)/state"
        let sound = try JournalTools.verify(folder: state)
        #expect((sound.snapshotSequence == nil) == (snapshotTurns == nil))
        try damage(table, in: state)
        let before = try database(state)
        let error = #expect(throws: JournalError.self) {
          try JournalCompaction.compact(folder: state)
        }
        #expect(error?.exitStatus == 65)
        #expect(error?.message.contains("\(table) row ") == true, "\(error as Any)")
        #expect(try database(state) == before, "\(table)")
        let target = "\(folder.path)/copy"
        #expect(throws: JournalError.self) { try JournalTools.backup(folder: state, to: target) }
        #expect(!FileManager.default.fileExists(atPath: target))
        let last = try JournalTools.read(folder: state) { $0.lastSequence }
        #expect(last == sound.lastSequence)
        try Service(.disk, in: folder).stop()
      }
    }
  }

  @Test("events without turns are found by verify, as by serve, and nothing is made of them (G6)")
  func eventsWithoutTurns() throws {
    let folder = try TestFolder()
    let state = "\(folder.path)/state"
    let opened = try SQLiteJournal.open(
      folder: state, observer: JournalObserver(onDurable: { _ in }, onFailure: { _ in }))
    let turn = JournalTurn(
      sequence: 1, epoch: 1, body: Wire.encode(records: []),
      attachments: [.stream(first: 1, count: 5, body: [1, 2, 3])])
    #expect(opened.journal.append(turn) == .accepted)
    opened.journal.close()
    _ = try JournalTools.verify(folder: state)
    let before = try database(state)
    let refusals: [() throws -> Void] = [
      { _ = try JournalExport.check(folder: state) },
      { _ = try JournalCompaction.compact(folder: state) },
      {
        try JournalTools.backup(folder: state, to: "\(folder.path)/copy") {
          try JournalExport.check($0)
        }
      },
      { try JournalTools.cut(folder: state, after: 1) { try JournalExport.check($0) } },
    ]
    for refusal in refusals {
      let error = #expect(throws: CoordinatorError.self) { try refusal() }
      #expect(error?.status == 65)
      #expect(
        error?.description
          == "journal is damaged at event 5: the turns end with event 0; nothing was changed; "
          + "restore a backup")
    }
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/copy"))
    #expect(try database(state) == before)
    #expect(throws: Service.NotServing.self) { try Service(.disk, in: folder) }
  }

  @Test("a journal that ends while ends are pending is compacted only behind another life (G9)")
  func compactionWhileEndsArePending() throws {
    let folder = try TestFolder()
    let state = "\(folder.path)/state"
    let opened = try SQLiteJournal.open(
      folder: state, observer: JournalObserver(onDurable: { _ in }, onFailure: { _ in }))
    let graph = GraphID(1)
    let chain = chainGraph("chain")
    let all = try #require(
      OperationRuns(graph: graph, firsts: [0], counts: [UInt32(chain.operationCount)]))
    // One step a turn: the first operation ends, and the others are left.
    let turns: [[Record]] = [
      [.started(CoordinatorLife(Epoch(1), number: 5)), .endStepsLimited(1)],
      [.submitted(graph, chain, fingerprint: 1, at: .unknown)],
      [.cancelled([all], .request("enough"))],
    ]
    for (at, records) in turns.enumerated() {
      let turn = JournalTurn(
        sequence: UInt64(at + 1), epoch: 1, body: Wire.encode(records: records))
      #expect(opened.journal.append(turn) == .accepted)
    }
    opened.journal.close()
    let before = try database(state)
    let error = #expect(throws: CoordinatorError.self) {
      try JournalCompaction.compact(folder: state)
    }
    #expect(error?.status == 73)
    #expect(error?.description.contains("start it once") == true)
    #expect(try database(state) == before)
    let service = try Service(.disk, in: folder)
    let client = try TestClient(service)
    #expect(try client.awaitEnd(of: graph).state == .cancelled)
    service.stop()
    _ = try JournalCompaction.compact(folder: state)
  }

  @Test("beside a coordinator that replaces its turns all the time, nothing seems damaged (G6, G9)")
  func verifiesBesideSnapshots() throws {
    let folder = try TestFolder()
    let state = "\(folder.path)/state"
    let service = try Service(.disk, in: folder) { $0.snapshotTurns = 1 }
    let client = try TestClient(service)
    for round in 0..<20 {
      // Not waited for: their turns are committed and replaced while the journal is read.
      var last = RequestID(0)
      for number in 0..<10 {
        var graph = chainGraph("graph \(round * 10 + number)")
        graph.isSuspended = true
        last = try client.send(.submit(graph))
      }
      _ = try JournalTools.verify(folder: state)
      #expect(try JournalExport.check(folder: state) > 0)
      var lines = 0
      try JournalExport.export(folder: state) { _ in lines += 1 }
      #expect(lines > 0)
      // So that there are as many turns as rounds.
      _ = try client.reply(to: last)
    }
    try eventually("a snapshot of many turns") {
      try JournalTools.verify(folder: state).snapshotSequence ?? 0 > 10
    }
    service.stop()
  }

  @Test("cuts of a real journal leave one that is served, with and without a snapshot (G6, G9)")
  func everyCutIsServed() throws {
    for snapshotTurns in [nil, 2] {
      let folder = try worked(snapshotTurns: snapshotTurns)
      let state = "\(folder.path)/state"
      // What a snapshot replaces goes at the next start.
      _ = try JournalTools.compact(folder: state)
      let found = try JournalTools.verify(folder: state)
      let copy = "\(folder.path)/kept"
      try FileManager.default.moveItem(atPath: state, toPath: copy)
      var cuts = 0
      for last in 0...found.lastSequence {
        try FileManager.default.copyItem(atPath: copy, toPath: state)
        let before = try database(state)
        let isPossible = last >= max(1, found.snapshotSequence ?? 0)
        do {
          try JournalTools.cut(folder: state, after: last) { try JournalExport.check($0) }
          #expect(isPossible, "cut at \(last)")
          _ = try JournalTools.verify(folder: state)
          _ = try JournalExport.check(folder: state)
          cuts += 1
        } catch let error as JournalError {
          #expect(!isPossible && error.exitStatus == 64, "cut at \(last): \(error)")
          #expect(try database(state) == before)
        }
        if last == found.snapshotSequence ?? 1 { try Service(.disk, in: folder).stop() }
        try FileManager.default.removeItem(atPath: state)
      }
      #expect(cuts > 0)
    }
  }
}
