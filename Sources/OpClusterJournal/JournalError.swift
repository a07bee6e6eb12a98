// The errors of a journal, each with a cause and a next step. Made only in this target; read by the
// openers of a journal and by the commands, which turn them into an exit status.

import OpClusterSystem

/// A journal cannot be opened, read or written.
public struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Kind: Sendable, Hashable {
    /// Another process holds the journal; 0 if its id could not be read (F31).
    case inUse(process: Int32)
    /// A record is damaged; `record` names it (G6).
    case damaged(record: String)
    /// The cut needs a snapshot or turns that are no longer there, so nothing readable would be
    /// left. `earliest` is the first turn that can be the last one; nil if there is none (G6).
    case impossibleCut(earliest: UInt64?)
    /// The format was written by a version that this program does not know.
    case format(found: Int64)
    /// There is no space for the next write, on the disk or within `maximumDatabaseBytes` (G8).
    case diskFull
    /// The operating system or SQLite refused to read or write (G7).
    case storage
    /// The folder is unsafe: others can write to it (F59).
    case unsafeFolder
  }

  /// The kind of the error.
  public let kind: Kind
  /// SQLite's extended result code, or the errno of a system call; 0 otherwise.
  public let code: Int32
  /// The cause, in words.
  public let message: String
  /// The next step for a person.
  public let advice: String

  /// The exit status of a command that this error stops (G6, G7, F31).
  public var exitStatus: Int32 {
    switch kind {
    case .inUse: 73
    case .damaged, .format, .impossibleCut(earliest: nil): 65
    case .impossibleCut: 64
    case .diskFull, .storage: 74
    case .unsafeFolder: 77
    }
  }

  public var description: String {
    code == 0 ? "\(message); \(advice)" : "\(message) (code \(code)); \(advice)"
  }
}

extension JournalError {
  static func inUse(process: Int32, path: String) -> JournalError {
    JournalError(
      kind: .inUse(process: process), code: 0,
      message: "journal \(path) is in use by process \(process)",
      advice: "stop that process, or give this one another folder")
  }

  static func damaged(
    _ record: String, because reason: String, code: Int32 = 0, remedy: Remedy = .backup
  ) -> JournalError {
    JournalError(
      kind: .damaged(record: record), code: code,
      message: "journal is damaged at \(record): \(reason)", advice: remedy.advice)
  }

  static func format(found: Int64) -> JournalError {
    JournalError(
      kind: .format(found: found), code: 0,
      message: "journal has format \(found), this program reads \(Schema.format)",
      advice: "use the version of the program that wrote it")
  }

  static func lostFiles(_ folder: String, because reason: String) -> JournalError {
    JournalError(
      kind: .storage, code: 0, message: "the journal in \(folder) is lost: \(reason)",
      advice: "what was acknowledged before is in the files that were taken away: bring them back, "
        + "or restore a backup, and start again")
  }

  static func unsafeFolder(
    _ path: String, because reason: String, advice: String
  ) -> JournalError {
    JournalError(
      kind: .unsafeFolder, code: 0, message: "the journal's folder \(path) is not used: \(reason)",
      advice: "\(advice); the folder has to be this service's own, with mode 0700")
  }

  static func system(_ call: String, _ path: String, errno code: Int32) -> JournalError {
    let isFull = code == SystemCode.noSpace || code == SystemCode.quota
    return JournalError(
      kind: isFull ? .diskFull : .storage, code: code,
      message: "\(call) failed for \(path): \(ErrorNumber(code).text)",
      advice: isFull ? "make room and start again" : "check the disk and the permissions")
  }
}

/// The remedy for damage, by the damaged part.
enum Remedy {
  /// The database itself, or a part that everything else depends on.
  case backup
  /// A turn: the turns before it can be kept.
  case cut(before: Int64)
  /// The snapshot behind a turn.
  case beforeSnapshot(Int64)
  /// The end of the write-ahead log: SQLite reads the part before the damage.
  case cutLog
  /// A lost write-ahead log: the database ends with turn `last`.
  case lostLog(last: Int64)
  /// A row of history that came with a turn; `base` is the turn of the newest snapshot, 0 without
  /// one.
  case history(turn: Int64, base: Int64)
  /// An index of history, which can be rebuilt.
  case index
  /// Damage that a reader of history found.
  case historyOfReader

  var advice: String { "nothing was changed; restore a backup" + alternative }

  private var alternative: String {
    switch self {
    case .backup:
      ""
    case .cut(let turn):
      turn > 1 ? ", or cut before that turn: 'opcoord journal cut --at \(turn - 1)'" : ""
    case .beforeSnapshot(let sequence):
      ", or, while the turns before the snapshot are still there, cut before it: "
        + "'opcoord journal cut --at \(sequence - 1)'"
    case .cutLog:
      ", or cut at the last turn that 'opcoord journal export' prints"
    case .lostLog(let last):
      " or the file 'journal.db-wal' as it was"
        + (last > 0 ? ", or go on without what was in it: 'opcoord journal cut --at \(last)'" : "")
    case .history(let turn, let base):
      Self.cut(turn, base)
        + "; as it is, the coordinator serves, and refuses questions that need this row"
    case .index:
      ", or stop the coordinator and make the index anew: 'sqlite3 journal.db REINDEX'"
    case .historyOfReader:
      "; 'opcoord journal verify' says what else helps"
    }
  }

  private static func cut(_ turn: Int64, _ base: Int64) -> String {
    if turn > max(base, 1) {
      return ", or cut before that turn: 'opcoord journal cut --at \(turn - 1)'"
    }
    return base > 0 ? " (no cut reaches it: the snapshot of turn \(base) is behind it)" : ""
  }
}
