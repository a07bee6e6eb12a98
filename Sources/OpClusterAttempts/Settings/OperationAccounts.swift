// The accounts that a worker's operations run as: the owner's choice, and the resulting account of
// each operation. Looked up on the loop thread when an operation starts.

import OpClusterModel
public import OpClusterProcesses
import OpClusterSystem

/// The choice of the account for operations.
public enum OperationAccount: Hashable, Sendable {
  /// As the worker itself.
  case worker
  /// This account for all operations. The worker must run as root.
  case fixed(LocalAccount)
  /// The account with the name of the submitting key. The worker must run as root.
  case submitter

  /// The word for ``submitter`` in `--run-as`; no account has such a name.
  public static let submitterWord = "@submitter"

  /// Parses `--run-as`: the name of an account, or ``submitterWord``.
  ///
  /// - Throws: `WorkerError` if this process is not root, or the account is not usable.
  public init(parsing text: String) throws(WorkerError) {
    guard OwnProcess.isRoot else {
      throw WorkerError(
        .configuration,
        "--run-as '\(text)': only a worker that root starts can run operations as somebody else; "
          + "start it as root, or without --run-as")
    }
    guard text != Self.submitterWord else {
      self = .submitter
      return
    }
    do throws(LocalAccount.Problem) {
      self = .fixed(try LocalAccount.named(text))
    } catch {
      throw WorkerError(.configuration, "--run-as '\(text)': " + error.sentence)
    }
  }

  /// Whether operations run as another account than the worker's.
  package var isForeign: Bool { self != .worker }
}

extension LocalAccount.Problem {
  fileprivate var sentence: String {
    switch self {
    case .unknown: "this machine has no such account; make it, or name another"
    case .root: "this account may do everything; name another"
    case .unavailable(let error):
      "the list of accounts cannot be read (error \(error)); try again when it can"
    }
  }
}

/// Finds the account of each operation and caches it for a while: the list of accounts may be on
/// another machine.
final class OperationAccounts {
  private typealias Entry = (account: Result<LocalAccount, AttemptProblem>, until: Int64)

  private static let memory: Int64 = 60_000_000_000
  private let choice: OperationAccount
  private var known: [String: Entry] = [:]

  init(_ choice: OperationAccount) { self.choice = choice }

  /// The number of cached names.
  var remembered: Int { known.count }

  /// Returns the account of an operation; nil: the worker's.
  func account(
    of announcement: TemplateAnnouncement
  ) throws(AttemptProblem) -> LocalAccount? {
    switch choice {
    case .worker: return nil
    case .fixed(let account): return account
    case .submitter: return try submitter(announcement.submitter)
    }
  }

  private func submitter(_ name: String) throws(AttemptProblem) -> LocalAccount {
    let now = MonotonicClock.now()
    if let entry = known[name], now < entry.until { return try entry.account.get() }
    if known.count >= Limits.accountsRemembered { known = [:] }
    let found = Self.find(name)
    known[name] = (found, now.saturatingAdd(Self.memory))
    return try found.get()
  }

  private static func find(_ name: String) -> Result<LocalAccount, AttemptProblem> {
    guard !name.isEmpty else {
      return problem("it was submitted without a key; use one that has the name of an account here")
    }
    do throws(LocalAccount.Problem) {
      let account = try LocalAccount.named(name)
      guard account.user >= Limits.lowestSubmitterUser else {
        return problem(
          "'\(name)' is an account of the system (its number is below "
            + "\(Limits.lowestSubmitterUser)); give the key the name of a person's account")
      }
      return .success(account)
    } catch {
      return problem("'\(name)', which has the key that submitted it: " + error.sentence)
    }
  }

  private static func problem(_ what: String) -> Result<LocalAccount, AttemptProblem> {
    .failure(
      AttemptProblem(
        cause: .cannotStart,
        message: "this worker runs operations as the account of their submitter: " + what))
  }
}
