// Programs that have little to do: what they are given, what they say, and that they end.

import Glibc
import OpClusterSystem
import Testing

@Suite struct ShortProgramTests {
  private func run(
    _ words: String..., input: String = "", longest: Duration = .seconds(30)
  ) async -> ShortProgram.End {
    await ShortProgram.run(words, input: input, longest: longest)
  }

  @Test func isGivenItsInput() async {
    #expect(await run("cat", input: "one\ntwo") == .exited(0, output: "one\ntwo"))
    #expect(await run("A=é", "sh", "-c", "echo $A; exit 3") == .exited(3, output: "é\n"))
    // Both streams.
    #expect(await run("sh", "-c", "echo x >&2") == .exited(0, output: "x\n"))
  }

  /// More than a socket holds, in either direction; of what it says, the beginning is kept.
  @Test func takesMuch() async {
    let much = String(repeating: "x", count: 3 << 20)
    #expect(await run("wc", "-c", input: much) == .exited(0, output: "\(3 << 20)\n"))
    guard case .exited(0, let output) = await run("cat", input: much) else {
      Issue.record("cat")
      return
    }
    #expect(output == String(repeating: "x", count: 16 * 1024))
    // One that does not read it.
    #expect(await run("true", input: much) == .exited(0, output: ""))
  }

  @Test func endings() async {
    #expect(await run("sh", "-c", "kill -9 $$") == .killed(9))
    guard case .exited(127, _) = await run("/no/such/program") else {
      Issue.record("a program that is not there")
      return
    }
  }

  /// With what it started: the shell does not replace itself by the last of two commands.
  @Test func isKilledAfterItsTime() async throws {
    let script = "echo $$; sleep 1000; true"
    #expect(await run("sh", "-c", script, longest: .milliseconds(300)) == .tookTooLong)
  }

  @Test func isKilledWithItsTask() async throws {
    let task = Task { await run("sh", "-c", "sleep 1000; true", longest: .seconds(1_000)) }
    task.cancel()
    #expect(await task.value == .tookTooLong)
  }

  /// One that has closed everything is waited for without a spin.
  @Test func closesItsOutputs() async {
    let script = "exec <&- >&- 2>&-; sleep 0.3; exit 4"
    #expect(await run("sh", "-c", script) == .exited(4, output: ""))
  }

  /// While every thread that its task may have is taken, it is given its input and ends.
  @Test func doesNotWaitForItsTasksThread() async throws {
    let folder = try TemporaryFolder.make(named: "short-program")
    let (count, begun, go) = (folder + "/count", folder + "/begun", folder + "/go")
    defer {
      for file in [count, begun, go] { _ = unsafe unlink(file) }
      _ = unsafe rmdir(folder)
    }
    let script = "touch $1; while [ ! -e $2 ]; do sleep 0.01; done; wc -c >$0"
    let much = String(repeating: "x", count: 3 << 20)
    let thread = OperationThreads(most: 1)
    let program = Task(executorPreference: thread) {
      // This test may be kept from its own thread for long.
      await run("sh", "-c", script, count, begun, go, input: much, longest: .seconds(1_000))
    }
    while text(of: begun) == nil { try await Task.sleep(for: .milliseconds(1)) }
    try await Task(executorPreference: thread) {
      close(unsafe creat(go, 0o600))
      try eventually("all of its input was read") { text(of: count) == "\(3 << 20)\n" }
    }.value
    #expect(await program.value == .exited(0, output: ""))
  }

  /// What it is given is all there before it starts, or it does not start.
  @Test func isLeftBehind() throws {
    try withFolder { folder in
      let log = folder + "/log"
      defer { _ = unsafe unlink(log) }
      let process = try ShortProgram.leave(
        "/usr/bin/env", ["env", "cat"], input: Array("secret".utf8), log: log)
      // What waits for every child of this process would wait for ever for others behind this one.
      try eventually("its end") { DaemonStart.takeEnd(of: process) == 0 }
      #expect(text(of: log) == "secret")
      #expect(throws: ErrorNumber.self) {
        try ShortProgram.leave(
          "/usr/bin/env", ["env", "cat"], input: Array(repeating: 1, count: 64 << 20), log: log)
      }
      #expect(text(of: log) == "secret")
    }
  }
}

/// nil: it is not there.
private func text(of path: String) -> String? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  return (try? FileDescriptor(descriptor).readAll(limit: 1 << 20))
    .map { String(decoding: $0, as: UTF8.self) }
}
