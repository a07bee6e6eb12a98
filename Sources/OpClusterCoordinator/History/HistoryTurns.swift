// The open questions to the history, by asker, and the order of turns (G29): one step of one asker,
// then one step of the next, so that a search through the whole history delays nobody else. Bounded
// (G27). Pure.

import DequeModule
import OpClusterModel

struct HistoryTurns {
  /// The party that questions count for.
  enum Asker: Hashable, Sendable {
    case coordinator
    case principal(QuotaHolder)
  }

  /// The questions of one asker, except the one that the reader has.
  private struct Line {
    /// These take turns.
    var begun: Deque<HistoryInquiry> = []
    var waiting: Deque<HistoryInquiry> = []
    /// Counts all of them, including the one that the reader has.
    var count = 0
    var bytes = 0

    mutating func add(_ question: HistoryQuestion, _ size: Int) {
      waiting.append(HistoryInquiry(question))
      count += 1
      bytes += size
    }

    mutating func next() -> HistoryInquiry? {
      while begun.count < CoordinatorLimits.historyQuestionsAtOnce,
        let inquiry = waiting.popFirst()
      {
        begun.append(inquiry)
      }
      return begun.popFirst()
    }
  }

  /// Looked up only.
  private var lines: [Asker: Line] = [:]
  /// Askers with questions, except the asker of the present one.
  private var round: Deque<Asker> = []
  /// The present question of the reader; its asker may have lost interest since.
  private var current: (asker: Asker, question: HistoryQuestion, isForgotten: Bool)?
  private(set) var count = 0
  private(set) var bytes = 0

  /// Accepts a question; false if too many, or too large ones, wait (G27). An asker without open
  /// questions may add one as long as all questions together have at most twice their byte limit.
  mutating func admit(_ question: HistoryQuestion, of asker: Asker) -> Bool {
    let size = question.bytes
    let (own, ownBytes) = lines[asker].map { ($0.count, $0.bytes) } ?? (0, 0)
    if own > 0 {
      guard own < Limits.historyQuestionsPerPrincipal,
        ownBytes + size <= Limits.historyQuestionBytesPerPrincipal,
        count < Limits.historyQuestions, bytes + size <= Limits.historyQuestionBytes
      else { return false }
    } else if asker != .coordinator {
      guard bytes + size <= 2 * Limits.historyQuestionBytes else { return false }
    }
    lines[asker, default: Line()].add(question, size)
    count += 1
    bytes += size
    if own == 0 { round.append(asker) }
    return true
  }

  /// The next work of the reader: one step of this question, then `goOn` or `finish`.
  mutating func next() -> HistoryInquiry? {
    precondition(current == nil, "one question at a time")
    guard let asker = round.popFirst(), let inquiry = lines[asker]?.next() else { return nil }
    current = (asker, inquiry.question, false)
    return inquiry
  }

  /// Queues the present question for another step in this asker's next turn.
  mutating func goOn(with inquiry: HistoryInquiry) {
    guard let (asker, _, isForgotten) = current else { return }
    if isForgotten { return finish() }
    current = nil
    lines[asker]?.begun.append(inquiry)
    round.append(asker)
  }

  /// Removes the present question, which was answered.
  mutating func finish() {
    guard let (asker, question, _) = current else { return }
    current = nil
    leave(question, of: asker)
    if lines[asker] != nil { round.append(asker) }
  }

  /// Drops the questions of this peer: nobody waits for their answers any more.
  mutating func forget(_ peer: PeerID, of asker: Asker) {
    guard let line = lines[asker] else { return }
    if let current, current.asker == asker, current.question.peer == peer {
      self.current?.isForgotten = true
    }
    lines[asker]?.begun.removeAll { $0.question.peer == peer }
    lines[asker]?.waiting.removeAll { $0.question.peer == peer }
    for inquiry in line.begun where inquiry.question.peer == peer {
      leave(inquiry.question, of: asker)
    }
    for inquiry in line.waiting where inquiry.question.peer == peer {
      leave(inquiry.question, of: asker)
    }
    if lines[asker] == nil { round.removeAll { $0 == asker } }
  }

  private mutating func leave(_ question: HistoryQuestion, of asker: Asker) {
    count -= 1
    bytes -= question.bytes
    lines[asker]?.count -= 1
    lines[asker]?.bytes -= question.bytes
    if lines[asker]?.count == 0 { lines[asker] = nil }
  }
}
