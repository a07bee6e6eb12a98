// Requests over a real socket pair: answers, refusals, time, loss, repetition.

import Citations
import Glibc
import OpClusterClient
import OpClusterModel
import Synchronization
import Testing

@Suite struct ClusterConnectionTests {
  /// Answers every ping.
  static let pong = Script { id, request, _ in
    guard case .ping = request else { return [] }
    return [.reply(id, .pong(commit: CommitIndex(7), epoch: Epoch(1), lastEvent: 3))]
  }

  @Test func welcomeAndReply() async throws {
    let fake = try await FakeCoordinator.start(Self.pong)
    let connection = try await ClusterConnection.connect(to: fake.address)
    #expect(connection.welcome.epoch == Epoch(1))
    #expect(connection.welcome.build == "fake")
    let reply = try await connection.request(.ping)
    #expect(reply == .pong(commit: CommitIndex(7), epoch: Epoch(1), lastEvent: 3))
    await connection.close()
    fake.stop()
  }

  /// Between threads of one process, where libzmq tells nothing of a connection.
  @Test func insideOneProcess() async throws {
    let name = "inproc://client-\(UInt64.random(in: 0 ... .max))"
    let fake = try await FakeCoordinator.start(at: name, Self.pong)
    let connection = try await ClusterConnection.connect(to: name, deadline: .seconds(240))
    let reply = try await connection.request(.ping)
    #expect(reply == .pong(commit: CommitIndex(7), epoch: Epoch(1), lastEvent: 3))
    await connection.close()
    fake.stop()
  }

  @Test func nobodyListens() async throws {
    let fake = try await FakeCoordinator.start(Self.pong)
    fake.stop()
    let clock = ContinuousClock()
    let start = clock.now
    let error = await #expect(throws: ClientError.self) {
      _ = try await ClusterConnection.connect(to: fake.address, deadline: .seconds(600))
    }
    #expect(error?.kind == .unreachable)
    #expect(error?.message.contains(fake.address) == true)
    #expect(error?.hint == .startCluster)
    // A refusal is known at once; the deadline is for the silent.
    #expect(clock.now - start < .seconds(60))
  }

  @Test func noSocketFile() async throws {
    let error = await #expect(throws: ClientError.self) {
      _ = try await ClusterConnection.connect(
        to: "ipc:///tmp/opcluster-nobody-\(UInt64.random(in: 0 ... .max))")
    }
    #expect(error?.kind == .unreachable)
  }

  @Test func hangingCoordinatorMeetsTheDeadline() async throws {
    let fake = try await FakeCoordinator.start(Script(onHello: { _ in [] }))
    let error = await #expect(throws: ClientError.self) {
      _ = try await ClusterConnection.connect(to: fake.address, deadline: .milliseconds(200))
    }
    #expect(error?.kind == .unreachable)
    #expect(error?.message.contains("did not answer") == true)
    fake.stop()
  }

  /// One that is reached, and answers when the time for connecting is over, is waited for.
  @Test func slowCoordinatorIsWaitedFor() async throws {
    let fake = try await FakeCoordinator.start(
      Script(onHello: { hello in
        usleep(600_000)
        return Self.pong.onHello(hello)
      }))
    let connection = try await ClusterConnection.connect(
      to: fake.address, deadline: .milliseconds(300), greeting: .seconds(240))
    await connection.close()
    fake.stop()
  }

  @Test func badAddresses() async throws {
    for address in ["", "nonsense", "http://127.0.0.1:1", "tcp://127.0.0.1", "ipc://relative"] {
      let error = await #expect(throws: ClientError.self) {
        _ = try await ClusterConnection.connect(to: address)
      }
      #expect(error?.kind == .badAddress, "\(address)")
    }
  }

  /// Told apart from a coordinator that is away.
  @Test(.checks("G32")) func otherVersion() async throws {
    let refusal = Refusal(.versionMismatch, "speaks 2 to 3", hint: "upgrade")
    let fake = try await FakeCoordinator.start(
      Script(onHello: { _ in [.reply(RequestID(0), .refused(refusal))] }))
    let error = await #expect(throws: ClientError.self) {
      _ = try await ClusterConnection.connect(to: fake.address)
    }
    #expect(error?.kind == .versionMismatch)
    #expect(error?.hint == "upgrade")
    fake.stop()
  }

  @Test func refusedRequest() async throws {
    let refusal = Refusal(.unknownQueue, "no queue 'x'", hint: "create it")
    let fake = try await FakeCoordinator.start(
      Script { id, _, _ in [.reply(id, .refused(refusal))] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let error = await #expect(throws: ClientError.self) {
      _ = try await connection.request(.removeQueue("x"))
    }
    #expect(error?.kind == .refused(refusal))
    #expect(error?.message == "no queue 'x'")
    await connection.close()
    fake.stop()
  }

  @Test func timeoutOfARequest() async throws {
    let fake = try await FakeCoordinator.start(Script { _, _, _ in [] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let error = await #expect(throws: ClientError.self) {
      _ = try await connection.request(.queues(), timeout: .milliseconds(50))
    }
    #expect(error?.kind == .timedOut)
    await connection.close()
    fake.stop()
  }

  @Test func cancelledTask() async throws {
    let fake = try await FakeCoordinator.start(Script { _, _, _ in [] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let task = Task { () -> ClientError.Kind? in
      do throws(ClientError) {
        _ = try await connection.request(.queues())
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(await eventually { !fake.requests.isEmpty })
    task.cancel()
    #expect(await task.value == .cancelled)
    await connection.close()
    fake.stop()
  }

  /// What is safe is sent again on a fresh connection, what is not fails.
  @Test(.checks("G34")) func lossOfTheConnection() async throws {
    let first = try await FakeCoordinator.start(Script { _, _, _ in [] })
    let connection = try await ClusterConnection.connect(to: first.address)
    var submission = GraphSubmission(key: SubmissionKey("k"), name: "g")
    submission.templates = [OperationTemplate(name: "a", work: .nothing)]
    let repeatable = submission
    async let accepted = connection.request(.submit(repeatable))
    async let drained = Self.kind { try await connection.request(.drainWorker("w")) }
    #expect(await eventually { first.requests.count == 2 })
    first.stop()
    #expect(await drained == .connectionLost)
    let second = try await FakeCoordinator.start(
      at: first.address,
      Script(epoch: 2) { id, request, _ in
        guard case .submit(let got) = request, got == repeatable else { return [] }
        return [.reply(id, .accepted(GraphID(4), operations: 1, repeated: true))]
      })
    #expect(try await accepted == .accepted(GraphID(4), operations: 1, repeated: true))
    #expect(connection.welcome.epoch == Epoch(2))
    #expect(!second.requests.contains { if case .drainWorker = $0 { true } else { false } })
    await connection.close()
    second.stop()
  }

  /// A coordinator that is going down says so; the question is asked again at the next one.
  @Test func shuttingDownIsNoAnswer() async throws {
    let first = try await FakeCoordinator.start(
      Script { id, _, _ in [.reply(id, .refused(Refusal(.shuttingDown, "going down")))] })
    let connection = try await ClusterConnection.connect(to: first.address)
    async let reply = connection.request(.queues())
    #expect(await eventually { first.requests.count == 1 })
    first.stop()
    let second = try await FakeCoordinator.start(
      at: first.address, Script { id, _, _ in [.reply(id, .queues([]))] })
    #expect(try await reply == .queues([]))
    await connection.close()
    second.stop()
  }

  @Test func submissionWithoutAKeyIsNotRepeated() async throws {
    #expect(!ClientRequest.submit(GraphSubmission(name: "g")).isSafeToRepeat)
    #expect(
      ClientRequest.submit(GraphSubmission(key: SubmissionKey("k"), name: "g")).isSafeToRepeat)
    #expect(
      !ClientRequest.cancel(.selection(Selection(graphs: .all)), reason: "", grace: nil)
        .isSafeToRepeat)
    #expect(ClientRequest.workers.isSafeToRepeat)
  }

  /// Many callers on one connection: each gets its own answer, in any order.
  @Test func manyAtOnce() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .graphs(_, _, let limit) = request else { return [] }
        return [.reply(id, .subscribed(since: UInt64(limit)))]
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let count = 1_024
    let right = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<UInt32(count) {
        group.addTask {
          let request = ClientRequest.graphs(Selection(graphs: .all), after: nil, limit: number)
          return (try? await connection.request(request)) == .subscribed(since: UInt64(number))
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(right == count)
    await connection.close()
    fake.stop()
  }

  /// The bound, and one past it.
  @Test(.checks("G27")) func tooManyAtOnce() async throws {
    let fake = try await FakeCoordinator.start(Script { _, _, _ in [] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let tally = Tally()
    for _ in 0..<ClusterConnection.maximumRequests {
      connection.send(.queues()) { result in tally.take(result) }
    }
    #expect(tally.kinds.isEmpty)
    #expect(await Self.kind { try await connection.request(.queues()) }?.isBusy == true)
    connection.send(.queues()) { result in tally.take(result) }
    #expect(tally.kinds.map { $0?.isBusy } == [true])
    await connection.close()
    #expect(tally.kinds.count == ClusterConnection.maximumRequests + 1)
    #expect(tally.kinds.dropFirst().allSatisfy { $0 == .connectionLost })
    fake.stop()
  }

  @Test func closedConnection() async throws {
    let fake = try await FakeCoordinator.start(Self.pong)
    let connection = try await ClusterConnection.connect(to: fake.address)
    await connection.close()
    await connection.close()
    #expect(await Self.kind { try await connection.request(.ping) } == .connectionLost)
    fake.stop()
  }

  @Test func requestBeyondOneMessage() async throws {
    let fake = try await FakeCoordinator.start(Self.pong)
    let connection = try await ClusterConnection.connect(to: fake.address)
    var submission = GraphSubmission(name: "g")
    var template = OperationTemplate(name: "a", work: .command)
    template.payload = [UInt8](repeating: 1, count: Limits.messageBytes)
    submission.templates = [template]
    let big = submission
    let kind = await Self.kind { try await connection.request(.submit(big)) }
    guard case .refused(let refusal)? = kind else {
      Issue.record("not refused: \(String(describing: kind))")
      return
    }
    #expect(refusal.code == .limitExceeded)
    #expect(!fake.requests.contains { if case .submit = $0 { true } else { false } })
    await connection.close()
    fake.stop()
  }

  private final class Tally: Sendable {
    private let state = Mutex<[ClientError.Kind?]>([])
    var kinds: [ClientError.Kind?] { state.withLock { $0 } }
    func take(_ result: Result<ClientReply, ClientError>) {
      let kind: ClientError.Kind? = if case .failure(let error) = result { error.kind } else { nil }
      state.withLock { $0.append(kind) }
    }
  }

  /// What a request failed with; nil if it did not.
  static func kind(
    _ body: @Sendable () async throws -> ClientReply
  ) async -> ClientError.Kind? {
    do {
      _ = try await body()
      return nil
    } catch {
      return (error as? ClientError)?.kind
    }
  }
}

extension ClientError.Kind {
  fileprivate var isBusy: Bool {
    if case .refused(let refusal) = self { refusal.code == .busy } else { false }
  }
}
