// Daemons as children: that they start, say why they do not, and surely end.

import Glibc
import OpClusterModel
import Synchronization
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

  /// One that ends at once is not started without end; one that has run for some time is soon back.
  @Test func paceOfRestarts() {
    func seconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000_000) }
    var pace = RestartPace(startedAt: seconds(0))
    var now: Int64 = 0
    var pauses: [Int64] = []
    for _ in 0..<8 {
      pace.end(at: seconds(now))
      let restart = pace.restartAt?.nanoseconds ?? 0
      pauses.append(restart / 1_000_000_000 - now)
      now = restart / 1_000_000_000
      pace.start(at: seconds(now))
      #expect(pace.restartAt == nil)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
    pace.end(at: seconds(now + 60))
    #expect(pace.restartAt == seconds(now + 61))
  }

  @Test func whatHasEndedIsStartedAgainUntilTheEnd() async throws {
    let scratch = try Scratch()
    let told = Mutex<[String]>([])
    let supervised = SupervisedDaemons([try scratch.start("echo started; exec cat")]) { line in
      told.withLock { $0.append(line) }
    }
    let first = try #require(supervised.daemons.first?.number)
    #expect(await eventually { scratch.folder.endOfLog(of: "daemon") == "started" })
    kill(first, SIGKILL)
    #expect(await eventually { scratch.folder.endOfLog(of: "daemon") == "started\nstarted" })
    #expect(await eventually { supervised.daemons.first?.number != first })
    #expect(told.withLock { $0 } == ["daemon has ended (signal 9) and is started again"])
    let second = try #require(supervised.daemons.first)
    await supervised.end(grace: .seconds(30))
    #expect(second.endStatus != nil)
    #expect(supervised.daemons.first === second)
  }

  /// Whoever forgets the cluster ends it, and the task that looks after it.
  @Test func whatIsForgottenEnds() async throws {
    let scratch = try Scratch()
    var supervised: SupervisedDaemons? = SupervisedDaemons([try scratch.start("cat")]) { _ in }
    let number = try #require(supervised?.daemons.first?.number)
    let identity = try #require(ProcessIdentity(running: number))
    supervised = nil
    #expect(await eventually { !identity.isRunning })
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
