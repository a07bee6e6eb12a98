// Which graphs wait for the disk, against a list of all turns (G3). Pure.

import OpClusterModel
import Testing

@testable import OpClusterCoordinator

@Suite struct UndurableGraphsTests {
  private func only(_ graph: UInt32) -> [Selection.ClosedRangeOfGraphs] {
    [.init(GraphID(graph), GraphID(graph))]
  }

  private func event(_ subject: Event.Subject) -> EventRun {
    EventRun(
      first: Event(
        sequence: 1, commit: CommitIndex(1), time: .unknown, subject: subject,
        kind: .isReady(true)),
      count: 1)
  }

  /// Random turns touch random graphs, and become durable in pieces.
  @Test func asAListOfTurnsSays() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      var undurable = UndurableGraphs()
      var turns: [(commit: UInt64, graphs: Set<UInt32>)] = []
      var durable: UInt64 = 0
      for commit in 1...UInt64(200) {
        let touched = Set(
          (0..<Int.random(in: 0...4, using: &random)).map { _ in
            UInt32.random(in: 1...12, using: &random)
          })
        let byFact = touched.filter { _ in Bool.random(using: &random) }
        undurable.note(
          byFact.map { .held(OperationRuns(OperationID(graph: GraphID($0), index: 0))) },
          touched.subtracting(byFact).map {
            event(.operation(OperationID(graph: GraphID($0), index: 3), sequence: 1))
          }, commit: commit)
        turns.append((commit, touched))
        if Int.random(in: 0..<4, using: &random) == 0 {
          durable = UInt64.random(in: durable...commit, using: &random)
          undurable.becameDurable(through: durable)
        }
        let waiting = turns.filter { $0.commit > durable }.reduce(into: Set<UInt32>()) {
          $0.formUnion($1.graphs)
        }
        for graph in UInt32(1)...13 {
          #expect(undurable.isFree(only(graph)) == !waiting.contains(graph))
          #expect(undurable.isFree(GraphID(graph)) == !waiting.contains(graph))
        }
        #expect(
          undurable.isFree([.init(GraphID(1), GraphID(12))]) == waiting.isEmpty)
      }
    }
  }

  @Test func queuesShowEverywhere() {
    var undurable = UndurableGraphs()
    undurable.note([.queueRemoved(QueueID(1))], [event(.queue(QueueID(1)))], commit: 1)
    #expect(!undurable.isFree(only(7)) && !undurable.isFree(GraphID(7)))
    undurable.becameDurable(through: 1)
    #expect(undurable.isFree(only(7)) && undurable.isFree(GraphID(7)))
    undurable.note([.workerLeft(WorkerID(1))], [event(.worker(WorkerID(1)))], commit: 2)
    #expect(undurable.isFree(only(7)))
  }

  /// Who asks for many waits: they are not looked at one by one.
  @Test func manyAreNotLookedAt() {
    let most = UInt32(CoordinatorLimits.graphsAnsweredEarly)
    let undurable = UndurableGraphs()
    #expect(undurable.isFree([.init(GraphID(1), GraphID(most))]))
    #expect(!undurable.isFree([.init(GraphID(1), GraphID(most + 1))]))
    #expect(!undurable.isFree([.init(GraphID(0), GraphID(.max))]))
    #expect(undurable.isFree([.init(GraphID(9), GraphID(3))]))
  }
}
