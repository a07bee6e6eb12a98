// The mark by which every process of an operation is found again, in any session, group, or under
// any parent. Made once per worker process; read by the host and by the guard.

/// Marks all processes of one run of a worker: an environment variable that children inherit, and
/// the name of the worker's cgroup.
public struct ProcessFence: Sendable, Hashable {
  /// The variable of the mark; operations may not set it.
  static let variable = "OPCLUSTER_FENCE"

  /// The worker's stable name.
  public let worker: String
  /// Sixteen hexadecimal digits, new for each run of the worker.
  public let session: String

  /// Returns nil if the name is not `[A-Za-z0-9._:-]{1,128}` (G38), or is `.` or `..`.
  public init?(worker: String) {
    guard Self.isName(worker) else { return nil }
    self.worker = worker
    session = Self.hexadecimal(UInt64.random(in: .min ... .max))
  }

  /// The environment value of one operation's processes.
  func value(token: UInt64, isExclusive: Bool = false) -> String {
    "\(worker)/\(session)/\(isExclusive ? "x" : "")\(Self.hexadecimal(token))"
  }

  /// The prefix of this run's environment entries.
  var sessionEntry: String { Self.workerEntry(worker) + "\(session)/" }

  /// The prefix of the entries of its exclusive operations (G16).
  var exclusiveEntry: String { sessionEntry + "x" }

  /// The prefix of the entries of all runs of a worker.
  static func workerEntry(_ worker: String) -> String { "\(variable)=\(worker)/" }

  /// The folder name of this run in the cgroup hierarchy.
  var groupName: String { Self.groupPrefix(worker) + session }

  /// The prefix of the folder names of all runs of a worker; sixteen digits follow.
  static func groupPrefix(_ worker: String) -> String { "\(groupPrefix)\(worker)." }

  /// The prefix of the folder names of all workers.
  static let groupPrefix = "opworker."

  static func isName(_ text: String) -> Bool {
    let letters = text.utf8
    guard (1...128).contains(letters.count), text != ".", text != ".." else { return false }
    return letters.allSatisfy { letter in
      OperationEnvironment.isDigit(letter)
        || OperationEnvironment.isLetter(letter) || ".:-".utf8.contains(letter)
    }
  }

  static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
