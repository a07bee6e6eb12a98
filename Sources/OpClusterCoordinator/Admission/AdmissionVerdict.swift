// The requests to admission, and its verdicts. Values only.

import OpClusterModel

/// A request or an event of a peer.
enum AdmissionRequest: Sendable {
  // Of clients:
  /// A new frame, not parsed yet.
  case frame([UInt8])
  case hello(ClientHello, AdmissionFacts)
  /// A request, with its number and the size of its message in bytes.
  case request(RequestID, ClientRequest, bytes: Int, AdmissionFacts)
  /// It does not read: too many messages wait for it (G27).
  case unread
  /// So many bytes of it are not a valid message, for this reason (G33). The request is nil if they
  /// hold no number of one.
  case unintelligible(RequestID?, bytes: Int, problem: String)

  // Of workers:
  /// A frame of this size, not parsed yet.
  case workerFrame(bytes: Int)
  case workerWord(Saying)
  /// Its bytes are not a valid message, for this reason (G33).
  case unintelligibleWord(String)
  /// It reports an attempt that was never given to it (G33).
  case falseReport
}

/// Facts from other components that admission needs, at the moment of the request.
struct AdmissionFacts: Sendable {
  /// The number of greeted clients.
  var clients = 0
  /// The number of subscriptions of the client that asks.
  var subscriptions = 0
  /// The operations of a submission, if they were counted.
  var operations: Int?
  /// The submitter of the living graph that blocks are added to; nil if there is none.
  var submitter: String?
  /// The refusal of taken-over outputs without room; nil if there is room.
  var lackOfOutputRoom: Refusal?
}

/// The action of the loop.
enum AdmissionVerdict: Equatable, Sendable {
  /// Carry the request out.
  case allowed
  /// Keep the frame until its turn.
  case queued
  /// Do nothing and answer nothing.
  case ignored
  /// Refuse this request; the peer may continue.
  case refused(RequestID, Refusal)
  /// Tell the peer the reason and forget it: it may begin again on the same connection.
  case turnedAway(RequestID, Refusal)
  /// Tell the peer the reason and ignore it on this connection from now on.
  case putOut(RequestID, Refusal)
  /// Count an invalid message, for this reason; the conversation ends (G33).
  case malformed(String)
  /// Put a client out without an answer and ban it for a while.
  case expelled(Expulsion)
  /// Cut a client's connection.
  case cut(Cut)

  enum Expulsion: Equatable, Sendable {
    /// It sends requests despite `Limits.refusalsInARow` refusals.
    case asksOn
    case readsNothing
  }

  enum Cut: Equatable, Sendable {
    /// It was put out and continues to send.
    case wasPutOut
    /// It has sent this number of messages without a hello.
    case saysNoHello(messages: Int)
  }
}

extension RequestID {
  /// The number in answers that belong to no request.
  static let none = RequestID(0)
}

/// The identity that a ban applies to.
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
