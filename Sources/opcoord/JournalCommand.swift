// `opcoord journal`: looks at a journal, copies it, makes it smaller, cuts it. Never beside what
// `serve` would do by itself.

import ArgumentParser
import OpClusterCoordinator
import OpClusterJournal

struct JournalCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "journal", abstract: "Look after the journal in a state folder.",
    subcommands: [Verify.self, Export.self, Compact.self, Backup.self, Cut.self])
}

/// The folder, by flag, environment, file or built in.
struct JournalFolder: ParsableArguments {
  @Option(help: "Folder of the journal. [OPCOORD_STATE]") var state: String?

  func path() -> String {
    do throws(ConfigurationProblem) {
      return try Configuration(flags: state.map { [.state: $0] } ?? [:])[.state]
    } catch {
      fail(error.text, status: 78)
    }
  }
}

/// Runs what works on a journal; its errors end the process with their status.
private func working<Found>(_ body: () throws -> Found) -> Found {
  do {
    return try body()
  } catch let error as JournalError {
    fail(error.description, status: error.exitStatus)
  } catch {
    fail("\(error)", status: 70)
  }
}

struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check every record, every checksum and the database itself.",
    discussion: "Exit codes: 0 sound, 65 damaged (the record is named), 74 cannot be read.")
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    let report = working { try JournalTools.verify(folder: path) }
    let records = working { try JournalExport.check(folder: path) }
    let snapshot = report.snapshotSequence.map { "\($0)" } ?? "none"
    Kernel.write(
      "journal sound: last_turn=\(report.lastSequence) snapshot=\(snapshot) records=\(records) "
        + "event_rows=\(report.streamRows) chapters=\(report.chapterRows) "
        + "documents=\(report.documentRows)",
      to: .output)
  }
}

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the facts of the journal, one a line, the snapshot first.")
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    working {
      try JournalExport.export(folder: path) { line in Kernel.write(line, to: .output) }
    }
  }
}

struct Compact: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Give unused space back to the disk. The coordinator must not run.")
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    working { try JournalTools.compact(folder: path) }
  }
}

struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the journal as of this moment, also while the coordinator runs.")
  @Argument(help: "A new folder for the copy.") var target: String
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    working { try JournalTools.backup(folder: path, to: target) }
  }
}

struct Cut: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Drop every turn behind one: the way out of a damaged journal.",
    discussion: """
      What is dropped is lost: keep a copy of the folder first. Meant for a journal that does not \
      verify; the coordinator must not run.
      """)
  @Argument(help: "The last turn to keep.") var sequence: UInt64
  @OptionGroup var folder: JournalFolder

  func run() throws {
    let path = folder.path()
    working { try JournalTools.cut(folder: path, after: sequence) }
  }
}
