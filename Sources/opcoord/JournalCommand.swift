// `opcoord journal`: verifies, exports, copies, compacts and truncates a journal. Never does what
// `serve` would do by itself. The work is in OpClusterJournal, and `JournalExport` in
// OpClusterCoordinator knows what the records mean; this finds the folder, and turns errors into
// exit statuses. `compact` and `cut` need a stopped coordinator (73).

import ArgumentParser
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterJournal

struct JournalCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "journal", abstract: "Look after the journal in a state folder.",
    subcommands: [Verify.self, Export.self, Compact.self, Backup.self, Cut.self])
}

/// The folder, by flag, environment, file or default. The journal's own lock keeps two of these
/// commands, or one and a coordinator, from changing it at once.
struct JournalFolder: ParsableArguments {
  @Option(help: "Folder of the journal. [OPCOORD_STATE]") var state: String?

  /// Only this setting is needed, but a wrong configuration file is still an error (78).
  func path() -> String {
    do throws(ConfigurationProblem) {
      return try Configuration(flags: state.map { [.state: $0] } ?? [:])[.state]
    } catch {
      fail(error.text, status: 78)
    }
  }
}

/// Runs work on a journal; its errors end the process with their status. Every error has a status
/// of its own, so that scripts can tell damage from a full disk.
private func working<Found>(_ body: () throws -> Found) -> Found {
  do {
    return try body()
  } catch let error as JournalError {
    fail(error.description, status: error.exitStatus)
  } catch let error as CoordinatorError {
    fail(error.description, status: error.status)
  } catch {
    fail("\(error)", status: 70)
  }
}

/// Reads everything and writes nothing. Costs the journal.
struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check every record, every checksum and the database itself.",
    discussion: """
      What 'serve' checks is checked, too: what is called sound can be served.
      Exit codes: 0 sound, 65 damaged (the record is named), 74 cannot be read.
      """)
  @OptionGroup var folder: JournalFolder

  func run() throws {
    StandardStream.output.write("journal sound: \(findings(folder.path()))")
  }
}

/// Checks everything, including the validity of each record, and returns a summary. Two passes: one
/// over the database and its checksums, one over the meaning of each record. The words are
/// `name=value`, for scripts.
private func findings(_ path: String) -> String {
  let report = working { try JournalTools.verify(folder: path) }
  let records = working { try JournalExport.check(folder: path) }
  let snapshot = report.snapshotSequence.map { "\($0)" } ?? "none"
  return "last_turn=\(report.lastSequence) snapshot=\(snapshot) records=\(records) "
    + "event_rows=\(report.streamRows) chapters=\(report.chapterRows) "
    + "documents=\(report.documentRows)"
}

/// Line by line, so that memory does not grow with the journal. Stops at the first damage, with the
/// facts before it on stdout (G6).
struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the facts of the journal, one a line, the snapshot first.")
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    working {
      try JournalExport.export(folder: path) { line in StandardStream.output.write(line) }
    }
  }
}

/// Verifies before and after; it may be killed at any moment (G9).
struct Compact: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write a snapshot, drop the turns it replaces, give space back to the disk.",
    discussion: """
      The coordinator must not run. Nothing that happened is forgotten: events and the history of \
      attempts stay, and the journal recovers to the same state; one that is interrupted, too. \
      Needs as much free space as the journal has.
      Exit codes: 0 done, 65 damaged (nothing was changed), 73 the coordinator runs, 74 the disk.
      """)
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    let result = working { try JournalCompaction.compact(folder: path) }
    StandardStream.output.write(
      "journal compacted: bytes=\(result.bytesAfter) before=\(result.bytesBefore) "
        + findings(path))
  }
}

/// The check of the copy decides: a copy that does not verify is not left behind.
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the journal as of this moment, also while the coordinator runs.",
    discussion: """
      What was acknowledged before the backup began is in it. The copy is verified. To restore it, \
      stop the coordinator and start it with --state on the copy, or put the copy where the state \
      folder was.
      Exit codes: 0 done, 65 damaged (no copy is left), 74 the disk, or the folder holds a journal \
      already.
      """)
  @Argument(help: "A new folder for the copy.") var target: String
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    working {
      try JournalTools.backup(folder: path, to: target) { try JournalExport.check($0) }
    }
    StandardStream.output.write("journal copied to \(target): \(findings(target))")
  }
}

/// The one command that loses facts, and only by explicit order (G6). The result is known as such
/// at the next start (G12, G16).
struct Cut: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Drop every turn behind one: the way out of a damaged journal.",
    discussion: """
      What is dropped is lost: keep a copy of the folder first. Meant for a journal that does not \
      verify; 'journal verify' names the turn that is damaged, cut at the one before it. Turns \
      that a snapshot has replaced are no longer there: a cut before it is refused. The \
      coordinator must not run.
      Exit codes: 0 done, or nothing is behind that turn; 64 no cut is possible there, 65 what \
      would be left is damaged (nothing was changed in either case); 73 the coordinator runs, 74 \
      the disk.
      """)
  @Option(help: "The last turn to keep.") var at: UInt64
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    let report = working {
      try JournalTools.cut(folder: path, after: at) { try JournalExport.check($0) }
    }
    // Cutting behind the last turn is no error, so that a repeated command succeeds.
    var words = "nothing is behind turn \(at), nothing was changed"
    if report.isChanged {
      words =
        "journal cut behind turn \(report.lastSequence): "
        + "\(report.droppedTurns) turn\(report.droppedTurns == 1 ? "" : "s") dropped"
    }
    if report.droppedLog {
      words += ", and what the damaged or lost write-ahead log held behind them"
    }
    StandardStream.output.write("\(words), \(findings(path))")
  }
}
