// The local cluster that `opbatch up` leaves in the background: started, found again by a record
// in its folder, and ended. One for each user; any task.

import FoundationEssentials
import OpClusterKeys

/// A cluster of this user that goes on when the program that started it has ended.
public struct BackgroundCluster: Sendable {
  /// Where clients connect to.
  public var address: String
  /// Where its journal is; it is kept when the cluster ends.
  public var stateFolder: String
  /// Where its sockets, logs and scratch folders are.
  public var folder: String
  /// The names and process numbers of its daemons, the coordinator first.
  public var daemons: [(name: String, process: Int32)] {
    members.map { ($0.name, $0.identity.number) }
  }
  private var members: [Member]

  private struct Member: Sendable {
    var name: String
    var identity: ProcessIdentity
  }

  /// TERM to KILL: running operations get their own grace from the workers meanwhile.
  public static let grace = Duration.seconds(15)

  /// The one that runs now; nil if there is none.
  public static func running() -> BackgroundCluster? {
    let members = recordedMembers()
    return members.first?.name == coordinatorName ? BackgroundCluster(members) : nil
  }

  private static let coordinatorName = "opcoord"

  /// Those of the record that still run, the coordinator first.
  private static func recordedMembers() -> [Member] {
    guard let content = FileManager.default.contents(atPath: recordPath) else { return [] }
    let lines = String(decoding: content.prefix(65_536), as: UTF8.self).split(separator: "\n")
    return lines.compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let number = Int32(words[1]), let ticks = UInt64(words[2]) else {
        return nil
      }
      let identity = ProcessIdentity(number: number, startTicks: ticks)
      return identity.isRunning ? Member(name: String(words[0]), identity: identity) : nil
    }
  }

  private init(_ members: [Member]) {
    address = Self.place.clientAddress
    stateFolder = Self.statePath
    folder = Self.place.path
    self.members = members
  }

  /// Starts one and returns when its workers have joined.
  ///
  /// - Parameters:
  ///   - workers: 1…64.
  ///   - cpusPerWorker: nil shares the machine's among them, at least one each.
  /// - Throws: `.unreachable` with the end of a daemon's log; nothing is left running then.
  public static func start(
    workers: Int, cpusPerWorker: Int? = nil, deadline: Duration = .seconds(15)
  ) async throws(ClientError) -> BackgroundCluster {
    let folder = try ClusterFolder.lasting(place.path)
    _ = try ClusterFolder.lasting(statePath)
    _ = await endLeftovers()
    var launch = ClusterLaunch(folder: folder, state: statePath, attachment: .none)
    do throws(ClientError) {
      let connection = try await launch.start(
        workers: min(max(workers, 1), 64), cpusPerWorker: cpusPerWorker, deadline: deadline)
      await connection.close()
      let members = launch.daemons.compactMap { daemon in
        ProcessIdentity(running: daemon.number).map { Member(name: daemon.name, identity: $0) }
      }
      try record(members)
      return BackgroundCluster(members)
    } catch {
      await launch.end(grace: .seconds(2))
      throw error
    }
  }

  /// Ends what an earlier one left: workers that outlived their coordinator. Returns how many.
  public static func endLeftovers() async -> Int {
    guard running() == nil else { return 0 }
    let members = recordedMembers()
    await withTaskGroup { group in
      for member in members { group.addTask { _ = await member.identity.end(grace: grace) } }
    }
    return members.count
  }

  /// Ends its workers, then its coordinator; whether all have ended.
  public func end() async -> Bool {
    var allEnded = true
    await withTaskGroup(of: Bool.self) { group in
      for member in members.dropFirst() {
        group.addTask { await member.identity.end(grace: Self.grace) }
      }
      for await hasEnded in group { allEnded = allEnded && hasEnded }
    }
    if let coordinator = members.first {
      let hasEnded = await coordinator.identity.end(grace: Self.grace)
      allEnded = allEnded && hasEnded
    }
    if allEnded { try? FileManager.default.removeItem(atPath: Self.recordPath) }
    return allEnded
  }

  private static func record(_ members: [Member]) throws(ClientError) {
    let lines = members.map { "\($0.name) \($0.identity.number) \($0.identity.startTicks)\n" }
    do {
      try Data(lines.joined().utf8).write(to: URL(filePath: recordPath), options: .atomic)
    } catch {
      throw ClientError(.unreachable, "cannot write \(recordPath): \(error)")
    }
  }

  // One place for each user: everything that `up`, `down` and the others have to agree on.

  private static var place: ClusterFolder {
    if let runtime = ClusterFolder.variable("XDG_RUNTIME_DIR"), runtime.utf8.count <= 64 {
      return ClusterFolder(path: "\(runtime)/opcluster")
    }
    return ClusterFolder(path: "/tmp/opcluster-\(ClusterFolder.user)")
  }

  private static var statePath: String { "\(UserFolders.state)/opcluster/local" }

  private static var recordPath: String { "\(place.path)/daemons" }
}
