// `opbatch import wfformat`: writes a manifest that replays a recorded run with its dependencies,
// scaled run times, and small files in place of its data. The replay needs only sh, cat, head and
// sleep. Called by the command; pure.
// Times shrink so that the whole replay is a demonstration: seconds, whatever the record was.

import OpClusterModel

/// Turns a WfCommons trace (WfFormat 1.4 and 1.5) into a manifest.
/// The manifest is text for people to read and change, not the fastest form of the graph.
public struct WfFormatImport: Sendable {
  /// Seconds of the replay per second of the trace. nil: the scale, at most 1, that keeps the
  /// longest path within 5 s and all tasks together within 60 s.
  public var timeScale: Double?
  /// Bytes written per byte of the trace.
  public var sizeScale: Double
  /// Maximum size of a file in bytes.
  public var maximumFileBytes: Int
  /// Operations declare the files that they read and leave, so that no disk has to be shared
  /// (`WfFormatDeclarations`). Else all of them work in one folder.
  public var declaresFiles = false
  /// Runs the recorded commands in place of a replay (`WfFormatCommands`).
  public var runsCommands = false

  /// The defaults keep a replay small enough for a laptop.
  public init(
    timeScale: Double? = nil, sizeScale: Double = 0.01, maximumFileBytes: Int = 64 * 1024
  ) {
    self.timeScale = timeScale
    self.sizeScale = sizeScale
    self.maximumFileBytes = maximumFileBytes
  }

  /// Waits shorter than this many seconds are left out.
  /// Starting `sleep` itself takes about as long.
  static let shortestSleep = 0.005
  /// A longer text goes in through stdin: Linux limits one argument to 128 KiB.
  static let longestText = 60_000
  /// Maximum bytes of the list of one stage-in operation.
  private static let longestList = 120_000

  /// Returns the YAML text. `name` is the graph's name; nil takes the trace's.
  ///
  /// - Throws: `WfFormatError` if the trace cannot be imported.
  public func manifest(of bytes: [UInt8], name: String? = nil) throws(WfFormatError) -> String {
    let trace = try WfFormatTrace(bytes)
    guard let critical = trace.criticalSeconds else {
      throw WfFormatError("its parents go round in a circle")
    }
    let total = trace.tasks.reduce(0) { $0 + $1.seconds }
    // Two bounds: the longest path by wall time, and all tasks by work. An empty trace of times
    // divides by a tiny number instead of 0.
    let scale = timeScale ?? min(1, 5 / max(critical, 1e-9), 60 / max(total, 1e-9))
    guard scale.isFinite, scale >= 0, sizeScale.isFinite, sizeScale >= 0, maximumFileBytes >= 0
    else { throw WfFormatError("a scale must be a number from 0 on") }
    let name = Names.sanitised(name ?? trace.name)
    if runsCommands { return try commands(trace, name, scale) }
    var used: Set<String> = []
    let files = WfFormatFiles(trace)
    if declaresFiles {
      return try header(trace, name, scale) + declared(files, trace, scale)
    }
    let stages = stageIn(files.initial, trace, &used)
    let names = trace.tasks.map { Names.unique(Names.shortened($0.id), &used) }
    var text = header(trace, name, scale)
    text += stages.map { $0.text }.joined()
    // In the order of the trace; the manifest may name operations before they are written.
    for (at, task) in trace.tasks.enumerated() {
      // Only roots wait for the stage-in: all other tasks are behind a root.
      let needs = task.parents.isEmpty ? stages.map { $0.name } : task.parents.map { names[$0] }
      text += "  \(names[at]):\n"
      text += Self.wrapped("    needs: [", needs, "]\n")
      text += command(files.reads[at], files.writes[at], task, trace, scale)
    }
    return text
  }

  /// Everything that the replay depends on besides the tasks: the parameter for the folder, and the
  /// working folder.
  private func header(_ trace: WfFormatTrace, _ name: String, _ scale: Double) -> String {
    let place = """
      params:
        folder: {type: path, default: \(name).files, help: Where the files of the replay are}
      defaults: {workdir: .}

      """
    return """
      # A replay of a recorded run: \(trace.tasks.count) tasks, their dependencies as they were.
      # A second of the record takes \(Self.decimal(scale)) s, files are scaled.
      version: 1
      name: \(name)
      \(declaresFiles ? "defaults: {shell: sh}\n" : place)operations:

      """
  }

  /// Returns the operations that make the folder and the initial files.
  /// Several operations if the list is too long for one standard input. All of them make the
  /// folder, since none is first.
  private func stageIn(
    _ initial: [(name: String, file: String)], _ trace: WfFormatTrace,
    _ used: inout Set<String>
  ) -> [(name: String, text: String)] {
    var lists: [[String]] = [[]]
    var length = 0
    for (name, file) in initial {
      let line = "\(size(file, trace)) \(name)"
      if length + line.utf8.count > Self.longestList {
        lists.append([])
        length = 0
      }
      lists[lists.count - 1].append(line)
      length += line.utf8.count + 1
    }
    return lists.map { lines in
      let name = Names.unique("stage-in", &used)
      var text = """
          \(name):
            run: |
              set -e
              mkdir -p ${{ params.folder }}
              cd ${{ params.folder }}
              while read -r size name; do head -c "$size" /dev/zero > "$name"; done

        """
      if !lines.isEmpty {
        text += "    stdin: |\n" + lines.map { "      \($0)\n" }.joined()
      }
      return (name, text)
    }
  }

  /// Reads all inputs, waits, and writes all outputs, as most programs do.
  private func command(
    _ reads: [String], _ writes: [String], _ task: WfFormatTrace.Task, _ trace: WfFormatTrace,
    _ scale: Double
  ) -> String {
    var lines = ["set -e", "cd ${{ params.folder }}"]
    let list = reads.joined(separator: " ")
    // A long list would not fit one argument of `sh -c`.
    let isLong = list.utf8.count > Self.longestText
    if isLong {
      lines.append("while read -r name; do cat \"$name\" > /dev/null; done")
    } else if !reads.isEmpty {
      lines.append("cat \(list) > /dev/null")
    }
    if task.seconds * scale >= Self.shortestSleep {
      lines.append("sleep \(Self.decimal(task.seconds * scale))")
    }
    for (file, name) in zip(task.outputs, writes) {
      lines.append("head -c \(size(file, trace)) /dev/zero > \(name)")
    }
    var text = "    run: |\n" + lines.map { "      \($0)\n" }.joined()
    if isLong { text += "    stdin: |\n" + reads.map { "      \($0)\n" }.joined() }
    return text
  }

  /// Bytes of a file in the replay; 0 only if the trace's file is empty.
  /// An unknown size counts as 1 KiB.
  func size(_ file: String, _ trace: WfFormatTrace) -> Int {
    let original = trace.sizes[file] ?? 1024
    if original == 0 { return 0 }
    return max(1, min(Int(saturating: original * sizeScale), maximumFileBytes))
  }

  /// Formats a number with at most six decimals and without an exponent.
  /// Without an exponent, since `sleep` does not read one. Values are cut at 10⁹.
  static func decimal(_ value: Double) -> String {
    let millionths = Int64(saturating: min(value, 1e9) * 1_000_000 + 0.5)
    let fraction = String(millionths % 1_000_000 + 1_000_000).dropFirst()
    let digits = fraction.reversed().drop { $0 == "0" }.reversed()
    let whole = String(millionths / 1_000_000)
    return digits.isEmpty ? whole : whole + "." + String(digits)
  }

  /// Writes a flow list over several lines.
  /// Lines of at most 100 columns, so that a task with many parents stays readable.
  static func wrapped(_ start: String, _ names: [String], _ end: String) -> String {
    var text = start
    var column = start.count
    for (at, name) in names.enumerated() {
      if at > 0 {
        text += ","
        let breaks = column + name.count > 96
        text += breaks ? "\n      " : " "
        column = breaks ? 6 : column + 2
      }
      text += name
      column += name.count
    }
    return text + end
  }
}

extension Names {
  /// Shortens a name to leave room for an appended number.
  static func shortened(_ text: String) -> String { String(sanitised(text).prefix(112)) }
}
