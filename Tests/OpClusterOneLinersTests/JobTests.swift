// Job logs, halt rules, limits, results, and options of parallel's that are not here.

import OpClusterOneLiners
import Testing

@Suite struct JobTests {
  @Test func jobLog() throws {
    let entry = JobLogEntry(
      sequence: 2, host: "w1", startMilliseconds: 1_795_783_017_041, runMilliseconds: 3,
      received: 2, exitValue: 3, signal: 0, command: "echo 3\nexit 3")
    #expect(
      entry.line == "2\tw1\t1795783017.041\t     0.003\t0\t2\t3\t0\techo 3\0exit 3\n")
    var finished = FinishedJobs()
    for line in (JobLogEntry.header + entry.line).split(separator: "\n") {
      try finished.take(line, onlySuccesses: false)
    }
    #expect(finished.hasHeader && finished.contains(2) && !finished.contains(1))
    try finished.take("1\t:\t1.0\t     0.002\t0\t0\t0\t0\ttrue\ta", onlySuccesses: true)
    try finished.take(entry.line.dropLast(), onlySuccesses: true)
    #expect(finished.contains(1) && !finished.contains(2))
    for line in ["x", "1\t2", "0\t:\t1\t1\t0\t0\t0\t0\tc", "1\t:\t1\t1\t0\t0\tx\t0\tc"] {
      #expect(throws: InputProblem.self) { try finished.take(line, onlySuccesses: false) }
    }
  }

  @Test func haltRules() throws {
    #expect(try HaltRule.parse("never") == nil)
    #expect(try HaltRule.parse("0") == nil)
    let one = HaltRule(killsRunning: true, event: .fail, amount: .count(1))
    #expect(try HaltRule.parse("now,fail=1") == one)
    #expect(try HaltRule.parse("2") == one)
    let half = HaltRule(killsRunning: false, event: .fail, amount: .percent(50))
    #expect(try HaltRule.parse("50%") == half)
    for text in [
      "", "now", "now,fail", "now,fail=", "now,fail=x", "later,fail=1", "now,fail=0",
      "now,fail=101%", "now,fail=1,x", "now,win=1",
    ] { #expect(throws: InputProblem.self, "\(text)") { try HaltRule.parse(text) } }
    #expect(!one.isReached(JobTally(succeeded: 9), total: nil))
    #expect(one.isReached(JobTally(failed: 1), total: nil))
    #expect(!half.isReached(JobTally(failed: 4), total: 10))
    #expect(half.isReached(JobTally(failed: 5), total: 10))
    #expect(!half.isReached(JobTally(failed: 5), total: nil))
    #expect(one.exitStatus(JobTally(failed: 1), total: 3, last: 3) == 3)
    #expect(half.exitStatus(JobTally(failed: 1), total: 3, last: 3) == 34)
    let done = HaltRule(killsRunning: false, event: .done, amount: .count(2))
    #expect(done.exitStatus(JobTally(succeeded: 1, failed: 1), total: 3, last: 3) == 1)
    let success = HaltRule(killsRunning: true, event: .success, amount: .count(1))
    #expect(success.exitStatus(JobTally(succeeded: 1, failed: 7), total: 9, last: 0) == 0)
    #expect(JobTally(failed: 3).exitStatus == 3 && JobTally(failed: 102).exitStatus == 101)
  }

  @Test func limits() throws {
    #expect(try JobLimit("8").places(processors: 2) == 8)
    #expect(try JobLimit("0").places(processors: 2) == nil)
    #expect(try JobLimit("50%").places(processors: 8) == 4)
    #expect(try JobLimit("1%").places(processors: 8) == 1)
    #expect(try JobLimit("+2").places(processors: 8) == 10)
    #expect(try JobLimit("-9").places(processors: 8) == 1)
    for text in ["", "x", "1.5", "-1%", "0%", "9999999999999999999", "1000001"] {
      #expect(throws: InputProblem.self, "\(text)") { try JobLimit(text) }
    }
  }

  @Test func resultFolders() {
    func path(_ row: [String], _ names: [String] = []) -> String {
      ResultFolder.path(JobArguments(records: [row], sequence: 1), names: names)
    }
    #expect(path(["a/b", "1"]) == "1/a\\_b/2/1")
    #expect(path(["x y", "\\\t"], ["foo", "bar"]) == "bar/\\\\\\t/foo/x y")
    #expect(path([".."]) == "1/\\..")
    #expect(path([String(repeating: "ü", count: 400)]).utf8.count <= 242)
  }

  @Test func foreignOptions() {
    for option in ["--pipe", "--block=1M", "-S", "-Sone,two", "--sshlogin", "--semaphore", "--rpl"]
    {
      #expect(ForeignOption.advice(for: option)?.isEmpty == false, "\(option)")
    }
    #expect(ForeignOption.advice(for: "--nothing") == nil)
    #expect(ForeignOption.advice(for: "-9") == nil)
  }
}
