// A coordinator that is away for long, or comes back as another: what ends, and what goes on.

import Citations
import OpClusterModel
import Synchronization
import Testing

@testable import OpCluster
@testable import OpClusterClient

@Suite struct AbsenceTests {
  private final class Notes: Sendable {
    private let state = Mutex<[String]>([])
    func add(_ line: String) { state.withLock { $0.append(line) } }
    var lines: [String] { state.withLock { $0 } }
  }

  /// Tells event 1 to who subscribes from the start, event 2 to who goes on.
  private static let script = Script { id, request, _ in
    guard case .subscribe(let wish) = request else { return [] }
    let next = (wish.since ?? 0) + 1
    return [
      .reply(id, .subscribed(since: wish.since ?? 0)),
      EventStreamTests.batch(wish.number, first: 0, next...next),
    ]
  }

  /// Requests and streams are told that the coordinator stays away; an observation, by which
  /// a program waits, goes on when it is back.
  @Test(.checks("S141")) func observationsOutlastIt() async throws {
    let first = try await FakeCoordinator.start(Self.script)
    let connection = try await ClusterConnection.connect(
      to: first.address, deadline: .seconds(3), patience: .milliseconds(300))
    let notes = Notes()
    let own = EventSubscription(
      number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true)
    let observations = [own, EventStreamTests.everything].map { wish in
      connection.observe(
        wish, events: { batch in for event in batch.events { notes.add("\(event.sequence)") } },
        ended: { notes.add("ended \($0)") })
    }
    #expect(await eventually { notes.lines == ["1", "1"] })
    let stream = connection.events(EventStreamTests.everything)
    first.stop()
    await #expect(throws: ClientError.self) { for try await _ in stream {} }
    do throws(ClientError) {
      _ = try await connection.request(.queues())
      Issue.record("somebody answered")
    } catch {
      #expect(error.kind == .unreachable)
    }
    let second = try await FakeCoordinator.start(at: first.address, Self.script)
    #expect(await eventually { notes.lines.count == 4 })
    #expect(notes.lines == ["1", "1", "2", "2"])
    withExtendedLifetime(observations) {}
    await connection.close()
    second.stop()
  }

  /// Knows one operation, which waits.
  private static let waiting = Script { id, request, _ in
    switch request {
    case .subscribe(let wish): return [.reply(id, .subscribed(since: wish.since ?? 0))]
    case .ping: return [.reply(id, .pong(commit: CommitIndex(1), epoch: Epoch(1), lastEvent: 0))]
    case .operations:
      var row = OperationRow(
        id: OperationID(graph: GraphID(3), index: 0), name: "a", index: nil, state: .waiting)
      row.queue = "default"
      return [.reply(id, .operations([row], more: false))]
    default: return []
    }
  }

  /// A coordinator that will not have us any more ends every wait, and is told of once.
  @Test(.checks("S141")) func waitsEndWithTheConnection() async throws {
    let first = try await FakeCoordinator.start(Self.waiting)
    let cluster = try await OperationCluster.connect(to: first.address)
    let notes = Notes()
    cluster.setErrorHandler { error, thing in notes.add("\(error.code.rawValue) \(thing)") }
    let operation = try await cluster.operation(OperationID(graph: GraphID(3), index: 0))
    let wait = Task { () -> ClusterError.Code? in
      do throws(ClusterError) {
        try await operation.waitUntilFinished()
        return nil
      } catch {
        return error.code
      }
    }
    #expect(await eventually { operation.isBeingWaitedFor })
    first.stop()
    let second = try await FakeCoordinator.start(
      at: first.address,
      Script(onHello: { _ in
        [.reply(RequestID(0), .refused(Refusal(.forbidden, "not this key")))]
      }))
    #expect(await wait.value == .connectionLost)
    // Who comes later does not wait at all.
    await #expect(throws: ClusterError.self) { try await operation.waitUntilFinished() }
    try operation.blocking.waitUntilFinished()
    #expect(!operation.isFinished)
    #expect(notes.lines == ["connectionLost the cluster at \(first.address)"])
    await cluster.close()
    second.stop()
  }

  /// Closing is nothing to report, but ends waits as well.
  @Test func waitsEndWithClosing() async throws {
    let fake = try await FakeCoordinator.start(Self.waiting)
    let cluster = try await OperationCluster.connect(to: fake.address)
    let notes = Notes()
    cluster.setErrorHandler { error, _ in notes.add("\(error)") }
    let operation = try await cluster.operation(OperationID(graph: GraphID(3), index: 0))
    let wait = Task { try await operation.waitUntilFinished() }
    #expect(await eventually { operation.isBeingWaitedFor })
    await cluster.close()
    await #expect(throws: ClusterError.self) { try await wait.value }
    #expect(notes.lines == [])
    fake.stop()
  }
}

extension ClusterOperation {
  /// Whether somebody waits for its end.
  fileprivate var isBeingWaitedFor: Bool { life.withLock { !$0.waiters.isEmpty } }
}
