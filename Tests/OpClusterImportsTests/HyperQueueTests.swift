// Job definition files of HyperQueue, and the TOML that they are.

import OpClusterModel
import Testing

@testable import OpClusterImports

@Suite struct HyperQueueTests {
  private func hq(_ text: String) -> ImportResult { ImportFormat.hyperQueue.read(text) }

  @Test func tasksWithDependencies() throws {
    let result = hq(
      """
      name = "job"
      max_fails = 2
      [[task]]
      id = 5
      command = ["a", "b c"]
      env = { "X" = "1" }
      time_limit = "1m 10s"
      priority = -3
      crash_limit = 7
      cwd = "sub"
      stdout = "none"
      stdin = "hello"
      [[task.request]]
      resources = { cpus = "4 compact!", "gpus/nvidia" = 1, mem = 100, "foo" = 1.5 }
      time_request = "10s"
      [[task]]
      command = ["c"]
      deps = [5]
      crash_limit = "never-restart"
      """)
    let graph = try #require(result.graph, "\(result.said)")
    #expect(graph.name == "job" && graph.onFailure == "cancel" && graph.maximumFailures == 2)
    let first = try #require(result["task-5"])
    #expect(first.work == .words(["a", "b c"]))
    #expect(first.environment["X"] == "1" && first.environment["HQ_TASK_ID"] == "5")
    #expect(first.timeoutSeconds == 70 && first.priority == -3 && first.maximumLosses == 7)
    #expect(first.cpus == 4 && first.gpus == 1 && first.memoryBytes == 100 << 20)
    #expect(first.resources == ["foo": 1.5])
    #expect(first.workingFolder == "/w/sub" && first.inputText == "hello")
    #expect(result["task-6"]?.needs.map(\.name) == ["task-5"])
    #expect(result["task-6"]?.restartsWhenLost == false)
    #expect(result.says("time_request", at: 15, .lost))
    #expect(problems(of: graph).isEmpty)
  }

  @Test func arrays() throws {
    let numbers = hq("[array]\nids = \"1,2,50-54:2\"\ncommand = [\"x\"]\n")
    #expect(numbers["task"]?.elements == .numbers([1, 2, 50, 52, 54]))
    #expect(problems(of: try #require(numbers.graph)).isEmpty)
    let entries = hq(
      "[array]\nentries = [\"a\", \"b\"]\ncommand = [\"x\"]\nstdout = \"o/%{TASK_ID}\"\n")
    #expect(entries["task"]?.elements == .items(["a", "b"]))
    #expect(
      entries["task"]?.work
        == .shell(
          """
          mkdir -p /w/o
          export HQ_TASK_ID="$((OP_INDEX - 1))"
          exec x > /w/o/"$((OP_INDEX - 1))"
          """))
    let both = hq("[array]\nids = \"4,9\"\nentries = [\"a\", \"b\"]\ncommand = [\"x\"]\n")
    #expect(both["task-9"]?.environment["HQ_ENTRY"] == "b")
  }

  @Test(arguments: [
    ("", "no tasks"), ("[[task]]\n", "needs a 'command'"), ("x = 1\n", "'x' is not known"),
    ("[[task]]\ncommand = \"x\"\n", "is no list"), ("data_layer = true\n", "data_layer"),
    ("[[task]]\ncommand = [\"x\"]\ndeps = [9]\n", "which is no task"),
    ("[[task]]\ncommand = [\"x\"]\n[[task.request]]\nn_nodes = 2\n", "one worker"),
    ("[[task]]\nid = 1\ncommand = [\"x\"]\n[[task]]\nid = 1\ncommand = [\"x\"]\n", "twice"),
    ("[[task]]\nid = 1\ncommand = [\"x\"]\ndeps = [1]\n", "in a circle"),
    ("[array]\nids = \"0-4294967295\"\ncommand = [\"x\"]\n", "more than"),
    ("[array]\nids = \"1\"\nentries = [\"a\", \"b\"]\ncommand = [\"x\"]\n", "equally many"),
  ]) func wrongFilesAreErrors(text: String, reason: String) {
    let result = hq(text)
    #expect(result.graph == nil)
    #expect(result.said.contains { $0.contains(reason) }, "\(result.said)")
  }

  /// A command of one word that says how a value is read.
  @Test(arguments: [
    (#""a\tb\u00e9\\""#, "a\tbé\\"), ("'c:\\x'", "c:\\x"),
    ("\"\"\"\none \\\n   two\"\"\"", "one two"), ("'''\n'x' \"\"'''", "'x' \"\""),
    ("\"\"\"a\"\"\"\"", "a\""),
  ]) func textsOfToml(written: String, meant: String) {
    #expect(hq("[[task]]\ncommand = [\(written)]")["task-0"]?.work == .words([meant]))
  }

  @Test func numbersOfToml() {
    for text in ["0x10", "1_6", "0b10000", "+16", "0o20"] {
      #expect(hq("[[task]]\nid = \(text)\ncommand=['x']")["task-16"] != nil, "\(text)")
    }
    for text in ["016", "1__6", "0x", "--1", "1.", ".5", "9223372036854775808", "\"\\u0000\""] {
      #expect(hq("[[task]]\nid = \(text)\ncommand=['x']").graph == nil, "\(text)")
    }
  }
}
