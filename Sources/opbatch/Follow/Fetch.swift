// `opbatch fetch`: brings files that operations have left to here. They come from the workers that
// have them, not through the coordinator. `FetchPlan` says where each goes; it is pure.

import ArgumentParser
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Needs the right to read (G36), and a way to the workers.
struct Fetch: Command {
  static let configuration = CommandConfiguration(
    abstract: "Bring files that operations have left to here.",
    discussion: """
      One file of one operation becomes FILE, or a file of its name. Several become \
      OPERATION/INDEX/NAME in that folder. Nothing that is there is replaced without --replace. \
      With -o - one file goes to standard output.

      Examples:
        opbatch fetch 12/merge
        opbatch fetch 12/merge vcf -o all.vcf
        opbatch fetch 12/align bam -o results
        opbatch fetch 12/count table -o - | head
      """)

  @Argument(help: ArgumentHelp("12/merge, 12/align/3, last.", valueName: "selector"))
  var selector: String

  @Argument(
    help: ArgumentHelp("Only these outputs, as the manifest names them.", valueName: "name"))
  var names: [String] = []

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp(
      "Where they go: a file, a folder for several, or - for standard output.", valueName: "path"),
    completion: .file())
  var target: String?

  @Flag(help: "Replace files that are there.") var replace = false

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var place: ConnectionOptions

  var global: GlobalOptions { place.global }

  /// What has not come as a whole is removed before the command ends.
  static var handlesInterrupts: Bool { true }

  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try filters.selection(selector)
    return try await withConnection { connection in
      let reader = reader(connection)
      let end = try await follow(console, timeout: global.timeout?.duration) {
        try await reader.naming(selector, selection) {
          try await fetch(selection, reader, connection, console)
        }
      }
      switch end {
      case .finished: return .success
      case .interrupted:
        console.say("not everything was fetched; what is there is whole")
        return .interrupted
      case .timedOut:
        console.say("the time is up, and not everything was fetched; what is there is whole")
        return .timedOut
      }
    }
  }

  private func fetch(
    _ selection: Selection, _ reader: Reader, _ connection: ClusterConnection, _ console: Console
  ) async throws {
    var files: [LeftFile] = []
    let operations = try await reader.leftFiles(selection) { files += $0 }
    if operations == 0 { throw await reader.nothing(selector, selection) }
    let wanted = try chosen(files)
    if target == "-" { return try await show(wanted, connection, console) }
    let plan = FetchPlan(wanted, operations: operations, target: target)
    try refuseReplacing(plan)
    for (file, path) in plan.files {
      try makeRoom(for: path)
      do throws(ClientError) {
        try await connection.write(
          file.file.content, to: path, isExecutable: file.file.isExecutable, replaces: replace)
      } catch {
        console.say("\(safe(path)) was not fetched")
        throw error
      }
      console.say("\(safe(path))  \(shownSize(file.file.content.size))")
    }
  }

  /// Writes one file to standard output, when it is here as a whole.
  private func show(
    _ files: [LeftFile], _ connection: ClusterConnection, _ console: Console
  ) async throws {
    guard let file = files.first, files.count == 1 else {
      throw Failure(
        .badInput, code: "several_files",
        "\(files.count) files cannot go to standard output together",
        hint: "name one of them: opbatch fetch \(safe(selector)) \(safe(files[0].file.name)) -o -")
    }
    let data = try await connection.data(of: file.file.content)
    let step = 1 << 20
    for start in stride(from: 0, to: data.count, by: step) {
      let piece = data[data.startIndex + start..<data.startIndex + min(start + step, data.count)]
      // A terminal is shown text, and cannot be steered by it; a pipe gets the bytes as they are.
      if console.outputIsTerminal {
        try console.write(String(decoding: piece, as: UTF8.self))
      } else {
        try console.write(bytes: [UInt8](piece))
      }
    }
  }

  /// Those with the wanted names, all if there are no names.
  private func chosen(_ files: [LeftFile]) throws(Failure) -> [LeftFile] {
    let known = Set(files.map(\.file.name))
    for name in names where !known.contains(name) {
      let near = nearest(name, among: known.sorted()).map { "did you mean '\(safe($0))'?" }
      throw Failure(
        .nothingSelected, code: "no_such_file",
        "'\(safe(selector))' has left no file '\(safe(name))'",
        hint: near ?? "'opbatch files \(safe(selector))' lists what there is")
    }
    if files.isEmpty {
      throw Failure(
        .nothingSelected, code: "no_such_file", "'\(safe(selector))' has left no files",
        hint: "operations leave what the manifest declares as outputs: {files: ...}")
    }
    return names.isEmpty ? files : files.filter { names.contains($0.file.name) }
  }

  /// All are looked at before the first is fetched.
  private func refuseReplacing(_ plan: FetchPlan) throws(Failure) {
    for (_, path) in plan.files {
      guard let kind = FileKind(of: path) ?? FileKind(ofTarget: path) else { continue }
      if replace, kind.isFile { continue }
      throw Failure(
        .badInput, code: "file_exists",
        kind == .folder
          ? "\(safe(path)) is a folder" : "\(safe(path)) is there already",
        hint: kind.isFile ? "--replace replaces it" : "-o names another place")
    }
  }

  private func makeRoom(for path: String) throws(Failure) {
    do throws(SystemError) {
      try FileTree.makeParents(of: path)
    } catch {
      throw Failure(.inputOutput, code: "cannot_write", safe(error.description))
    }
  }
}

/// The common options but for `-o`, which is a file here.
struct ConnectionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where the coordinator is, tcp://HOST:PORT or ipc:///PATH.", valueName: "address"))
  var coordinator: String?

  @Option(help: ArgumentHelp("Folder of your key. [OPBATCH_KEYS]", valueName: "folder"))
  var keys: String?

  @Option(help: ArgumentHelp("Give up after this time, such as 30s, 5m or 2h.", valueName: "time"))
  var timeout: TimeLength?

  @Flag(name: .shortAndLong, help: "Say nothing but data and errors.")
  var quiet = false

  var global: GlobalOptions {
    var global = GlobalOptions.defaults
    global.coordinator = coordinator
    global.keys = keys
    global.timeout = timeout
    global.quiet = quiet
    return global
  }
}

/// Where fetched files go. Names were checked when they were decoded: none leaves its folder.
struct FetchPlan {
  private(set) var files: [(file: LeftFile, path: String)] = []

  /// - Parameters:
  ///   - operations: The number of selected operations, also of those without files.
  ///   - target: A file for a single file; a folder for several; nil: here.
  init(_ wanted: [LeftFile], operations: Int, target: String?) {
    if let only = wanted.first, wanted.count == 1, only.file.path.isEmpty, operations == 1 {
      files = [(only, target ?? only.file.name)]
      return
    }
    let root = target.map { $0.hasSuffix("/") ? $0 : $0 + "/" } ?? ""
    files = wanted.map { wanted in
      var path = root
      if operations > 1 {
        path += "\(wanted.operation.name ?? "graph")/"
        if let element = wanted.operation.element { path += "\(element)/" }
      }
      path += wanted.file.name
      if !wanted.file.path.isEmpty { path += "/\(wanted.file.path)" }
      return (wanted, path)
    }
  }
}
