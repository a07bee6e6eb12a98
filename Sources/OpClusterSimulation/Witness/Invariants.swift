// The invariants of Simulation.md in one table: what is meant, which file looks, and when. A
// test reads the files and finds each name there.

/// One invariant that the simulated world watches.
public struct Invariant: Sendable {
  /// As in Simulation.md, or the number of a rule of behaviour.
  public var name: String
  public var meaning: String
  /// In the folder of this target.
  public var file: String
  public var when: String

  /// Judged is only what is durable or was sent: what a crash takes back was never there.
  public static let all: [Invariant] = [
    of("I1", "an acknowledged key is known, with the same graph", "Witness/Checks", everyRecovery),
    of(
      "I2", "one end per operation, and nothing told changes", "Witness/BookEvents", "every event"),
    of("I3", "an accepted end is that of the present attempt", "Witness/BookRecords", everyCommit),
    of("I4", "no start before the dependencies", "Witness/BookLaunches", everyLaunch),
    of("I5", "everything ends once nothing goes wrong any more", "Faults/Nemesis", "in the end"),
    of("I6", "a key has one graph", "Witness/BookRecords", everyCommit),
    of("I7", "an attempt runs in one session", "Witness/BookLaunches", everyLaunch),
    of("I8", "no start of what was lost before the welcome", "Witness/BookLaunches", everyLaunch),
    of("I9", "a session starts an attempt once", "Witness/BookLaunches", everyLaunch),
    of(
      "I10", "the journal replayed is the living state", "Witness/Checks",
      "every 50 events, recovery"),
    of("I11", "queues and messages are bounded", "Witness/Checks", "every message, every 8th turn"),
    of("I12", "what runs fits into the worker", "Witness/Checks", everyLaunch),
    of("I13", "an exclusive operation has one process tree", "Witness/Checks", everyLaunch),
    of(
      "I14", "losses are counted, real ones, up to the limit", "Witness/BookEvents", "every event"),
    of("I15", "events have no gaps", "Witness/BookEvents", "every event"),
    of("I16", "who is eligible goes by level and place", "Witness/BookOrder", everyCommit),
    of("I17", "nothing runs on of what has durably ended", "Witness/Checks", everyCommit),
    of("I18", "buffered bytes are bounded", "Witness/Checks", "every 8th turn"),
    of("I19", "nothing leaves before it is durable", "Witness/Checks", "every effect"),
    of("G1", "what was durable is there after a crash", "Witness/Checks", "every start"),
    of("G3", "no event without a record", "Witness/Checks", "every turn"),
    of("G6", "a rotten record of the world's disk is refused", "Faults/Nemesis", "every rot"),
    of(
      "G12", "who was told more than a restored journal knows is told so, and not welcomed",
      "Witness/Checks", "every start and welcome"),
    of(
      "G24", "who was told no more than it goes on", "Witness/Checks", "every refusal"),
    of("G20", "an answered cancellation is durable", "Witness/Checks", "every answer"),
    of("G22", "no false loss", "Witness/Checks", "every loss"),
    of("G30", "no busy loop", "World/CoordinatorShell", "every turn"),
    of("G32", "another version is told so", "Faults/Nemesis", "every stranger"),
    of("S12", "what must not run twice does not", "Witness/BookLaunches", everyLaunch),
    of("S63", "limits of queues hold", "Witness/BookLaunches", everyLaunch),
    of("S72", "nothing starts in what is suspended", "Witness/BookLaunches", everyLaunch),
    of("S77", "barriers hold", "Witness/BookLaunches", everyLaunch),
    of(
      "S91", "nothing starts after its cancellation was answered", "Witness/BookLaunches",
      everyLaunch),
    of("S105", "counts of queues are right", "Witness/BookEvents", "every event"),
    of(
      "S147", "nothing starts after its loss, or without a lease", "Witness/BookLaunches",
      everyLaunch),
    of("S148", "nothing starts after it was given back", "Witness/BookLaunches", everyLaunch),
  ]

  private static let everyLaunch = "every launch"
  private static let everyCommit = "every durable turn"
  private static let everyRecovery = "every recovery, in the end"

  private static func of(
    _ name: String, _ meaning: String, _ file: String, _ when: String
  ) -> Invariant {
    Invariant(name: name, meaning: meaning, file: "\(file).swift", when: when)
  }
}
