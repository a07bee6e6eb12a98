// Daemons as children: that they start, say why they do not, and surely end.

import Testing

@testable import OpClusterClient

@Suite struct DaemonTests {
  /// A folder that goes with the test.
  private final class Scratch: Sendable {
    let folder: ClusterFolder
    init() throws { folder = try ClusterFolder.temporary() }
    deinit { folder.remove() }

    func start(
      _ script: String, _ attachment: DaemonProcess.Attachment = .lifeline
    ) throws -> DaemonProcess {
      try DaemonProcess(
        "daemon", executable: "/bin/sh", arguments: ["-c", script], log: folder.log(of: "daemon"),
        attachment: attachment)
    }
  }

  @Test func bothStreamsGoToTheLog() async throws {
    let scratch = try Scratch()
    let daemon = try scratch.start("echo out; echo err >&2; exit 7")
    #expect(await eventually { daemon.endStatus != nil })
    #expect(daemon.endStatus == 7 << 8)
    #expect(scratch.folder.endOfLog(of: "daemon") == "out\nerr")
  }

  @Test func programThatIsNotThere() throws {
    let scratch = try Scratch()
    let error = #expect(throws: ClientError.self) {
      _ = try DaemonProcess(
        "x", executable: "/nonexistent/opcoord", arguments: [], log: scratch.folder.log(of: "x"),
        attachment: .none)
    }
    #expect(error?.message.contains("/nonexistent/opcoord") == true)
  }

  /// The lifeline: a client that is killed closes it without a word.
  @Test func endsWhenItsLifelineCloses() async throws {
    let scratch = try Scratch()
    var daemon: DaemonProcess? = try scratch.start("cat; echo closed")
    let identity = try #require(ProcessIdentity(running: daemon?.number ?? 0))
    daemon = nil
    #expect(await eventually { scratch.folder.endOfLog(of: "daemon") == "closed" })
    #expect(await eventually { !identity.isRunning })
  }

  @Test func withoutALifelineItReadsNothing() async throws {
    let scratch = try Scratch()
    let daemon = try scratch.start("cat; echo ended", .none)
    #expect(await eventually { scratch.folder.endOfLog(of: "daemon") == "ended" })
    #expect(await eventually { daemon.endStatus == 0 })
  }

  /// Its log is told, not that somebody should start what is being started.
  @Test func aCoordinatorThatDoesNotListen() async throws {
    let scratch = try Scratch()
    var launch = ClusterLaunch(
      folder: scratch.folder, state: scratch.folder.path + "/state", attachment: .lifeline)
    let here = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    do throws(ClientError) {
      _ = try await launch.start(
        workers: 1, offer: SharedOffer(),
        coordinatorExecutable: "/\(here)/Programs/lives-and-never-listens", deadline: .seconds(2))
      Issue.record("it started")
    } catch {
      #expect(error.kind == .unreachable)
      #expect(
        error.message == "the coordinator of the local cluster did not listen within 2 s")
      #expect("\(error)".contains("busy with its disk"), "\(error)")
    }
    await launch.end(grace: .seconds(5))
  }

  @Test func asksBeforeItKills() async throws {
    let scratch = try Scratch()
    let polite = try scratch.start(
      "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
    #expect(await eventually { scratch.folder.endOfLog(of: "daemon") == "ready" })
    await polite.end(grace: .seconds(30))
    #expect(polite.endStatus == 3 << 8)
    #expect(scratch.folder.endOfLog(of: "daemon") == "ready\nasked")
  }

  @Test func killsWhatDoesNotListen() async throws {
    let scratch = try Scratch()
    let deaf = try scratch.start("trap '' TERM; echo ready; while :; do sleep 0.01; done")
    #expect(await eventually { scratch.folder.endOfLog(of: "daemon") == "ready" })
    await deaf.end(grace: .milliseconds(20))
    #expect(deaf.endStatus == 9)
  }

  /// A number alone could be somebody else's by now.
  @Test func identityIsMoreThanANumber() throws {
    let scratch = try Scratch()
    let daemon = try scratch.start("cat")
    let identity = try #require(ProcessIdentity(running: daemon.number))
    #expect(identity.isRunning)
    let other = ProcessIdentity(number: identity.number, startTicks: identity.startTicks + 1)
    #expect(!other.isRunning)
    other.signal(9)
    #expect(daemon.endStatus == nil)
    #expect(ProcessIdentity(running: 0) == nil)
    #expect(ProcessIdentity(running: -1) == nil)
  }

  @Test func foldersArePrivateAndShort() throws {
    let folder = try ClusterFolder.temporary()
    defer { folder.remove() }
    let other = try ClusterFolder.temporary()
    defer { other.remove() }
    #expect(folder.path != other.path)
    #expect(folder.clientAddress.utf8.count < 107)
    #expect(try folder.mode == 0o700)
    _ = try ClusterFolder.lasting(folder.path + "/a/b")
    #expect(try ClusterFolder(path: folder.path + "/a/b").mode == 0o700)
  }
}
