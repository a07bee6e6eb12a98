// Whose question to the history is answered next, and how many may wait (G27, G29). Pure.

import Citations
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling
import Testing

@testable import OpClusterCoordinator

/// Turns that expectations can ask.
private final class Turns {
  private var turns = HistoryTurns()
  var count: Int { turns.count }
  var bytes: Int { turns.bytes }
  func admit(_ question: HistoryQuestion, of asker: HistoryTurns.Asker) -> Bool {
    turns.admit(question, of: asker)
  }
  func forget(_ peer: PeerID, of asker: HistoryTurns.Asker) { turns.forget(peer, of: asker) }
  func next() -> HistoryInquiry? { turns.next() }
  func goOn(with inquiry: HistoryInquiry) { turns.goOn(with: inquiry) }
  func finish() { turns.finish() }

  /// Who is answered, each after so many steps.
  func order(steps: (UInt64) -> Int = { _ in 1 }) -> [UInt64] {
    var taken: [UInt64: Int] = [:]
    var ends: [UInt64] = []
    while let inquiry = turns.next() {
      let number = inquiry.question.number
      taken[number, default: 0] += 1
      if taken[number] == steps(number) {
        ends.append(number)
        turns.finish()
      } else {
        turns.goOn(with: inquiry)
      }
    }
    return ends
  }
}

extension HistoryQuestion {
  /// One of a peer, with a number to know it by, and of some size.
  fileprivate static func numbered(
    _ number: UInt64, of peer: UInt64 = 1, bytes: Int = 0
  ) -> HistoryQuestion {
    .rows(
      RowsQuestion(
        peer: PeerID(peer), request: RequestID(number),
        what: .submission(GraphID(1), outcomes: [UInt8](repeating: 1, count: bytes)),
        selection: .graph(GraphID(1)), graphs: GraphSet(ranges: []), living: .init(), last: 0,
        lastEvent: 0, otherwise: Refusal(.unknownGraph, "none")))
  }

  fileprivate var number: UInt64 {
    guard case .rows(let question) = self else { return 0 }
    return question.request.number
  }
}

@Suite(.checks("G29")) struct HistoryTurnsTests {
  private let one = HistoryTurns.Asker.principal(.key("one"))
  private let other = HistoryTurns.Asker.principal(.key("other"))
  private let empty = HistoryQuestion.numbered(0).bytes

  /// In turns among principals, in order within each.
  @Test func principalsTakeTurns() {
    let turns = Turns()
    for number: UInt64 in [10, 11, 12] { #expect(turns.admit(.numbered(number), of: one)) }
    #expect(turns.admit(.numbered(20), of: other))
    #expect(turns.count == 4 && turns.bytes == 4 * empty)
    #expect(turns.order() == [10, 20, 11, 12])
    #expect(turns.count == 0 && turns.bytes == 0)
  }

  /// A question of many steps holds up neither others nor what its own principal asks beside it.
  @Test func longQuestionsHoldNobodyUp() {
    let turns = Turns()
    #expect(turns.admit(.numbered(10), of: one) && turns.admit(.numbered(11), of: one))
    for number: UInt64 in 20...29 { #expect(turns.admit(.numbered(number), of: other)) }
    #expect(turns.order { $0 == 10 ? 100 : 1 } == [20, 11] + Array(21...29) + [10])
  }

  /// `CoordinatorLimits.historyQuestionsAtOnce`: as many as that are held half answered.
  @Test func questionsAtOnce() {
    let turns = Turns()
    let most = UInt64(CoordinatorLimits.historyQuestionsAtOnce)
    for number in 1...(most + 2) { #expect(turns.admit(.numbered(number), of: one)) }
    var seen: [UInt64] = []
    for _ in 0..<(2 * most) {
      guard let inquiry = turns.next() else { break }
      seen.append(inquiry.question.number)
      turns.goOn(with: inquiry)
    }
    #expect(seen == Array(1...most) + Array(1...most))
  }

  /// `Limits.historyQuestionsPerPrincipal`: at it and past it; who has none waiting gets one in.
  @Test func historyQuestionsPerPrincipal() {
    let turns = Turns()
    for number in 1...Limits.historyQuestionsPerPrincipal {
      #expect(turns.admit(.numbered(UInt64(number)), of: one))
    }
    #expect(!turns.admit(.numbered(0), of: one))
    #expect(turns.admit(.numbered(0), of: other))
    // The one that is being answered counts until it has been.
    let inquiry = turns.next()
    #expect(inquiry != nil && !turns.admit(.numbered(0), of: one))
    turns.finish()
    #expect(turns.admit(.numbered(0), of: one) && !turns.admit(.numbered(0), of: one))
  }

  /// `Limits.historyQuestionBytesPerPrincipal`; one question always fits.
  @Test func historyQuestionBytesPerPrincipal() {
    let turns = Turns()
    let half = Limits.historyQuestionBytesPerPrincipal / 2
    #expect(turns.admit(.numbered(1, bytes: half - empty), of: one))
    #expect(!turns.admit(.numbered(2, bytes: half - empty + 1), of: one))
    #expect(turns.admit(.numbered(2, bytes: half - empty), of: one))
    #expect(!turns.admit(.numbered(3), of: one))
    #expect(
      turns.admit(.numbered(4, bytes: Limits.historyQuestionBytesPerPrincipal), of: other))
  }

  /// `Limits.historyQuestions`, `Limits.historyQuestionBytes`: of all together.
  @Test(arguments: [false, true]) func boundsOfAll(isByBytes: Bool) {
    let turns = Turns()
    let (own, all) =
      isByBytes
      ? (1, Limits.historyQuestionBytes / Limits.historyQuestionBytesPerPrincipal)
      : (
        Limits.historyQuestionsPerPrincipal,
        Limits.historyQuestions / Limits.historyQuestionsPerPrincipal
      )
    let bytes = isByBytes ? Limits.historyQuestionBytesPerPrincipal - empty : 0
    for key in 0..<all {
      for _ in 0..<own {
        #expect(turns.admit(.numbered(1, bytes: bytes), of: .principal(.key("\(key)"))))
      }
    }
    #expect(turns.admit(.numbered(2), of: one) && !turns.admit(.numbered(3), of: one))
    #expect(turns.admit(.room, of: .coordinator))
  }

  /// Who has none waiting: up to twice `Limits.historyQuestionBytes`, but the coordinator itself.
  @Test func newcomersHaveABoundTogether() {
    let turns = Turns()
    let large = Limits.historyQuestionBytesPerPrincipal
    let most = 2 * Limits.historyQuestionBytes / large
    for key in 0..<most {
      let asker = HistoryTurns.Asker.principal(.key("\(key)"))
      #expect(turns.admit(.numbered(1, bytes: large - empty), of: asker))
    }
    #expect(!turns.admit(.numbered(2), of: one))
    #expect(turns.admit(.room, of: .coordinator))
  }

  /// Who has gone is not read for: what waits, what was begun, and what the reader has.
  @Test func whoHasGoneIsForgotten() {
    let turns = Turns()
    for number: UInt64 in 1...6 {
      #expect(turns.admit(.numbered(number, of: number % 2), of: one))
    }
    #expect(turns.admit(.numbered(7, of: 9), of: other))
    for _ in 0..<2 { if let inquiry = turns.next() { turns.goOn(with: inquiry) } }
    let current = turns.next()
    #expect(current?.question.number == 2)
    turns.forget(PeerID(0), of: one)
    #expect(turns.count == 5, "the one that the reader has, three and another's")
    if let current { turns.goOn(with: current) }
    #expect(turns.count == 4 && turns.bytes == 4 * empty)
    #expect(turns.order() == [7, 3, 1, 5])
    // Nothing of anybody is left behind, whoever is forgotten when.
    #expect(turns.admit(.numbered(8), of: one))
    turns.forget(PeerID(1), of: one)
    turns.forget(PeerID(1), of: one)
    #expect(turns.count == 0 && turns.next() == nil)
    #expect(turns.admit(.numbered(9), of: one) && turns.order() == [9])
  }
}
