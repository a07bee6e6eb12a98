// Logs of ended attempts are bounded in bytes: the oldest go, those of what runs stay, and who asks
// for one that is gone is told so (G8).

import Glibc
import OpClusterModel
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

@Suite struct LogSweepTests {
  private static let now: Int64 = 2_000_000_000
  private static let size = 64 * 1024

  /// A worker's folder with logs: name below it, and age in minutes.
  private func folder(_ logs: [(name: String, minutes: Int)]) throws -> String {
    let folder = try TestWorker.freshFolder()
    for (name, minutes) in logs {
      let graph = String(name.prefix { $0 != "/" })
      _ = unsafe mkdir("\(folder)/\(graph)", 0o700)
      let path = "\(folder)/\(name)"
      let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      let bytes = [UInt8](repeating: 1, count: Self.size)
      #expect(unsafe write(file, bytes, bytes.count) == bytes.count)
      close(file)
      let time = timespec(tv_sec: Int(Self.now) - minutes * 60, tv_nsec: 0)
      let times = [time, time]
      #expect(unsafe utimensat(AT_FDCWD, path, times, 0) == 0)
    }
    return folder
  }

  private func names(_ folder: String, _ graph: String) -> [String] {
    Folders.names(in: "\(folder)/\(graph)").sorted()
  }

  private func sweep(_ folder: String, logs: Int, running: Set<String> = []) -> LogSweep.Outcome {
    LogSweep(folder: folder, bytes: Int64(logs * Self.size), running: running).run(now: Self.now)
  }

  @Test func theOldestGo() throws {
    let folder = try folder([
      ("7/0.1.out", 50), ("7/1.1.out", 40), ("7/1.1.err", 40), ("8/0.1.out", 30),
      ("8/0.2.out", 20), ("slots/0.1.out", 100),
    ])
    defer { Folders.removeTree(folder) }
    #expect(sweep(folder, logs: 5).removedFiles == 0)
    #expect(names(folder, "7") == ["0.1.out", "1.1.err", "1.1.out"])
    // Four may stay; a tenth is made room for, and those of one minute go together.
    let outcome = sweep(folder, logs: 4)
    #expect(outcome.removedFiles == 3 && outcome.bytes == Int64(5 * Self.size))
    #expect(names(folder, "7") == ["swept"])
    #expect(names(folder, "8") == ["0.1.out", "0.2.out"])
    #expect(names(folder, "slots") == ["0.1.out"])
    #expect(sweep(folder, logs: 4) == LogSweep.Outcome(bytes: Int64(2 * Self.size)))
  }

  /// A log that is written where it stays, of a command that has been silent for long.
  @Test func whatRunsStays() throws {
    let folder = try folder([("7/0.1.out", 500), ("7/0.11.out", 400), ("7/1.1.out", 300)])
    defer { Folders.removeTree(folder) }
    let running = LogSweep.name(
      AttemptID(operation: OperationID(graph: GraphID(7), index: 0), attempt: 1))
    let outcome = sweep(folder, logs: 1, running: [running])
    #expect(outcome.removedFiles == 2)
    #expect(names(folder, "7") == ["0.1.out", "swept"])
  }

  /// What is being written now stays, too; what comes from the future, or from before time, is old.
  @Test func oddTimes() throws {
    let folder = try folder([
      ("7/0.1.out", 0), ("7/1.1.out", -100_000), ("7/2.1.out", 30_000_000), ("7/3.1.out", 0),
    ])
    defer { Folders.removeTree(folder) }
    #expect(sweep(folder, logs: 1).removedFiles == 2)
    #expect(names(folder, "7") == ["0.1.out", "3.1.out", "swept"])
  }

  /// `Limits.logBytesPerWorker`: a tenth of the disk, and never more than that.
  @Test func usualBytes() {
    let whole = Folders.diskBytes(of: "/tmp") ?? 0
    #expect(whole > 0)
    #expect(LogSweep.usualBytes(of: "/tmp") == min(whole / 10, Limits.logBytesPerWorker))
    #expect(LogSweep.usualBytes(of: "/nowhere/at/all") == Limits.logBytesPerWorker)
  }

  /// Who asks for a log that was removed is told; one that was never there is empty as before.
  @Test func whoAsksIsTold() throws {
    let folder = try folder([("7/0.1.out", 500), ("7/1.1.out", 400), ("8/0.1.out", 1)])
    defer { Folders.removeTree(folder) }
    #expect(sweep(folder, logs: 2).removedFiles == 2)
    func problem(_ graph: UInt32, isRunning: Bool = false) -> String {
      let attempt = AttemptID(
        operation: OperationID(graph: GraphID(graph), index: 0), attempt: 1)
      let request = LogRequest(
        number: 1, attempt: attempt, stream: .standardOutput, offset: 0, maximumBytes: 10)
      let path = Scratch.log(attempt, .standardOutput, in: folder)
      return LogAnswers.answer(request, LogPlace(path: path), isRunning: isRunning).problem
    }
    #expect(problem(7).contains("removed as one of the oldest"))
    #expect(problem(7, isRunning: true).isEmpty)
    #expect(problem(8).isEmpty && problem(9).isEmpty)
  }
}
