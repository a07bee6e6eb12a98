// The options of `map`, named as those of GNU parallel. What their texts mean is decided in
// OpClusterOneLiners.

import ArgumentParser
import OpClusterModel
import OpClusterOneLiners
import OpClusterPresentation

/// How arguments are read and put together.
struct MapInputOptions: ParsableArguments {
  @Option(
    name: [.customShort("a", allowingJoined: true), .customLong("arg-file")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Arguments from a file, a line each; may be repeated.", valueName: "file"),
    completion: .file())
  var argumentFiles: [String] = []

  @Flag(name: [.customShort("0"), .customLong("null")], help: "Arguments end with NUL.")
  var endsWithNull = false

  @Option(
    name: [.customShort("d", allowingJoined: true), .long], parsing: .unconditional,
    help: ArgumentHelp("What an argument ends with: one character, \\t or \\0.", valueName: "text"))
  var delimiter: String?

  @Option(
    name: [.customShort("C", allowingJoined: true), .long], parsing: .unconditional,
    help: ArgumentHelp(
      "A regular expression between the columns of a line, {1} {2} ….", valueName: "regexp"))
  var colsep: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "':' if the first argument of each source is its name, as in {name}.", valueName: ":"))
  var header: String?

  @Flag(help: "Read the sources side by side, not all with all.")
  var link = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Take blanks off: n, l (left), r or lr.", valueName: "side"))
  var trim: String?

  @Flag(name: [.customShort("r"), .customLong("no-run-if-empty")], help: "Leave empty lines out.")
  var skipsEmpty = false

  @Option(
    name: [.customShort("E", allowingJoined: true)], parsing: .unconditional,
    help: ArgumentHelp("The argument that ends the input.", valueName: "text"))
  var end: String?

  @Option(
    name: [
      .customShort("n", allowingJoined: true), .customShort("N", allowingJoined: true),
      .customShort("L", allowingJoined: true), .customLong("max-args"),
      .customLong("max-replace-args"), .customLong("max-lines"),
    ],
    help: ArgumentHelp("So many arguments a job; 0 inserts none.", valueName: "count"))
  var perJob: Int?

  @Flag(name: [.customShort("m")], help: "As many arguments as fit into a job.")
  var fillsValues = false

  @Flag(
    name: [.customShort("X")],
    help: "As -m; words with a replacement string are repeated for each.")
  var fillsWords = false

  @Option(
    name: [.customShort("s", allowingJoined: true), .customLong("max-chars")],
    help: ArgumentHelp("The bytes of a command for -m and -X.", valueName: "count"))
  var mostBytes: Int?

  @Option(
    name: [.customShort("I", allowingJoined: true)], parsing: .unconditional,
    help: ArgumentHelp("What stands for {}.", valueName: "text"))
  var replacement: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("What stands for :::.", valueName: "text"))
  var argSep = ":::"

  @Option(
    parsing: .unconditional, help: ArgumentHelp("What stands for ::::.", valueName: "text"))
  var argFileSep = "::::"

  @Flag(name: .shortAndLong, help: "The command's words reach it as typed: no shell reads them.")
  var quote = false

  /// What is read, and how.
  func rowSettings() throws(Failure) -> RowSettings {
    var rows = RowSettings()
    rows.columnSeparator = colsep
    if let header {
      guard header == ":" || header == "1" else {
        throw .usage("--header is ':' here", hint: "take other lines off first: tail -n +3 FILE")
      }
      rows.hasHeader = true
    }
    rows.linksAll = link
    switch trim {
    case nil, "n": break
    case "l", "r", "lr": rows.trims = trim ?? ""
    case "rl": rows.trims = "lr"
    default: throw .usage("--trim is n, l, r or lr")
    }
    // Columns come without blanks around them, as in parallel.
    if colsep != nil, trim == nil { rows.trims = "lr" }
    rows.skipsEmpty = skipsEmpty
    rows.end = end
    return rows
  }

  /// The byte that ends an argument.
  func delimiterByte() throws(Failure) -> UInt8 {
    if endsWithNull { return 0 }
    guard let delimiter else { return UInt8(ascii: "\n") }
    let known: [String: UInt8] = ["\\0": 0, "\\n": 0x0a, "\\t": 0x09, "\\r": 0x0d]
    if let byte = known[delimiter] { return byte }
    guard delimiter.utf8.count == 1, let byte = delimiter.utf8.first else {
      throw .usage(
        "-d takes one character here",
        hint: "change it before: sed 's/…/\\n/g' FILE | opbatch map …")
    }
    return byte
  }

  /// How many arguments a job has.
  ///
  /// - Parameter places: Among how many jobs a rest is shared.
  func batchSize(places: Int) throws(Failure) -> JobBatches.Size {
    if let perJob, !(0...Limits.oneLinersPerGraph).contains(perJob) {
      throw .usage("-n and -N are 0 to \(Limits.oneLinersPerGraph)")
    }
    guard fillsValues || fillsWords else { return .rows(perJob ?? 1) }
    let most = Limits.elementArgumentBytes / 2
    if let mostBytes, !(1...most).contains(mostBytes) { throw .usage("-s is 1 to \(most)") }
    return .fitting(
      bytes: mostBytes ?? most, rows: max(1, perJob ?? Limits.oneLinersPerGraph), places: places)
  }
}

/// How jobs run.
struct MapJobOptions: ParsableArguments {
  @Option(
    name: [
      .customShort("j", allowingJoined: true), .customShort("P", allowingJoined: true), .long,
    ],
    parsing: .unconditional,
    help: ArgumentHelp(
      "Jobs at once in the whole cluster: a number, 0, +1, -1 or 50%; else what fits.",
      valueName: "count"))
  var jobs: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("When to start nothing more, such as now,fail=1.", valueName: "rule"))
  var halt: String?

  @Option(help: ArgumentHelp("How often a job is tried in all.", valueName: "count"))
  var retries: UInt32?

  @Option(help: ArgumentHelp("The longest time of a job, such as 30s or 5m.", valueName: "time"))
  var timeout: TimeLength?

  @Option(help: ArgumentHelp("The time between two starts.", valueName: "time"))
  var delay: TimeLength?

  @Option(
    name: [.customLong("wd"), .customLong("workdir")],
    help: ArgumentHelp(
      "The folder that jobs run in; ... is a new one for each.", valueName: "folder"),
    completion: .directory)
  var folder: String?

  @Option(
    name: .customLong("env"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A variable for the jobs; the value is ours if not given. May be repeated.",
      valueName: "name[=value]"))
  var environment: [String] = []
}

/// What is told and written.
struct MapOutputOptions: ParsableArguments {
  @Flag(name: [.customShort("k"), .long], help: "Output in the order of the input.")
  var keepOrder = false

  @Flag(help: "Begin each line with the job's arguments and a tab.")
  var tag = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Begin each line with this, such as {1}-{#}, and a tab.", valueName: "text"))
  var tagstring: String?

  @Flag(help: "Output of a job together, at its end; the default.") var group = false
  @Flag(
    name: [.customLong("linebuffer"), .customLong("line-buffer"), .customLong("lb")],
    help: "Output as it comes, by whole lines.")
  var linebuffer = false
  @Flag(name: [.customShort("u"), .long], help: "Output as it comes.") var ungroup = false

  @Option(
    help: ArgumentHelp("A line for each job that ended.", valueName: "file"), completion: .file())
  var joblog: String?

  @Flag(help: "Leave out jobs that the --joblog has.") var resume = false
  @Flag(help: "As --resume; those that failed run again.") var resumeFailed = false

  @Option(
    help: ArgumentHelp("Keep outputs in files below this folder.", valueName: "folder"),
    completion: .directory)
  var results: String?

  @Flag(
    name: [.customLong("bar"), .customLong("progress"), .customLong("eta")],
    help: "Tell how far it is, on a terminal.")
  var bar = false

  @Flag(name: [.customLong("dry-run"), .customLong("dryrun")], help: "Print the commands only.")
  var dryRun = false

  @Flag(
    name: [.customShort("t"), .customShort("v"), .long],
    help: "Print each command before its output.")
  var verbose = false

  @Flag(name: [.customLong("will-cite"), .customLong("no-notice")], help: .hidden)
  var ignored = false
}

/// As the common options of all commands, save that `-q` and `--timeout` are parallel's.
struct MapCommonOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where the coordinator is, tcp://HOST:PORT or ipc:///PATH.", valueName: "address"))
  var coordinator: String?

  @Option(help: ArgumentHelp("Folder of your key. [OPBATCH_KEYS]", valueName: "folder"))
  var keys: String?

  @Option(help: "Colour on terminals.") var color: ColorChoice = .auto

  @Flag(help: "Say nothing but data and errors.") var quiet = false

  var global: GlobalOptions {
    var global = GlobalOptions.defaults
    global.coordinator = coordinator
    global.keys = keys
    global.color = color
    global.quiet = quiet
    return global
  }
}
