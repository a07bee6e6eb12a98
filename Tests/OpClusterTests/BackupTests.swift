// The journal as an administrator handles it, on real folders under load: backed up while the
// coordinator works, restored elsewhere, compacted, cut (G1, G6, G9).

import Citations
import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized) struct BackupTests {
  private static func journal(
    _ cluster: Cluster, _ arguments: [String]
  ) async throws -> (status: Int32, output: String, error: String) {
    let program = try cluster.startClient("opcoord", ["journal"] + arguments)
    let status = try await program.ended()
    return (status, program.output, program.error)
  }

  /// Back up under load, lose the machine, restore elsewhere: what was acknowledged before the
  /// backup began is there, once, and work goes on.
  @Test(.checks("G12")) func aBackupUnderLoadIsRestored() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let (state, copy) = ("\(cluster.folder)/state", "\(cluster.folder)/copy")
      let load = SubmissionLoad(cluster)
      let before = try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<2 { group.addTask { try await load.run(client) } }
        try await eventually("there is something to lose") { load.accepted.count >= 100 }
        let before = load.accepted
        let said = try await Self.journal(cluster, ["backup", copy, "--state", state])
        #expect(said.status == 0, "\(said.error)")
        #expect(said.output.contains("last_turn="), "\(said.output)")
        try await eventually("the load goes on") { load.accepted.count >= before.count + 50 }
        load.stop()
        try await group.waitForAll()
        return before
      }
      // A folder that holds a journal is not written over.
      #expect(try await Self.journal(cluster, ["backup", copy, "--state", state]).status == 74)
      try await cluster.kill("opcoord")
      try FileManager.default.removeItem(atPath: state)
      // The worker lives on: what it ended after the backup it runs again.
      try await cluster.startCoordinator(["--state", copy])
      let connection = try await cluster.connect()
      let rows = try await connection.graphs(Selection(graphs: .all))
      let byName = Dictionary(rows.map { ($0.name, [$0.graph]) }, uniquingKeysWith: +)
      for (name, graph) in before { #expect(byName[name] == [graph], "\(name)") }
      try await eventually("what was taken over ends") {
        try await connection.graphs(Selection(graphs: .active)).isEmpty
      }
      await connection.close()
    }
  }

  /// A restore under living workers and clients: what they were told after the backup they forget,
  /// processes included, and everything ends once. A follower is told that its place
  /// is none of this log.
  @Test(.checks("G12", "G13", "G14")) func aRestoreUnderLivingWorkers() async throws {
    try await Cluster.with(Cluster.Shape(workers: 2)) { cluster in
      let (state, copy) = ("\(cluster.folder)/state", "\(cluster.folder)/copy")
      let scene = try await Scene("restore", on: cluster)
      let kept = try await scene.submit { plan in
        try plan.add("ends", .mark)
        try plan.add("runs", .gate, after: ["ends"])
        try plan.add("waits", .mark, after: ["runs"])
      }
      try await scene.executes(kept, "runs", attempt: 1)
      let follower = scene.connection.events(
        EventSubscription(number: 1, selection: Selection(graphs: .all), since: 0))
      let following = Task { for try await _ in follower {} }
      #expect(try await Self.journal(cluster, ["backup", copy, "--state", state]).status == 0)
      // A future that will be lost: the old graph ends, and a new one runs.
      try scene.open("runs")
      try await scene.ended(kept)
      let lost = try await scene.submit { plan in
        try plan.add("future", .shell("echo of the future; gate future"))
        try scene.makeGate("future")
      }
      try await scene.executes(lost, "future", attempt: 1)
      try await scene.traced("future+")
      let future = try #require(scene.lines.first { $0.what == "future+" })
      try await cluster.kill("opcoord")
      try await cluster.startCoordinator(["--state", copy])
      // All of the old graph ends, what ran in both histories with an attempt of another number.
      try await scene.ended(kept)
      let rows = try await scene.connection.operations(.graph(kept.graph))
      #expect(rows.map(\.outcome) == [.succeeded, .succeeded, .succeeded])
      #expect(scene.trace.count { $0 == "ends" } == 1, "what the backup knows is not repeated")
      #expect(scene.trace.count { $0 == "waits" } == 2)
      try await eventually("nothing of the lost future runs") { !isAlive(future.process) }
      // The numbers are given once more; nothing of their other meaning is left at the workers.
      let again = try await scene.submit { try $0.add("other", .mark) }
      #expect(again["other"] == lost["future"])
      try await scene.ended(again)
      let log = try await scene.connection.request(
        .log(
          AttemptSelection(operation: again["other"]), .standardOutput, offset: 0,
          maximumBytes: 1_024))
      if case .log(let chunk) = log { #expect(chunk.bytes == [], "\(chunk)") }
      let fences = scene.lines.map(\.fence)
      #expect(Set(fences).count == Set(scene.lines.map { "\($0.fence) \($0.process)" }).count)
      #expect(cluster.daemon("w1")?.end == nil && cluster.daemon("w2")?.end == nil)
      let refusal = try await scene.refusal { try await following.value }
      #expect(refusal.code == .otherHistory)
      await scene.connection.close()
    }
  }

  /// The same of a plain copy of the folder, made while the coordinator was stopped, and restored
  /// when later lives have gone on: nothing in the copy says that it is one.
  @Test(.checks("G12")) func aPlainCopyIsRestored() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let state = "\(cluster.folder)/state"
      let scene = try await Scene("plain", on: cluster)
      let kept = try await scene.submit { try $0.add("runs", .gate) }
      try await scene.executes(kept, "runs", attempt: 1)
      try await cluster.kill("opcoord")
      try FileManager.default.copyItem(atPath: state, toPath: "\(cluster.folder)/copy")
      for life in 0..<2 {
        try await cluster.startCoordinator()
        try await scene.settle()
        if life == 0 { try await cluster.kill("opcoord") }
      }
      try await cluster.kill("opcoord")
      try FileManager.default.removeItem(atPath: state)
      try FileManager.default.moveItem(atPath: "\(cluster.folder)/copy", toPath: state)
      try await cluster.startCoordinator()
      try scene.open("runs")
      try await scene.ended(kept)
      try await scene.settle()
      #expect(cluster.daemon("w1")?.end == nil)
      #expect(scene.trace.count { $0 == "runs+" } == 2, "killed, and run again: \(scene.trace)")
      #expect(try await scene.row(kept["runs"]).outcome == .succeeded)
      await scene.connection.close()
    }
  }

  /// Compaction refuses a journal in use, keeps what G1 and G12 need, and may be killed.
  @Test(.checks("G1", "G9", "G12")) func compactionKeepsHistoryAndSurvivesKills() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let state = "\(cluster.folder)/state"
      let scene = try await Scene("compact", on: cluster)
      let members = try await scene.submit { plan in
        try plan.add("ends", .mark)
        try plan.add("runs", .gate, after: ["ends"])
        try plan.add("waits", .mark, after: ["runs"])
      }
      try await scene.traced("runs+")
      try await scene.executes(members, "runs", attempt: 1)
      let told = try await scene.connection.backlog(Selection(graphs: .all))
      let inUse = try await Self.journal(cluster, ["compact", "--state", state])
      #expect(inUse.status == 73, "\(inUse.error)")
      try await cluster.kill("opcoord")
      for milliseconds in [5, 20, 40, 80, 160] {
        let compaction = try cluster.startClient(
          "opcoord", ["journal", "compact", "--state", state])
        try await Task.sleep(for: .milliseconds(milliseconds))
        compaction.signal(SIGKILL)
        try await compaction.ended()
        #expect(try await Self.journal(cluster, ["verify", "--state", state]).status == 0)
      }
      let done = try await Self.journal(cluster, ["compact", "--state", state])
      #expect(done.status == 0, "\(done.error)")
      let lines = try await Self.journal(cluster, ["export", "--state", state]).output
      #expect(lines.split(separator: "\n").allSatisfy { $0.hasPrefix("snapshot ") }, "\(lines)")
      try await cluster.startCoordinator()
      // Every reader is told the same, also of what happened before the snapshot (G12).
      let again = try await scene.connection.backlog(Selection(graphs: .all))
      #expect(Array(again.prefix(told.count)) == told)
      try scene.open("runs")
      try await scene.ended(members)
      let rows = try await scene.connection.operations(.graph(members.graph))
      #expect(rows.map(\.attempt) == [1, 1, 1])
      #expect(rows.allSatisfy { $0.outcome == .succeeded })
    }
  }

  /// A damaged journal is refused and named, and an explicit order cuts it.
  @Test(.checks("G6")) func aDamagedJournalIsCutByOrder() async throws {
    try await Cluster.with(Cluster.Shape(workers: 0)) { cluster in
      let state = "\(cluster.folder)/state"
      let scene = try await Scene("cut", on: cluster)
      let kept = try await scene.submit { try $0.add("kept", .mark) }
      let position = try await scene.commit()
      let lost = try await scene.submit { plan in
        plan.submission.name = "abcdefghijklmnopqrstuvwxyz"
        try plan.add("lost", .mark)
      }
      await scene.connection.close()
      try await cluster.kill("opcoord")
      // Merges what still is beside the database: a backup has nothing there.
      let copy = "\(cluster.folder)/copy"
      #expect(try await Self.journal(cluster, ["backup", copy, "--state", state]).status == 0)
      try FileManager.default.removeItem(atPath: state)
      try FileManager.default.moveItem(atPath: copy, toPath: state)
      let behind = try await Self.journal(cluster, ["cut", "--at", "99999", "--state", state])
      #expect(behind.status == 0, "\(behind.error)")
      #expect(behind.output.contains("nothing is behind turn 99999"), "\(behind.output)")
      try Self.flip("abcdefghijklmnopqrstuvwxyz", in: "\(state)/journal.db")
      let verdict = try await Self.journal(cluster, ["verify", "--state", state])
      #expect(verdict.status == 65)
      #expect(verdict.error.contains("turn \(position.number + 1)"), "\(verdict.error)")
      let export = try await Self.journal(cluster, ["export", "--state", state])
      #expect(export.status == 65)
      #expect(export.output.contains("submitted graph=1 name=cut"), "\(export.output)")
      #expect(export.output.contains("turn \(position.number) "))
      #expect(!export.output.contains("turn \(position.number + 1) "))
      let refused = try cluster.startClient(
        "opcoord",
        [
          "serve", "--allow-root", "--client", cluster.address, "--worker", cluster.workerAddress,
          "--state", state,
        ])
      #expect(try await refused.ended() == 65)
      let cut = try await Self.journal(
        cluster, ["cut", "--at", "\(position.number)", "--state", state])
      #expect(cut.status == 0, "\(cut.error)")
      #expect(
        cut.output.hasPrefix("journal cut behind turn \(position.number): ")
          && cut.output.contains(" dropped, last_turn=\(position.number) "),
        "\(cut.output)")
      #expect(try await Self.journal(cluster, ["verify", "--state", state]).status == 0)
      try await cluster.startCoordinator()
      let connection = try await cluster.connect()
      let graphs = try await connection.graphs(Selection(graphs: .all)).map(\.graph)
      #expect(graphs == [kept.graph])
      #expect(lost.graph != kept.graph)
      await connection.close()
    }
  }

  /// A cut below the snapshot is refused in words that name what can be done; nothing is
  /// changed, and the coordinator serves as before.
  @Test(.checks("G6", "G9")) func aCutBelowTheSnapshotIsRefused() async throws {
    try await Cluster.with(Cluster.Shape(workers: 0)) { cluster in
      let state = "\(cluster.folder)/state"
      let scene = try await Scene("below", on: cluster)
      let kept = try await scene.submit { try $0.add("kept", .mark) }
      await scene.connection.close()
      try await cluster.kill("opcoord")
      #expect(try await Self.journal(cluster, ["compact", "--state", state]).status == 0)
      let before = try await Self.journal(cluster, ["verify", "--state", state]).output
      let last = try #require(before.firstMatch(of: /last_turn=(\d+) snapshot=(\d+)/)?.output)
      #expect(last.1 == last.2 && Int(last.1) ?? 0 > 1)
      for turn in ["0", "1"] {
        let cut = try await Self.journal(cluster, ["cut", "--at", turn, "--state", state])
        #expect(cut.status == 64 && cut.output.isEmpty, "\(cut)")
        #expect(
          cut.error.contains("the earliest possible cut is --at \(last.1), the last turn is"),
          "\(cut.error)")
      }
      #expect(try await Self.journal(cluster, ["verify", "--state", state]).output == before)
      try await cluster.startCoordinator()
      let connection = try await cluster.connect()
      let graphs = try await connection.graphs(Selection(graphs: .all)).map(\.graph)
      #expect(graphs == [kept.graph])
      await connection.close()
    }
  }

  /// Turns one bit over wherever the text is.
  private static func flip(_ text: String, in path: String) throws {
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let wanted = Array(text.utf8)
    var count = 0
    for start in bytes.indices.dropLast(wanted.count)
    where bytes[start] == wanted[0] && bytes[start..<start + wanted.count].elementsEqual(wanted) {
      bytes[start] ^= 2
      count += 1
    }
    try #require(count > 0)
    try Data(bytes).write(to: URL(filePath: path))
  }
}
