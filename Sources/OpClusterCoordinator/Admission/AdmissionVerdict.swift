// What admission is asked and what it answers. Values only.

import OpClusterModel

/// What a peer wants, or does.
enum AdmissionRequest: Sendable {
  // Of clients
  /// A frame that has just come, and that nobody has looked into.
  case frame([UInt8])
  case hello(ClientHello, AdmissionFacts)
  /// A request, with its number and the size of its message in bytes.
  case request(RequestID, ClientRequest, bytes: Int, AdmissionFacts)
  /// It does not read: too much waits for it (G27).
  case unread
  /// What came is no message (G33).
  case unintelligible

  // Of workers
  /// A frame of so many bytes that nobody has looked into.
  case workerFrame(bytes: Int)
  case workerWord(Saying)
  /// What came is no message, for this reason (G33).
  case unintelligibleWord(String)
  /// It reports an attempt that was never given to it (G33).
  case falseReport
}

/// What others know and admission goes by, at the moment of the request.
struct AdmissionFacts: Sendable {
  /// Greeted clients.
  var clients = 0
  /// Subscriptions of the client that asks.
  var subscriptions = 0
  /// Who has submitted the living graph that blocks are for; nil: there is none.
  var submitter: String?
  /// Why the outputs that a submission would take over have no room; nil: they have.
  var lackOfOutputRoom: Refusal?
}

/// What the loop is to do.
enum AdmissionVerdict: Equatable, Sendable {
  /// It is carried out.
  case allowed
  /// The frame waits for its turn.
  case queued
  /// Nothing is done or said.
  case ignored
  /// This request is refused; the peer may go on.
  case refused(RequestID, Refusal)
  /// The peer is told why, and forgotten: it may begin anew on the same connection.
  case turnedAway(RequestID, Refusal)
  /// The peer is told why, and not heard any more on this connection.
  case putOut(RequestID, Refusal)
  /// It could not be understood, for this reason: counted, and the conversation ends (G33).
  case malformed(String)
  /// A client is put out without a word, and banned for `Limits.banishment`.
  case expelled(Expulsion)
  /// A client's connection is cut.
  case cut(Cut)

  enum Expulsion: Equatable, Sendable {
    /// It asks on in spite of `Limits.refusalsInARow` refusals.
    case asksOn
    case readsNothing
  }

  enum Cut: Equatable, Sendable {
    /// It was put out and goes on.
    case wasPutOut
    /// It has said so much without a hello.
    case saysNoHello(messages: Int)
  }
}

extension RequestID {
  /// Of answers to no request.
  static let none = RequestID(0)
}

/// Who is not let in again when it was put out.
enum Culprit: Hashable, Sendable, CustomStringConvertible {
  case key(String)
  case process(Int32)

  var description: String {
    switch self {
    case .key(let name): "key \(name)"
    case .process(let number): "process \(number)"
    }
  }
}
