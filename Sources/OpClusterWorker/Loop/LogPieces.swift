// Pieces of logs on their way to the coordinator, and the questions for further ones. Pure. Nothing
// that was asked is left without an answer: the client would wait for it until its time is over.

package import OpClusterModel

/// What was asked, in order, and what is to be sent.
package struct LogPieces {
  /// Questions that are answered in one turn: each reads a file.
  static let questionsPerTurn = 64

  private var questions: [LogRequest] = []
  private var pieces: [LogChunk] = []
  private var bytes = 0

  package init() {}

  package var hasQuestions: Bool { !questions.isEmpty }

  /// Notes a question. There are at most ``Limits/logQuestions``: the coordinator has no more under
  /// way, in all.
  package mutating func note(_ question: LogRequest) {
    if questions.count < Limits.logQuestions { questions.append(question) }
  }

  /// The questions of this turn; none while earlier pieces wait for the socket.
  package mutating func takeQuestions() -> [LogRequest] {
    guard pieces.isEmpty, !questions.isEmpty else { return [] }
    let some = Array(questions.prefix(Self.questionsPerTurn))
    questions.removeFirst(some.count)
    return some
  }

  /// Adds a piece. Beyond ``Limits/logBytesOnTheWay`` its bytes stay behind, and it says so.
  package mutating func add(_ piece: LogChunk) {
    var added = piece
    if bytes + piece.bytes.count > Limits.logBytesOnTheWay {
      added.bytes = []
      added.problem = "too many pieces of logs are on their way; ask again in a moment"
    }
    bytes += added.bytes.count
    pieces.append(added)
  }

  /// Takes the next piece to send.
  package mutating func next() -> LogChunk? {
    guard let first = pieces.first else { return nil }
    pieces.removeFirst()
    bytes -= first.bytes.count
    return first
  }
}
