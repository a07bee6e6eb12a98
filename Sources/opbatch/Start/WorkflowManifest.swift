// A workflow written as a manifest: one operation a task. Pure text.

import OpClusterModel
import OpClusterPresentation

struct WorkflowManifest {
  let workflow: Workflow
  /// nil: run the recorded programs.
  let sleepFactor: Double?
  let asksForResources: Bool

  var text: String {
    var names = OperationNames()
    for task in workflow.tasks { names.add(task.id) }
    var text = "# Imported from WfFormat: \(workflow.name.filter { !$0.isNewline })\n"
    text += "version: 1\nname: \(quoted(OperationNames.sanitised(workflow.name)))\n"
    text += "operations:\n"
    for task in workflow.tasks {
      text += "  \(names[task.id]):\n"
      if !task.parents.isEmpty {
        text += "    needs: [\(task.parents.map { names[$0] }.joined(separator: ", "))]\n"
      }
      text += "    run: \(run(task))\n"
      if let resources = resources(task) { text += "    resources: {\(resources)}\n" }
    }
    return text
  }

  private func run(_ task: Workflow.Task) -> String {
    if let sleepFactor {
      let milliseconds = Int64((task.seconds * sleepFactor * 1_000).rounded())
      let rest = String(1_000 + milliseconds % 1_000).dropFirst()
      return "[sleep, \"\(milliseconds / 1_000).\(rest)\"]"
    }
    let words = task.command.isEmpty ? ["true"] : task.command
    return "[\(words.map(quoted).joined(separator: ", "))]"
  }

  private func resources(_ task: Workflow.Task) -> String? {
    guard asksForResources else { return nil }
    var parts: [String] = []
    if let cpus = task.cpus, cpus.isFinite, (1...1e6).contains(cpus) {
      parts.append("cpus: \(Int64(cpus.rounded(.up)))")
    }
    if let bytes = task.memoryBytes, bytes > 0 {
      parts.append("memory: \((bytes + (1 << 20) - 1) >> 20)MiB")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// A YAML text in double quotes, which is a JSON text; `${{` would be a substitution.
  private func quoted(_ text: String) -> String {
    var json = JSONText()
    json.value(text.replacing("${{", with: "$ {{"))
    return json.text
  }
}

/// Gives each task a name that an operation can have, and no other task has.
struct OperationNames {
  private var names: [String: String] = [:]
  private var taken: Set<String> = []

  mutating func add(_ id: String) {
    guard names[id] == nil else { return }
    let base = Self.sanitised(id)
    var name = base
    var number = 2
    while !taken.insert(name).inserted {
      name = "\(base.prefix(Limits.nameBytes - 8))_\(number)"
      number += 1
    }
    names[id] = name
  }

  subscript(_ id: String) -> String { names[id] ?? "unknown" }

  static func sanitised(_ text: String) -> String {
    var result = ""
    for byte in text.utf8.prefix(Limits.nameBytes - 1) {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: "."):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default: result += "_"
      }
    }
    // Words that YAML or the shell could take for something else begin with a letter.
    let begins = result.first.map { $0.isLetter || $0 == "_" } ?? false
    return begins ? result : "_" + result
  }
}
