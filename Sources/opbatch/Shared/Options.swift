// The options of every command, and the small value types of the command line. ArgumentParser
// parses them before anything else happens. A value type returns nil for a text that it does not
// take, and ArgumentParser says which option it was.

import ArgumentParser
import OpClusterModel

/// In every command under the same names, except `import`, which has a file behind `-o`.
struct GlobalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where the coordinator is, tcp://HOST:PORT or ipc:///PATH; else what OPBATCH_COORDINATOR "
        + "or the configuration says, or the cluster of 'up'.",
      valueName: "address"))
  var coordinator: String?

  @Option(help: ArgumentHelp("Folder of your key. [OPBATCH_KEYS]", valueName: "folder"))
  var keys: String?

  @Option(name: .shortAndLong, help: "What stdout carries.")
  var output: OutputFormat = .table

  @Option(help: "Colour on terminals.")
  var color: ColorChoice = .auto

  @Option(help: ArgumentHelp("Give up after this time, such as 30s, 5m or 2h.", valueName: "time"))
  var timeout: TimeLength?

  @Flag(name: .shortAndLong, help: "Say nothing but data and errors.")
  var quiet = false

  /// A limit of nothing would end every command before its first answer.
  func validate() throws {
    if let timeout, timeout.milliseconds == 0 {
      throw ValidationError("--timeout must be longer than nothing; leave it out to wait for ever")
    }
  }
}

/// The format of stdout.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// For people.
  case table
  /// One object, versioned by its `schema`.
  case json
  /// One object a line.
  case jsonl
  /// One selector a line, for `xargs`.
  case name
}

enum ColorChoice: String, CaseIterable, ExpressibleByArgument, Sendable {
  case auto, always, never
}

/// A length of time: `500ms`, `30s`, `5m`, `2h`, `1d`; a plain number is seconds.
struct TimeLength: Equatable, Sendable, ExpressibleByArgument {
  var milliseconds: Int64
  var duration: Duration { .milliseconds(milliseconds) }

  /// The maximum: a hundred years.
  static let longest: Int64 = 100 * 365 * 24 * 3_600_000

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  init?(argument: String) {
    let digits = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let number = Double(digits), number.isFinite, number >= 0 else { return nil }
    let unit: Double
    switch argument[digits.endIndex...] {
    case "ms": unit = 1
    case "", "s": unit = 1_000
    case "m", "min": unit = 60_000
    case "h": unit = 3_600_000
    case "d": unit = 24 * 3_600_000
    default: return nil
    }
    // A longer one would not fit into the sums with the present time.
    guard number * unit <= Double(TimeLength.longest) else { return nil }
    milliseconds = Int64(number * unit)
  }

  /// For the help page.
  var defaultValueDescription: String { "\(milliseconds / 1000)s" }
}

/// `KEY=VALUE` of an option that may be repeated. The key has at least one character. The value may
/// be empty and may have further `=`.
struct Assignment: Equatable, Sendable, ExpressibleByArgument {
  var key: String
  var value: String

  init(key: String, value: String) {
    self.key = key
    self.value = value
  }

  init?(argument: String) {
    guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else { return nil }
    key = String(argument[..<sign])
    value = String(argument[argument.index(after: sign)...])
  }
}

extension [Assignment] {
  /// Converts to labels that a worker must all have.
  var requirements: [LabelRequirement] {
    map { LabelRequirement(key: $0.key, values: [$0.value]) }
  }

  /// Checks `--require` for a queue.
  func checkPool() throws(ValidationError) {
    try checkLabels()
    if Set(map(\.key)).count < count {
      throw ValidationError("--require names a label twice")
    }
  }

  /// Checks `--label` and `--require`.
  func checkLabels() throws(ValidationError) {
    guard count <= Limits.labelsPerThing else {
      throw ValidationError("more than \(Limits.labelsPerThing) labels")
    }
    for assignment in self
    where assignment.key.utf8.count > Limits.labelBytes
      || assignment.value.utf8.count > Limits.labelBytes
    {
      throw ValidationError("a label has at most \(Limits.labelBytes) bytes")
    }
  }
}

extension GlobalOptions {
  /// The defaults, for the few commands without common options.
  static var defaults: GlobalOptions {
    do {
      return try GlobalOptions.parse([])
    } catch {
      preconditionFailure("every common option can be left out: \(error)")
    }
  }
}
