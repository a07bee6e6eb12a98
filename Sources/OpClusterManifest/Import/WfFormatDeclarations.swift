// The manifest of an imported trace whose operations declare their files: what one leaves travels
// to those that read it, and no disk is shared. Part of `WfFormatImport`. The bytes of a file
// follow from its name and from what its operation read, so that two replays can be compared byte
// by byte. Needs sh, cat, cksum, head, sleep and yes.

import OpClusterModel

extension WfFormatImport {
  /// A file of the replay: who leaves it, and its path below the folder of that in `OP_INPUTS`.
  private struct Place {
    var operation: String
    var output: String
    var path: String
  }

  /// The files that one stage-in operation makes: one, so that only that is made again when it is
  /// lost; of very many a hundred, which `Limits.outputFilesPerOperation` allows.
  private static func stagedAtOnce(of count: Int) -> Int { count <= 1_000 ? 1 : 100 }

  /// The operations, those of the initial files first.
  func declared(
    _ files: WfFormatFiles, _ trace: WfFormatTrace, _ scale: Double
  ) throws(WfFormatError) -> String {
    var used: Set<String> = []
    var places: [String: Place] = [:]
    var text = ""
    let step = Self.stagedAtOnce(of: files.initial.count)
    for first in stride(from: 0, to: files.initial.count, by: step) {
      let part = files.initial[first..<min(first + step, files.initial.count)]
      let name = Names.unique("stage-in", &used)
      let made = part.map { (name: $0.name, size: size($0.file, trace)) }
      text += "  \(name):\n"
      text += command(["set -e"] + made.map { Self.write($0.name, $0.size, from: $0.name) })
      text += leaving(made.map(\.name), of: name, &places)
    }
    let names = trace.tasks.map { Names.unique(Names.shortened($0.id), &used) }
    var texts: [String] = []
    // What is left has to be known before it is read.
    for (at, task) in trace.tasks.enumerated() {
      texts.append(leaving(files.writes[at], of: names[at], &places))
      if files.reads[at].count > Limits.inputFilesPerOperation {
        throw WfFormatError(
          "task \(task.id) reads \(files.reads[at].count) files, more than "
            + "\(Limits.inputFilesPerOperation)")
      }
    }
    for (at, task) in trace.tasks.enumerated() {
      let read = files.reads[at].compactMap { places[$0] }
      text += "  \(names[at]):\n" + needs(task.parents.map { names[$0] }, read)
      let written = zip(task.outputs, files.writes[at]).map { ($1, size($0, trace)) }
      text += work(read, written, task, scale)
      text += texts[at]
    }
    return text
  }

  private func needs(_ parents: [String], _ read: [Place]) -> String {
    var outputs: [String: [String]] = [:]
    var order: [String] = []
    for name in parents + read.map(\.operation) where outputs[name] == nil {
      outputs[name] = []
      order.append(name)
    }
    for place in read where outputs[place.operation]?.contains(place.output) == false {
      outputs[place.operation]?.append(place.output)
    }
    if order.isEmpty { return "" }
    return "    needs:\n"
      + order.map { name in
        let files = outputs[name] ?? []
        return files.isEmpty
          ? "      \(name): {}\n" : Self.wrapped("      \(name): {files: [", files, "]}\n")
      }.joined()
  }

  /// Reads all inputs, waits, and writes all outputs, as most programs do.
  private func work(
    _ read: [Place], _ written: [(name: String, size: Int)], _ task: WfFormatTrace.Task,
    _ scale: Double
  ) -> String {
    let paths = read.map { "\($0.operation)/\($0.path)" }
    let list = paths.map { "\"$OP_INPUTS/\($0)\"" }.joined(separator: " ")
    // A long list would not fit one argument of `sh -c`.
    let isLong = list.utf8.count > Self.longestText
    var lines = ["set -e"]
    if isLong {
      lines.append("sum=$(while read -r path; do cat \"$OP_INPUTS/$path\"; done | cksum)")
    } else if !paths.isEmpty {
      lines.append("sum=$(cat \(list) | cksum)")
    }
    if task.seconds * scale >= Self.shortestSleep {
      lines.append("sleep \(Self.decimal(task.seconds * scale))")
    }
    let origin = paths.isEmpty ? "" : "$sum "
    lines += written.map { Self.write($0.name, $0.size, from: origin + $0.name) }
    return command(lines) + (isLong ? Self.standardInput(paths) : "")
  }

  private static func write(_ name: String, _ size: Int, from origin: String) -> String {
    size == 0 ? ": > \(name)" : "yes \"\(origin)\" | head -c \(size) > \(name)"
  }

  private func command(_ lines: [String]) -> String {
    let text = lines.map { "      \($0)\n" }.joined()
    return "    run: |\n" + text
  }

  private static func standardInput(_ lines: [String]) -> String {
    "    stdin: |\n" + lines.map { "      \($0)\n" }.joined()
  }

  /// The key `outputs`; notes where the files are found. Of very many, each reader gets all.
  private func leaving(
    _ names: [String], of operation: String, _ places: inout [String: Place]
  ) -> String {
    if names.isEmpty { return "" }
    let areMany = names.count > Limits.outputFilesPerOperation
    for (at, name) in names.enumerated() {
      places[name] =
        areMany
        ? Place(operation: operation, output: "all", path: "all/\(name)")
        : Place(operation: operation, output: "f\(at + 1)", path: "f\(at + 1)")
    }
    if areMany { return "    outputs: {files: {all: \"*\"}}\n" }
    let pairs = names.enumerated().map { "f\($0 + 1): \($1)" }
    return Self.wrapped("    outputs: {files: {", pairs, "}}\n")
  }
}
