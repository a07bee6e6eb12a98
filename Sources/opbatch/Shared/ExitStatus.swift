// The exit statuses of all commands: the table of the manual. Scripts rely on them.

import OpClusterClient
import OpClusterModel

struct ExitStatus: Equatable, Sendable {
  /// 0…255.
  var code: Int32

  /// Everything succeeded or was allowed to fail.
  static let success = ExitStatus(code: 0)
  /// Something failed, timed out, was lost, or was skipped because of that.
  static let failed = ExitStatus(code: 1)
  /// Nothing failed, but something was cancelled.
  static let cancelled = ExitStatus(code: 2)
  /// `--timeout` passed.
  static let timedOut = ExitStatus(code: 3)
  /// The selector matched nothing.
  static let nothingSelected = ExitStatus(code: 4)
  /// The coordinator said no.
  static let refused = ExitStatus(code: 5)
  /// The command line cannot be understood.
  static let usage = ExitStatus(code: 64)
  /// The manifest is wrong.
  static let badInput = ExitStatus(code: 65)
  /// The coordinator cannot be reached.
  static let unreachable = ExitStatus(code: 69)
  /// An internal error.
  static let `internal` = ExitStatus(code: 70)
  /// Reading or writing failed.
  static let inputOutput = ExitStatus(code: 74)
  /// The coordinator speaks another protocol version, or another protocol.
  static let protocolVersion = ExitStatus(code: 76)
  /// The coordinator does not accept our key.
  static let keyRefused = ExitStatus(code: 77)
  /// A configuration file or variable is wrong.
  static let badConfiguration = ExitStatus(code: 78)

  // `run -- CMD` passes the status of CMD on; these statuses mean that CMD did not give one.
  static let commandTimedOut = ExitStatus(code: 124)
  static let commandNotStarted = ExitStatus(code: 125)
  static func commandSignalled(_ signal: Int32) -> ExitStatus { ExitStatus(code: 128 + signal) }

  /// The status for a graph that has ended.
  init(_ state: GraphRow.State) {
    switch state {
    case .running, .suspended, .succeeded: self = .success
    case .failed: self = .failed
    case .cancelled: self = .cancelled
    }
  }

  /// The status for operations by their counts per state. Does not know allowed failures: use the
  /// graph's state for them.
  init(_ counts: StateCounts) {
    let failures: [StateWord] = [.failed, .timedOut, .lost, .skipped]
    if failures.contains(where: { counts[$0] > 0 }) {
      self =
        counts[.cancelled] > 0 && failures.allSatisfy { $0 == .skipped || counts[$0] == 0 }
        ? .cancelled : .failed
    } else {
      self = counts[.cancelled] > 0 ? .cancelled : .success
    }
  }

  init(code: Int32) { self.code = code }

  /// The worse of two statuses: a failure outweighs a cancellation.
  func combined(with other: ExitStatus) -> ExitStatus {
    if self == .failed || other == .failed { return .failed }
    return self == .success ? other : self
  }
}

extension ExitStatus {
  /// Every kind of error has one status, whatever command it happens in.
  init(_ kind: ClientError.Kind) {
    switch kind {
    case .unreachable, .connectionLost: self = .unreachable
    case .versionMismatch, .protocolViolation: self = .protocolVersion
    case .refused(let refusal):
      switch refusal.code {
      case .unknownGraph, .unknownOperation, .unknownQueue, .unknownWorker, .noSuchLog:
        self = .nothingSelected
      case .forbidden: self = .keyRefused
      case .versionMismatch: self = .protocolVersion
      default: self = .refused
      }
    case .keyRefused, .wrongServerKey, .foreignServer: self = .keyRefused
    case .timedOut: self = .timedOut
    case .badAddress, .badConfiguration: self = .badConfiguration
    case .cancelled: self = .cancelled
    }
  }
}
