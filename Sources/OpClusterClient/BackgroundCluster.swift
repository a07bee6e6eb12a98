// The local cluster that `opbatch up` leaves in the background: started, found again by a record in
// its folder, and ended. One per user; any task.

import FoundationEssentials
import OpClusterFolders
import OpClusterModel

/// A cluster of this user that continues after the program that started it.
public struct BackgroundCluster: Sendable {
  /// The address for clients.
  public var address: String
  /// The folder of its journal; it stays when the cluster ends.
  public var stateFolder: String
  /// The folder of its sockets.
  public var folder: String
  /// The folder of its logs and scratch folders. It is on the disk; the sockets' folder often is
  /// not.
  public var filesFolder: String
  /// The names and process numbers of its daemons, the coordinator first.
  public var daemons: [(name: String, process: Int32)] {
    members.map { ($0.name, $0.identity.number) }
  }
  private var members: [Member]

  private struct Member: Sendable {
    var name: String
    var identity: ProcessIdentity
  }

  /// Time from TERM to KILL. Meanwhile the workers give running operations their own grace.
  public static let grace = Duration.seconds(15)

  /// The running cluster; nil if there is none.
  ///
  /// - Throws: `.badConfiguration` if others could have made the folder or its content.
  public static func running() throws(ClientError) -> BackgroundCluster? {
    let members = try recordedMembers()
    return members.first?.name == coordinatorName ? BackgroundCluster(members) : nil
  }

  private static let coordinatorName = "opcoord"

  /// The recorded daemons that still run, the coordinator first.
  private static func recordedMembers() throws(ClientError) -> [Member] {
    let content: [UInt8]?
    do throws(FolderError) {
      content = try PrivateFolder(place.path).read(recordName, limit: Limits.daemonRecordBytes)
    } catch {
      throw ClientError(error, advice: "set XDG_RUNTIME_DIR to a folder of your own")
    }
    let lines = String(decoding: content ?? [], as: UTF8.self).split(separator: "\n")
    return lines.compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let number = Int32(words[1]), let ticks = UInt64(words[2]),
        let program = program(of: words[0])
      else { return nil }
      let identity = ProcessIdentity(number: number, startTicks: ticks)
      return identity.runs(program) ? Member(name: String(words[0]), identity: identity) : nil
    }
  }

  /// Returns the program of a daemon by its name; nil for a name that is not ours.
  private static func program(of name: Substring) -> String? {
    if name == coordinatorName { return coordinatorName }
    return name.hasPrefix("opworker-") ? "opworker" : nil
  }

  private init(_ members: [Member]) {
    address = Self.place.clientAddress
    stateFolder = Self.statePath
    folder = Self.place.path
    filesFolder = Self.place.files
    self.members = members
  }

  /// Starts a cluster and returns when its workers have joined.
  ///
  /// - Parameters:
  ///   - workers: 1…64.
  ///   - offer: The resources that the workers share.
  /// - Throws: `.unreachable` with the end of a daemon's log; no daemon is left running then.
  public static func start(
    workers: Int, offer: SharedOffer = SharedOffer(), deadline: Duration? = nil
  ) async throws(ClientError) -> BackgroundCluster {
    let folder = try ClusterFolder.lasting(place.path, files: place.files)
    _ = try await endLeftovers()
    var launch = ClusterLaunch(folder: folder, state: statePath, attachment: .none)
    do throws(ClientError) {
      let connection = try await launch.start(
        workers: min(max(workers, 1), 64), offer: offer,
        deadline: deadline ?? Limits.localStart)
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

  /// Ends workers of an earlier cluster that outlived their coordinator. Returns their number.
  public static func endLeftovers() async throws(ClientError) -> Int {
    guard try running() == nil else { return 0 }
    let members = try recordedMembers()
    await withTaskGroup { group in
      for member in members { group.addTask { _ = await member.identity.end(grace: grace) } }
    }
    return members.count
  }

  /// Ends the workers, then the coordinator. Returns whether all have ended.
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
    if allEnded { PrivateFolder(Self.place.path).remove(Self.recordName) }
    return allEnded
  }

  private static func record(_ members: [Member]) throws(ClientError) {
    let lines = members.map { "\($0.name) \($0.identity.number) \($0.identity.startTicks)\n" }
    do throws(FolderError) {
      try PrivateFolder(place.path).replace(recordName, with: Array(lines.joined().utf8))
    } catch {
      throw ClientError(error, advice: "set XDG_RUNTIME_DIR to a folder of your own")
    }
  }

  // One folder per user; `up`, `down` and the other commands must agree on it.

  private static var place: ClusterFolder {
    let files = "\(UserFolders.state)/opcluster/local-files"
    if let runtime = ClusterFolder.variable("XDG_RUNTIME_DIR"), runtime.utf8.count <= 64 {
      return ClusterFolder(path: "\(runtime)/opcluster", files: files)
    }
    return ClusterFolder(path: "/tmp/opcluster-\(ClusterFolder.user)", files: files)
  }

  private static var statePath: String { "\(UserFolders.state)/opcluster/local" }

  private static let recordName = "daemons"
}
