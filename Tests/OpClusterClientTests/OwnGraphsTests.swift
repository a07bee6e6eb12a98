// How a subscription that includes its own graphs is renewed, without a socket.

import OpClusterModel
import Testing

@testable import OpClusterClient

@Suite struct OwnGraphsTests {
  private static let all = Selection(graphs: .numbers([]))

  private func event(_ sequence: UInt64, _ graph: UInt32, _ kind: Event.Kind) -> Event {
    Event(
      sequence: sequence, commit: CommitIndex(sequence), time: .unknown,
      subject: .graph(GraphID(graph)), kind: kind)
  }

  private func begin(_ sequence: UInt64, _ graph: UInt32) -> Event {
    event(sequence, graph, .graphSubmitted(operations: 1))
  }

  private func isNews(_ event: Event, seen: UInt64, _ own: inout OwnGraphs) -> Bool {
    own.admit(EventRun(first: event, count: 1), seen: seen) != nil
  }

  private func end(_ sequence: UInt64, _ graph: UInt32) -> Event {
    event(sequence, graph, .graphFinished(.succeeded))
  }

  private func numbers(_ own: OwnGraphs) -> [ClosedRange<UInt32>] {
    guard case .numbers(let ranges) = own.added(to: Self.all).graphs else { return [] }
    return ranges.map { $0.first.number...$0.last.number }
  }

  @Test func namesWhatHasNotEnded() {
    var own = OwnGraphs()
    for graph in [1, 2, 3, 5, 9] as [UInt32] {
      own.note(begin(UInt64(graph), graph), hasUnanswered: true)
    }
    own.note(end(20, 2), hasUnanswered: true)
    #expect(numbers(own) == [1...1, 3...3, 5...5, 9...9])
    // The answer comes after the end, or says what is known.
    own.accepted(GraphID(2), by: RequestID(1), isRepeated: false)
    own.accepted(GraphID(3), by: RequestID(3), isRepeated: false)
    #expect(numbers(own) == [1...1, 3...3, 5...5, 9...9])
    own.accepted(GraphID(4), by: RequestID(5), isRepeated: false)
    #expect(numbers(own) == [1...1, 3...5, 9...9])
    #expect(!own.isOutdated)
  }

  @Test func ofOneMessageAtMost() {
    var own = OwnGraphs()
    let limit = UInt32(OwnGraphs.rangesInSelection)
    // Every second one, with one wide gap that stays.
    for at in 0..<limit {
      own.note(begin(1, at * 2 + (at >= 500 ? 7_000 : 1)), hasUnanswered: false)
    }
    #expect(numbers(own).count == Int(limit))
    own.note(begin(2, 50_000), hasUnanswered: false)
    let joined = numbers(own)
    #expect(joined.count <= Int(limit))
    #expect(joined.contains { $0 == 50_000...50_000 })
    #expect(!joined.contains { $0.contains(5_000) })
    for at in 0..<limit {
      let graph = at * 2 + (at >= 500 ? 7_000 : 1)
      #expect(joined.contains { $0.contains(graph) })
    }
  }

  /// Accepted before the renewal, answered after it: told again from where the renewal began, and
  /// only what has not been told.
  @Test func answeredAfterTheRenewal() {
    var own = OwnGraphs()
    own.renewed(awaiting: .init(sent: [RequestID(7)]), seen: 10)
    // Others go on meanwhile, even over a second renewal.
    let isNews1 = isNews(begin(15, 1), seen: 10, &own)
    #expect(isNews1)
    own.note(begin(15, 1), hasUnanswered: true)
    own.renewed(awaiting: .init(sent: [RequestID(7), RequestID(9)]), seen: 15)
    own.accepted(GraphID(2), by: RequestID(7), isRepeated: true)
    #expect(own.isOutdated && own.beginning == 10)
    // Events that come before the renewal leave does not make it complete.
    let isNews2 = isNews(end(16, 1), seen: 15, &own)
    #expect(isNews2)
    #expect(own.beginning == 10)
    own.renewed(awaiting: .init(), seen: 16)
    #expect(!own.isOutdated && own.beginning == 10)
    let isNews3 = isNews(begin(12, 2), seen: 16, &own)
    #expect(isNews3)
    let isNews4 = isNews(begin(15, 1), seen: 16, &own)
    #expect(!isNews4)
    #expect(own.beginning == 12, "another loss now goes on from there")
    let isNews5 = isNews(begin(12, 2), seen: 16, &own)
    #expect(!isNews5)
    let isNews6 = isNews(end(17, 2), seen: 16, &own)
    #expect(isNews6)
    #expect(own.beginning == nil)
  }

  /// Of a run, the part is news that has not been told: behind the position, or, of a graph that is
  /// told late, behind what was told of it.
  @Test func partsOfRuns() {
    func run(_ sequence: UInt64, _ graph: UInt32, count: UInt32) -> EventRun {
      var first = begin(sequence, graph)
      first.subject = .operation(OperationID(graph: GraphID(graph), index: 100), sequence: 1)
      first.kind = .isReady(true)
      return EventRun(first: first, count: count)
    }
    var own = OwnGraphs()
    own.renewed(awaiting: .init(sent: [RequestID(7)]), seen: 10)
    own.accepted(GraphID(2), by: RequestID(7), isRepeated: true)
    #expect(own.isOutdated && own.beginning == 10)
    let others = own.admit(run(8, 1, count: 10), seen: 12)
    #expect(others == run(8, 1, count: 10).part(from: 5, count: 5))
    let late = own.admit(run(8, 2, count: 10), seen: 12)
    #expect(late == run(8, 2, count: 10).part(from: 3, count: 7))
    #expect(own.beginning == 17)
    let again = own.admit(run(8, 2, count: 10), seen: 17)
    #expect(again == nil)
  }

  /// What is sent behind the renewal is followed from its acceptance on; what was on its way when
  /// the renewal was made may not be.
  @Test func acceptedForTheFirstTimeAfterTheRenewal() {
    let sent = [RequestID(7), RequestID(9)] as Set
    var own = OwnGraphs()
    own.renewed(awaiting: .init(sent: sent), seen: 10)
    own.accepted(GraphID(1), by: RequestID(7), isRepeated: false)
    #expect(!own.isOutdated)
    own = OwnGraphs()
    own.renewed(awaiting: .init(sent: sent, onTheWay: [RequestID(9)]), seen: 10)
    own.accepted(GraphID(1), by: RequestID(7), isRepeated: false)
    #expect(!own.isOutdated)
    own.accepted(GraphID(2), by: RequestID(9), isRepeated: false)
    #expect(own.isOutdated && own.beginning == 10)
  }

  /// What the connection saw begin is complete, whatever the answer says.
  @Test func repeatedAndKnown() {
    var own = OwnGraphs()
    own.note(begin(11, 2), hasUnanswered: true)
    own.renewed(awaiting: .init(sent: [RequestID(7)]), seen: 12)
    own.accepted(GraphID(2), by: RequestID(7), isRepeated: true)
    #expect(!own.isOutdated)
    // A key of an earlier life: from now on.
    own.accepted(GraphID(1), by: RequestID(9), isRepeated: true)
    #expect(own.isOutdated && own.beginning == nil)
    #expect(numbers(own) == [1...2])
  }
}
