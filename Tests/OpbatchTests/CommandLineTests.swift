// The words of the command line, and what they mean before anything runs.

import ArgumentParser
import OpClusterModel
import Testing

@testable import opbatch

@Suite struct CommandLineTests {
  @Test(
    arguments: [
      ("30", 30_000), ("500ms", 500), ("1.5s", 1_500), ("5m", 300_000), ("2h", 7_200_000),
      ("1d", 86_400_000), ("0", 0), ("36500d", TimeLength.longest),
    ] as [(String, Int64)])
  func lengthsOfTime(text: String, milliseconds: Int64) {
    #expect(TimeLength(argument: text)?.milliseconds == milliseconds)
  }

  @Test(arguments: ["", "s", "-1", "5x", "1e3", "36501d", "nan", "inf", "1 s", "٣s"])
  func noLengthsOfTime(text: String) {
    #expect(TimeLength(argument: text) == nil)
  }

  @Test func assignments() {
    #expect(Assignment(argument: "a=b=c") == Assignment(key: "a", value: "b=c"))
    #expect(Assignment(argument: "a=") == Assignment(key: "a", value: ""))
    #expect(Assignment(argument: "=b") == nil)
    #expect(Assignment(argument: "a") == nil)
  }

  /// Common options may stand before the command; what follows `--` is never touched.
  @Test func commonOptionsInFront() {
    #expect(
      commonOptionsLast(["-o", "json", "ls", "-a"]) == ["ls", "-o", "json", "-a"])
    #expect(
      commonOptionsLast(["--coordinator=x", "queue", "ls"]) == ["queue", "ls", "--coordinator=x"])
    #expect(
      commonOptionsLast(["--timeout", "3s", "run", "--", "ls", "-o", "x"])
        == ["run", "--timeout", "3s", "--", "ls", "-o", "x"])
    #expect(commonOptionsLast(["-q", "-o", "name", "ls"]) == ["ls", "-q", "-o", "name"])
    #expect(commonOptionsLast(["ls", "-o", "json"]) == ["ls", "-o", "json"])
    #expect(commonOptionsLast(["--help"]) == ["--help"])
    #expect(commonOptionsLast(["-o"]) == ["-o"])
  }

  @Test func groupsAreThoseOfTheTree() {
    let groups = Opbatch.configuration.groupedSubcommands.flatMap(\.subcommands)
      .filter { !$0.configuration.subcommands.isEmpty }
      .map { $0.configuration.commandName ?? String(describing: $0).lowercased() }
    #expect(Set(groups) == Set(Opbatch.groups))
  }

  /// `run -- CMD` takes the command as it is, its options too.
  @Test func commandAfterTheTerminator() throws {
    let run = try #require(
      try Opbatch.parseAsRoot(["run", "--cpus", "2", "--", "ls", "--help", "-m"]) as? Run)
    #expect(run.command == ["ls", "--help", "-m"])
    #expect(run.job.cpus?.value == ResourceAmount(2))
    #expect(throws: (any Error).self) { try Opbatch.parseAsRoot(["run", "ls"]) }
    #expect(throws: (any Error).self) { try Opbatch.parseAsRoot(["run"]) }
    #expect(throws: (any Error).self) { try Opbatch.parseAsRoot(["run", "-m", "x", "--", "ls"]) }
  }

  @Test func wrongCommandLines() {
    func failure(_ arguments: [String]) -> Failure? {
      do {
        _ = try Opbatch.parseAsRoot(arguments)
        return nil
      } catch {
        return UsageError.failure(error, arguments)
      }
    }
    #expect(failure(["submti", "x"])?.hint == "did you mean 'submit'?")
    #expect(failure(["submti", "x"])?.status == .usage)
    #expect(failure(["cancel"])?.hint.contains("opbatch cancel --help") == true)
    #expect(UsageError.format(of: ["ls", "-o", "json"]) == .json)
    #expect(UsageError.format(of: ["ls", "--output=jsonl"]) == .jsonl)
    #expect(UsageError.format(of: ["run", "--", "-o", "json"]) == .table)
  }
}
