// Relays pieces of logs from workers to clients: the waiting requests and their deadlines. Pure; on
// the loop's thread.

import DequeModule
import OpClusterModel

struct LogRelay {
  struct Waiting {
    let client: PeerID
    let request: RequestID
    let worker: PeerID
    let workerName: String
    let deadline: Instant
  }
  /// An answer for a client.
  typealias Answer = (client: PeerID, request: RequestID, reply: ClientReply)

  private var waiting: [UInt64: Waiting] = [:]
  /// In the order of the questions, which is the order of the deadlines; with answered ones, but
  /// not as the first.
  private var order: Deque<UInt64> = []
  private var lastNumber: UInt64 = 0

  /// Whether no further worker is asked before some have answered (G27).
  var isFull: Bool { waiting.count >= Limits.logQuestions }

  /// Notes a question and returns the request for the worker.
  mutating func ask(
    _ question: LogQuestion, attempt: AttemptID, worker: PeerID, workerName: String,
    deadline: Instant
  ) -> LogRequest {
    lastNumber += 1
    waiting[lastNumber] = Waiting(
      client: question.peer, request: question.request, worker: worker, workerName: workerName,
      deadline: deadline)
    order.append(lastNumber)
    return LogRequest(
      number: lastNumber, attempt: attempt, stream: question.stream, offset: question.offset,
      maximumBytes: min(question.maximumBytes, UInt32(Limits.logChunkBytes)))
  }

  /// Takes a worker's answer; nil if nobody waits for it, or another worker was asked.
  mutating func take(_ chunk: LogChunk, from worker: PeerID) -> Answer? {
    guard let asked = waiting[chunk.number], asked.worker == worker else { return nil }
    waiting[chunk.number] = nil
    dropAnswered()
    if chunk.problem.isEmpty { return (asked.client, asked.request, .log(chunk)) }
    return (
      asked.client, asked.request,
      .refused(Refusal(.noSuchLog, "worker \(asked.workerName): \(chunk.problem)"))
    )
  }

  /// Costs each question once or twice: an answered one in the middle stays until those before it
  /// are answered, or until there are as many as may wait.
  private mutating func dropAnswered() {
    while let first = order.first, waiting[first] == nil { order.removeFirst() }
    if order.count > 2 * Limits.logQuestions { order.removeAll { waiting[$0] == nil } }
  }

  /// Ends the questions to a worker that is gone.
  mutating func workerGone(_ worker: PeerID) -> [Answer] {
    end { $0.worker == worker }
  }

  /// Ends the questions whose deadline has passed.
  mutating func expire(at now: Instant) -> [Answer] {
    guard let next = nextDeadline, next <= now else { return [] }
    return end { $0.deadline <= now }
  }

  var nextDeadline: Instant? { order.first.flatMap { waiting[$0]?.deadline } }

  private mutating func end(_ isOver: (Waiting) -> Bool) -> [Answer] {
    var answers: [Answer] = []
    for number in order {
      guard let asked = waiting[number], isOver(asked) else { continue }
      waiting[number] = nil
      answers.append(
        (asked.client, asked.request, .refused(Refusal.unavailable(worker: asked.workerName))))
    }
    order.removeAll { waiting[$0] == nil }
    return answers
  }
}

extension Refusal {
  /// The refusal if the worker that has a log cannot be asked.
  static func unavailable(worker name: String) -> Refusal {
    Refusal(
      .workerUnavailable, "worker \(name) has the log and does not answer",
      hint: .findWorker)
  }
}
