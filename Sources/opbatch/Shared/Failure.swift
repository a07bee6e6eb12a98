// The error that commands throw: what is wrong, what to do, and the exit status. Console prints it
// once, on stderr.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// A command cannot go on.
struct Failure: Error {
  var status: ExitStatus
  /// The word in `{"error":{"code":…}}` for programs, in snake_case.
  var code: String
  /// One sentence without a full stop; names the thing.
  var message: String
  /// The remedy; may be empty.
  var hint: String
  /// A rendered text that replaces `error: message`, for errors with a place in a file.
  var rendered: String

  init(
    _ status: ExitStatus, code: String, _ message: String, hint: String = "", rendered: String = ""
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.hint = hint
    self.rendered = rendered
  }

  /// The selector matched nothing (4).
  static func nothingSelected(_ selector: String) -> Failure {
    Failure(
      .nothingSelected, code: "nothing_selected", "nothing matches '\(selector)'",
      hint: "'opbatch ls -a' lists all graphs, 'opbatch ls GRAPH' the operations of one")
  }

  /// Options or arguments contradict each other (64).
  static func usage(_ message: String, hint: String = "") -> Failure {
    Failure(.usage, code: "usage", message, hint: hint)
  }

  /// The coordinator's reply does not fit the request (70).
  static func unexpectedReply(_ request: String) -> Failure {
    Failure(
      .internal, code: "unexpected_reply",
      "the coordinator's answer to '\(request)' is of another kind than asked for",
      hint: "opbatch and opcoord may be of different builds; compare 'opbatch version'")
  }
}

extension Failure {
  /// The words are part of the output for programs: a case may be added and none renamed.
  init(_ error: ClientError) {
    let code =
      switch error.kind {
      case .unreachable: "unreachable"
      case .versionMismatch: "version_mismatch"
      case .refused(let refusal): Failure.snakeCase(refusal.code.text)
      case .protocolViolation: "protocol_violation"
      case .connectionLost: "connection_lost"
      case .timedOut: "timed_out"
      case .badAddress: "bad_address"
      case .badConfiguration: "bad_configuration"
      case .keyRefused: "key_refused"
      case .wrongServerKey: "wrong_server_key"
      case .foreignServer: "foreign_server"
      case .cancelled: "cancelled"
      }
    self.init(ExitStatus(error.kind), code: code, error.message, hint: error.hint.forShell)
  }

  /// `unknownQueue` → `unknown_queue`.
  static func snakeCase(_ text: String) -> String {
    text.reduce(into: "") { result, letter in
      result += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
    }
  }
}

extension Failure {
  /// What the user sees of an error.
  init(shown error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as ClientError: self.init(error)
    case is CancellationError:
      self.init(.cancelled, code: "cancelled", "cancelled before it was done")
    default:
      self.init(
        .internal, code: "internal", "\(error)", hint: "this is a bug; please report it")
    }
  }
}
