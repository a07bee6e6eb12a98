// `opbatch page`: the cluster in a browser. `opweb`, which lies beside this program, serves it;
// this finds the cluster as every command does, and becomes that program.

import ArgumentParser
import OpClusterClient
import OpClusterSystem

/// Needs the right to read (G36); buttons need what they do.
struct OpenPage: Command {
  static let configuration = CommandConfiguration(
    commandName: "page",
    abstract: "Look at the cluster in a browser.",
    discussion: """
      Prints a link and serves what it shows until Ctrl-C: the overview, graphs, workers, queues, \
      live. Whoever has the link can do what your key can; with --read-only, only look. From \
      another machine: ssh -L 7480:127.0.0.1:7480 HOST, and --port 7480. 'opweb' serves it for long.

      Example: opbatch page
      """)

  @Option(help: "The port on this machine; 0 chooses a free one.") var port: UInt16 = 0
  @Flag(help: "Show no buttons.") var readOnly = false
  @Flag(help: "Do not open a browser, where there is a desktop.") var noBrowser = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func validate() throws {
    if global.output != .table { throw ValidationError("page is for people; 'ls' is for programs") }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    // Errors of the address and the key are told by this command, in its words.
    let address = try await withConnection { $0.address }
    let program = try ClusterFolder.executable("opweb")
    var words = [program, "--listen", "127.0.0.1:\(port)", "--coordinator", address]
    if let keys = global.keys { words += ["--keys", keys] }
    if readOnly { words.append("--read-only") }
    if !noBrowser { words.append("--open") }
    throw Failure(
      .inputOutput, code: "cannot_start",
      "cannot start \(program): \(OwnProcess.become(words))",
      hint: "install it next to this program")
  }
}
