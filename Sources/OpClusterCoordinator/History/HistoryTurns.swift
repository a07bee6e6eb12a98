// Questions to the history that wait or are being answered, by who asked, and whose turn it is
// (G29): a step of one, then a step of the next, so that a search through everything that ever
// ended holds nobody else up. Bounded (G27). Pure.

import DequeModule
import OpClusterModel

struct HistoryTurns {
  /// Who is counted together.
  enum Asker: Hashable, Sendable {
    case coordinator
    case principal(QuotaHolder)
  }

  /// The questions of one asker, without the one that the reader has.
  private struct Line {
    /// They take turns.
    var begun: Deque<HistoryInquiry> = []
    var waiting: Deque<HistoryInquiry> = []
    /// Of all of them, the one that the reader has included.
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
  /// Those with questions, without the one whose question the reader has.
  private var round: Deque<Asker> = []
  /// Whose question the reader has; its asker may have lost interest since.
  private var current: (asker: Asker, question: HistoryQuestion, isForgotten: Bool)?
  private(set) var count = 0
  private(set) var bytes = 0

  /// Takes a question in; false when too many, or too large ones, wait (G27). Who has none waiting
  /// gets one in as long as the questions of all together have no more than twice their bytes.
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

  /// What the reader does next: a step of this one, then `goOn` or `finish`.
  mutating func next() -> HistoryInquiry? {
    precondition(current == nil, "one question at a time")
    guard let asker = round.popFirst(), let inquiry = lines[asker]?.next() else { return nil }
    current = (asker, inquiry.question, false)
    return inquiry
  }

  /// The step did not come to the answer: another one, when it is this asker's turn again.
  mutating func goOn(with inquiry: HistoryInquiry) {
    guard let (asker, _, isForgotten) = current else { return }
    if isForgotten { return finish() }
    current = nil
    lines[asker]?.begun.append(inquiry)
    round.append(asker)
  }

  /// The question was answered.
  mutating func finish() {
    guard let (asker, question, _) = current else { return }
    current = nil
    leave(question, of: asker)
    if lines[asker] != nil { round.append(asker) }
  }

  /// Nobody waits for the answers to this peer any more.
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
