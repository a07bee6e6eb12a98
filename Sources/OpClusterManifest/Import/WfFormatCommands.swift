// The manifest of an imported trace that runs what was recorded: the commands of its tasks, in one
// folder, in their order. A task without a command waits for as long as it took. Part of
// `WfFormatImport`.

import OpClusterModel

extension WfFormatImport {
  /// Lines for people at the begin of the manifest, and the operations.
  func commands(
    _ trace: WfFormatTrace, _ name: String, _ scale: Double
  ) throws(WfFormatError) -> String {
    var used: Set<String> = []
    let names = trace.tasks.map { Names.unique(Names.shortened($0.id), &used) }
    let recorded = trace.tasks.count { !$0.command.isEmpty }
    var text = """
      # The commands of a recorded run: \(recorded) of \(trace.tasks.count) tasks have one.
      # The others wait; a second of the record takes \(Self.decimal(scale)) s for them.
      version: 1
      name: \(name)
      defaults: {workdir: .}
      operations:

      """
    for (at, task) in trace.tasks.enumerated() {
      text += "  \(names[at]):\n"
      if !task.parents.isEmpty {
        text += Self.wrapped("    needs: [", task.parents.map { names[$0] }, "]\n")
      }
      let words =
        task.command.isEmpty ? ["sleep", Self.decimal(task.seconds * scale)] : task.command
      if words.contains(where: { $0.contains("${{") || $0.utf8.contains(0) }) {
        throw WfFormatError("the command of the task '\(task.id)' holds '${{' or a zero byte")
      }
      text += "    run: [\(words.map(Self.quoted).joined(separator: ", "))]\n"
    }
    return text
  }

  /// Between double quotes, in escapes that YAML and JSON share.
  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.canSteerTerminal:
        let digits = String(scalar.value, radix: 16)
        result += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
