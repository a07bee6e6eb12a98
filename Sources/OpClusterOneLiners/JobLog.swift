// The file of `--joblog`, in GNU parallel's form, and what `--resume` reads from it. Pure.

/// A line of a job log.
package struct JobLogEntry: Hashable, Sendable {
  package var sequence: Int
  package var host: String
  /// Milliseconds since 1970, and of the run.
  package var startMilliseconds: Int64
  package var runMilliseconds: Int64
  /// Bytes of standard output that came back.
  package var received: Int64
  /// −1: it was killed because its time was up, or with everything else.
  package var exitValue: Int32
  package var signal: Int32
  package var command: String

  package init(
    sequence: Int, host: String, startMilliseconds: Int64, runMilliseconds: Int64, received: Int64,
    exitValue: Int32, signal: Int32, command: String
  ) {
    self.sequence = sequence
    self.host = host
    self.startMilliseconds = startMilliseconds
    self.runMilliseconds = runMilliseconds
    self.received = received
    self.exitValue = exitValue
    self.signal = signal
    self.command = command
  }

  package static let header =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"

  /// With its line end. Line ends of the command become NUL, so that a line is a job.
  package var line: String {
    let run = Self.seconds(max(0, runMilliseconds))
    let padding = String(repeating: " ", count: max(0, 10 - run.utf8.count))
    let fields = [
      String(sequence), host, Self.seconds(max(0, startMilliseconds)), padding + run, "0",
      String(received), String(exitValue), String(signal),
    ]
    return fields.joined(separator: "\t") + "\t" + Self.oneLine(command) + "\n"
  }

  private static func oneLine(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\n")) else { return text }
    return String(
      decoding: text.utf8.map { $0 == UInt8(ascii: "\n") ? 0 : $0 }, as: UTF8.self)
  }

  private static func seconds(_ milliseconds: Int64) -> String {
    let rest = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}

/// The jobs that need not run again.
package struct FinishedJobs: Sendable {
  private var done: Set<Int> = []
  /// Whether the log has its heading.
  package private(set) var hasHeader = false

  package init() {}

  package var count: Int { done.count }

  /// Takes one line of a log, without its end. The last line of a job decides.
  ///
  /// - Parameter onlySuccesses: Those that failed run again (`--resume-failed`).
  /// - Throws: The line is none of a job log.
  package mutating func take(_ line: some StringProtocol, onlySuccesses: Bool) throws(InputProblem)
  {
    if line.hasPrefix("Seq\t") {
      hasHeader = true
      return
    }
    if line.isEmpty { return }
    let fields = line.split(separator: "\t", maxSplits: 8, omittingEmptySubsequences: false)
    guard fields.count == 9, let sequence = Int(fields[0]), sequence > 0,
      let exit = Int(fields[6]), let signal = Int(fields[7])
    else {
      throw InputProblem(
        "the job log has a line that is none of a job",
        hint: "name the file that an earlier --joblog wrote, or a new one")
    }
    if !onlySuccesses || (exit == 0 && signal == 0) {
      done.insert(sequence)
    } else {
      done.remove(sequence)
    }
  }

  package func contains(_ sequence: Int) -> Bool { done.contains(sequence) }
}
