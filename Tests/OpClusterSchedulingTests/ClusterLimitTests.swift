// Bounds of the cluster as a whole, at the limit and one past it (G27, G29).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct ClusterLimits {
  /// One turn for all of it: what each step does is looked at elsewhere.
  private func inOneTurn(_ body: (inout Scheduler, inout Turn) -> Void) -> (Scheduler, Turn) {
    var scheduler = Scheduler()
    var turn = Turn()
    turn.begin(at: .zero, wall: .unknown)
    scheduler.start(into: &turn)
    body(&scheduler, &turn)
    scheduler.close(&turn)
    return (scheduler, turn)
  }

  /// `Limits.workers`
  @Test func workers() {
    let (scheduler, turn) = inOneTurn { scheduler, turn in
      for number in 0...UInt64(Limits.workers) {
        let hello = WorkerHello(
          name: "w\(number)", session: WorkerSession(number + 1), capacity: Resources())
        scheduler.handle(.worker(PeerID(number + 1), .hello(hello)), into: &turn)
      }
    }
    let refused = turn.atOnce.compactMap { effect -> Refusal? in
      if case .toWorker(_, .refused(let refusal)) = effect { refusal } else { nil }
    }
    #expect(refused.map(\.code) == [.limitExceeded])
    #expect(scheduler.seats.count == Limits.workers)
  }

  /// `Limits.queues`, the one that always exists included.
  @Test func queues() {
    let (scheduler, turn) = inOneTurn { scheduler, turn in
      for number in 0..<UInt64(Limits.queues) {
        let request = ClientRequest.createQueue(QueueSettings(name: "q\(number)"))
        scheduler.handle(.client(PeerID(1), RequestID(number), request), into: &turn)
      }
    }
    let refused = turn.afterDurable.compactMap { effect -> Refusal? in
      if case .toClient(_, _, .refused(let refusal)) = effect { refusal } else { nil }
    }
    #expect(refused.map(\.code) == [.limitExceeded])
    #expect(scheduler.queues.count == Limits.queues)
  }

  /// `Limits.endedGraphsRemembered`: of one graph more, the oldest can no longer be cited (S27).
  @Test func endedGraphsRemembered() {
    let (scheduler, _) = inOneTurn { scheduler, turn in
      for number in 0...UInt64(Limits.endedGraphsRemembered) {
        var graph = GraphSubmission(name: "g")
        graph.templates = [OperationTemplate(name: "n", work: .nothing)]
        scheduler.handle(.client(PeerID(1), RequestID(number), .submit(graph)), into: &turn)
      }
    }
    #expect(scheduler.ended.count == Limits.endedGraphsRemembered)
    #expect(scheduler.ended[GraphID(1)] == nil && scheduler.ended[GraphID(2)] != nil)
    #expect(scheduler.ended[GraphID(UInt32(Limits.endedGraphsRemembered) + 1)] != nil)
  }
}
