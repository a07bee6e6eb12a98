// Which interpreter an argument names, and what is refused.

import OpClusterModel
import Testing

@testable import OpClusterAttempts

@Suite struct PythonInterpreterTests {
  private func interpreter(_ json: String) throws(AttemptProblem) -> PythonInterpreter {
    try PythonInterpreter(argument: Array(json.utf8))
  }

  @Test func theCommand() throws {
    #expect(
      try interpreter(#"{"function":"m:f"}"#).command == ["python3", "-m", "opcluster.interpreter"])
    #expect(
      try interpreter(#"{"pickle":"gA==","interpreter":"/opt/python"}"#).executable
        == "/opt/python")
    #expect(try interpreter(#"{"function":"m:f","pool":"a"}"#).pool == "a")
    #expect(
      try interpreter(#"{"function":"m:f","pool":"a"}"#) != interpreter(#"{"function":"m:f"}"#))
    #expect(
      try interpreter(#"{"function":"m:f","venv":"/opt/e"}"#).executable == "/opt/e/bin/python")
  }

  /// A virtual environment is active for the function's own children, too.
  @Test func theEnvironment() throws {
    func variables(_ json: String) throws -> [String: String] {
      let pairs = try interpreter(json).environment(
        of: nil, temporaryFolder: "/tmp/t", [("CUDA_VISIBLE_DEVICES", "3")])
      return Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) })
    }
    let plain = try variables(#"{"function":"m:f"}"#)
    #expect(plain["TMPDIR"] == "/tmp/t" && plain["CUDA_VISIBLE_DEVICES"] == "3")
    #expect(plain["VIRTUAL_ENV"] == nil)
    let own = try variables(#"{"function":"m:f","venv":"/opt/e"}"#)
    #expect(own["VIRTUAL_ENV"] == "/opt/e")
    #expect(own["PATH"] == "/opt/e/bin:" + (plain["PATH"] ?? ""))
    #expect(throws: AttemptProblem.self) {
      // Its folder would be a relative one in PATH.
      try variables(#"{"function":"m:f","venv":"/opt:e"}"#)
    }
  }

  @Test(arguments: [
    ("", "is not an object"), ("[]", "is not an object"), (#"{"function":1}"#, "is not an object"),
    ("{}", "names no function"), (#"{"function":"m:f","interpreter":""}"#, "an absolute path"),
    (#"{"function":"m:f","interpreter":"a/b"}"#, "an absolute path"),
    (#"{"function":"m:f","interpreter":"-c"}"#, "an absolute path"),
    (#"{"function":"m:f","interpreter":"/a\u0000b"}"#, "an absolute path"),
    (#"{"function":"m:f","venv":"e"}"#, "an absolute path"),
    (#"{"function":"m:f","venv":"/e","interpreter":"p"}"#, "keep one of them"),
  ])
  func whatIsRefused(json: String, words: String) throws {
    let problem = #expect(throws: AttemptProblem.self) { try interpreter(json) }
    #expect(problem?.cause == .badArgument)
    #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "")")
    let long = "/" + String(repeating: "x", count: Limits.interpreterPathBytes)
    #expect(throws: AttemptProblem.self) {
      try interpreter(#"{"function":"m:f","interpreter":"\#(long)"}"#)
    }
    #expect(throws: AttemptProblem.self) {
      try interpreter(#"{"function":"m:f","pool":"\#(long)"}"#)
    }
  }

  @Test func theAdvice() throws {
    let own = try interpreter(#"{"function":"m:f"}"#)
    #expect(own.advice(on: "No module named 'opcluster'")?.contains("install") == true)
    #expect(own.advice(on: "Killed") == nil)
  }
}
