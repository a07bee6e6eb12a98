// Requests without waiting: their order, what is held back, and that each is answered once.

import OpClusterModel
import Synchronization
import Testing

@testable import OpClusterClient

@Suite struct SendTests {
  /// What completions were told, in the order in which they came.
  private final class Answers: Sendable {
    private let state = Mutex<[(UInt32, Result<ClientReply, ClientError>)]>([])
    func take(_ number: UInt32, _ result: Result<ClientReply, ClientError>) {
      state.withLock { $0.append((number, result)) }
    }
    var count: Int { state.withLock { $0.count } }
    var numbers: [UInt32] { state.withLock { $0.map(\.0) } }
    var failures: [ClientError.Kind] {
      state.withLock {
        $0.compactMap { if case .failure(let error) = $0.1 { error.kind } else { nil } }
      }
    }
  }

  static func page(_ number: UInt32) -> ClientRequest {
    .graphs(Selection(graphs: .all), after: nil, limit: number)
  }

  static func numbers(_ requests: [ClientRequest]) -> [UInt32] {
    requests.compactMap { if case .graphs(_, _, let limit) = $0 { limit } else { nil } }
  }

  /// Ten thousand at once, one by one and without waiting, are none too many, and leave in order.
  @Test func manyWithoutWaiting() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, _, _ in [.reply(id, .graphs([], more: false))] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let answers = Answers()
    let all = Array(0..<UInt32(10_000))
    for number in all { connection.send(Self.page(number)) { answers.take(number, $0) } }
    #expect(await eventually { answers.count == all.count })
    #expect(answers.failures.isEmpty)
    #expect(answers.numbers == all)
    #expect(Self.numbers(fake.requests) == all)
    await connection.close()
    fake.stop()
  }

  /// What the coordinator would not understand never leaves, and costs nobody the connection.
  @Test func whatCannotBeReadIsRefusedHere() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, _, _ in [.reply(id, .graphs([], more: false))] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let long = String(repeating: "q", count: 4_096)
    do {
      let reply = try await connection.request(.removeQueue(long))
      Issue.record("not refused: \(reply)")
    } catch {
      guard case .refused(let refusal) = error.kind else { throw error }
      #expect(refusal.code == .badRequest && refusal.message.contains("remove_queue"))
    }
    #expect(try await connection.request(Self.page(1)) == .graphs([], more: false))
    #expect(fake.requests == [Self.page(1)])
    await connection.close()
    fake.stop()
  }

  /// Whoever listens for a busy coordinator is called as often as it is busy, and no deeper.
  @Test func busyForLong() throws {
    let shared = try ConnectionShared(address: "ipc:///nowhere")
    let calls = Mutex(0)
    shared.whenBusy.withLock { $0.call = { _, _ in calls.withLock { $0 += 1 } } }
    let postponement = PendingRequests.Postponement(
      refusal: Refusal(.busy, "busy"), pause: .milliseconds(1))
    for _ in 0..<200_000 { shared.tell(postponement) }
    #expect(calls.withLock { $0 } == 200_000)
  }

  /// No more is on its way than the coordinator takes from one client; the rest follows.
  @Test func heldBack() async throws {
    let held = Mutex<[RequestID]>([])
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in
        // Signs of life, so that a slow machine is not taken for a silent coordinator.
        if case .ping = request {
          return [.heartbeat(diskWait: .zero), .reply(id, .graphs([], more: false))]
        }
        if case .graphs = request { held.withLock { $0.append(id) } }
        return []
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let answers = Answers()
    let all = Array(0..<UInt32(600))
    for number in all { connection.send(Self.page(number)) { answers.take(number, $0) } }
    let limit = PendingRequests.inFlightLimit
    #expect(await eventually { Self.numbers(fake.requests).count == limit })
    // An observation has its own share, and is not held back behind them.
    let observation = connection.observe(
      EventStreamTests.everything, events: { _ in }, ended: { _ in })
    #expect(await eventually { fake.requests.contains(where: \.isSubscription) })
    #expect(Self.numbers(fake.requests).count == limit)
    let isAnswered = await eventually {
      for id in held.withLock({ waiting in
        defer { waiting = [] }
        return waiting
      }) {
        fake.say(.reply(id, .graphs([], more: false)))
      }
      return answers.count == all.count
    }
    #expect(isAnswered)
    #expect(Self.numbers(fake.requests) == all)
    #expect(answers.count == all.count)
    observation.cancel()
    await connection.close()
    fake.stop()
  }

  /// Whatever becomes of the connection, each completion is called once.
  @Test func closedOverRequests() async throws {
    let fake = try await FakeCoordinator.start(Script { _, _, _ in [] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let answers = Answers()
    for number in 0..<UInt32(1_000) {
      connection.send(Self.page(number)) { answers.take(number, $0) }
    }
    await connection.close()
    // At once, on this thread.
    connection.send(.ping) { answers.take(1_000, $0) }
    #expect(answers.numbers.sorted() == Array(0...1_000))
    #expect(answers.failures.allSatisfy { $0 == .connectionLost })
    fake.stop()
  }

  /// A completion may send, and time is told to it, too.
  @Test func completionsThatSend() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .graphs(_, _, let limit) = request, limit < 3 else { return [] }
        return [.reply(id, .graphs([], more: false))]
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let answers = Answers()
    @Sendable func sendNext(_ number: UInt32) {
      connection.send(Self.page(number), timeout: .milliseconds(number < 3 ? 30_000 : 50)) {
        answers.take(number, $0)
        if number < 3 { sendNext(number + 1) }
      }
    }
    sendNext(0)
    #expect(await eventually { answers.count == 4 })
    #expect(answers.numbers == [0, 1, 2, 3])
    #expect(answers.failures == [.timedOut])
    await connection.close()
    fake.stop()
  }
}
