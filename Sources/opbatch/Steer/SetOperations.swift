// `opbatch set`: changes the priority or queue of operations that have not started. Each selector
// and setting is one request; those that workers hold are recalled first by the coordinator (S34,
// S52). `ChangeSummary` sends and counts.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Needs the right to change the graphs (G36). Operations that have started are counted as
/// unchanged and are no error.
struct SetOperations: Command {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change the priority or the queue of operations.",
    usage: "opbatch set <selector> ... [priority=<level>] [queue=<name>] [<options>]",
    discussion: """
      Levels are very-low, low, normal, high and very-high. What changes its queue goes to the \
      end of the other; what has started stays where it is. For queues there is \
      'opbatch queue set'.

      Examples:
        opbatch set 12/align priority=high
        opbatch set '12/align*' 13 queue=big priority=low
      """)

  @Argument(
    help: ArgumentHelp("Selectors, and what to set: key=value.", valueName: "selector|key=value"))
  var words: [String]
  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Words are parsed twice, here and in `perform`, so that a wrong one ends with 64 and a usage
  /// line.
  func validate() throws {
    do throws(Failure) {
      let (selectors, settings) = try Self.parse(words)
      if selectors.isEmpty { throw .usage("no selector says what to change") }
      if settings == OperationSettings() {
        throw .usage("nothing to change: give priority=LEVEL or queue=NAME")
      }
    } catch {
      throw ValidationError(error.hint.isEmpty ? error.message : "\(error.message): \(error.hint)")
    }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    let (selectors, settings) = try Self.parse(words)
    guard let queue = settings.queue else {
      return try await changeOperations(selectors, filters, verb: "changed", console) {
        settings.requests($0)
      }
    }
    // The refusal may be about the queue's name, of which only a list of queues knows a near one.
    do {
      return try await changeOperations(selectors, filters, verb: "changed", console) {
        settings.requests($0)
      }
    } catch let error as ClientError {
      // Request the names of the queues only after a refusal.
      return try await withConnection { connection in
        try await namingQueue(queue, connection) { throw error }
      }
    }
  }

  /// Splits words: those with a `=` are settings, the others selectors. A word with a `=` is a
  /// setting, so that an operation with a `=` in its name needs a pattern.
  static func parse(
    _ words: [String]
  ) throws(Failure) -> (selectors: [String], settings: OperationSettings) {
    var selectors: [String] = []
    var settings = OperationSettings()
    for word in words {
      guard word.contains("=") else {
        selectors.append(word)
        continue
      }
      guard let assignment = Assignment(argument: word) else {
        throw .usage("'\(safe(word))' is not key=value")
      }
      try settings.take(assignment)
    }
    return (selectors, settings)
  }
}

/// The changes of `set`; nil leaves a value unchanged. Words and their values, as the command line
/// has them. Pure.
struct OperationSettings: Equatable {
  var priority: Priority?
  var queue: String?

  private static let keys = ["priority", "queue"]

  /// A later setting of the same key wins. A number is pulled to the nearest level toward normal
  /// (S48).
  mutating func take(_ assignment: Assignment) throws(Failure) {
    switch assignment.key {
    case "priority":
      let words = Priority.allCases.map(\.word)
      // Numbers are for those who come from Foundation, whose priorities are numbers.
      if let number = Int(assignment.value) {
        priority = Priority(normalising: number)
      } else if let level = Priority.allCases.first(where: { $0.word == assignment.value }) {
        priority = level
      } else {
        throw .usage(
          "'\(safe(assignment.value))' is not a priority",
          hint: nearest(assignment.value, among: words).map { "did you mean '\($0)'?" }
            ?? "one of " + words.joined(separator: ", "))
      }
    case "queue":
      // The coordinator knows whether the queue exists.
      guard (1...Limits.nameBytes).contains(assignment.value.utf8.count) else {
        throw .usage("a queue's name has 1 to \(Limits.nameBytes) bytes")
      }
      queue = assignment.value
    default:
      throw .usage(
        "there is no setting '\(safe(assignment.key))'",
        hint: nearest(assignment.key, among: Self.keys).map { "did you mean '\($0)'?" }
          ?? "settings are " + Self.keys.joined(separator: " and "))
    }
  }

  /// The queue comes first, since it may be refused. One or two requests. The second is not sent if
  /// the first is refused, so that no selector is changed by half for a mistyped queue.
  func requests(_ target: OperationTarget) -> [ClientRequest] {
    let move = queue.map { ClientRequest.setQueue(target, queue: $0) }
    let raise = priority.map { ClientRequest.setPriority(target, $0) }
    return [move, raise].compactMap { $0 }
  }
}
