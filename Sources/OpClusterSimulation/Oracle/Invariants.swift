// The table of the invariants of Simulation.md: the meaning, the file that checks each, and when. A
// test reads the files and finds each name there.

/// One invariant of the simulated world.
public struct Invariant: Sendable {
  /// As in Simulation.md, or the number of a rule of behaviour.
  public var name: String
  public var meaning: String
  /// Relative to the folder of this target.
  public var file: String
  public var when: String

  /// Only durable or sent data are checked: data that a crash loses never existed.
  public static let all: [Invariant] = [
    of("I1", "an acknowledged key is known, with the same graph", "Oracle/Checks", everyRecovery),
    of(
      "I2", "one end per operation, and nothing told changes", "Oracle/LedgerEvents",
      "every event"),
    of("I3", "an accepted end is that of the present attempt", "Oracle/LedgerRecords", everyCommit),
    of("I4", "no start before the dependencies", "Oracle/LedgerLaunches", everyLaunch),
    of("I5", "everything ends once nothing goes wrong any more", "World/Aftermath", "in the end"),
    of("I6", "a key has one graph", "Oracle/LedgerRecords", everyCommit),
    of("I7", "an attempt runs in one session", "Oracle/LedgerLaunches", everyLaunch),
    of("I8", "no start of what was lost before the welcome", "Oracle/LedgerLaunches", everyLaunch),
    of("I9", "a session starts an attempt once", "Oracle/LedgerLaunches", everyLaunch),
    of(
      "I10", "the journal replayed is the living state", "Oracle/Checks",
      "every 50 events, recovery"),
    of("I11", "queues and messages are bounded", "Oracle/Checks", "every message, every 8th turn"),
    of("I12", "what runs fits into the worker", "Oracle/Checks", everyLaunch),
    of("I13", "an exclusive operation has one process tree", "Oracle/Checks", everyLaunch),
    of(
      "I14", "losses are counted, real ones, up to the limit", "Oracle/LedgerEvents",
      "every event"),
    of("I15", "events have no gaps", "Oracle/LedgerEvents",
      "every event"),
    of("I16", "who is eligible goes by level and place", "Oracle/LedgerOrder", everyCommit),
    of("I17", "nothing runs on of what has durably ended", "Oracle/Checks", everyCommit),
    of("I18", "buffered bytes are bounded", "Oracle/Checks", "every 8th turn"),
    of("I19", "nothing leaves before it is durable", "Oracle/Checks", "every effect"),
    of("G1", "what was durable is there after a crash", "Oracle/Checks", "every start"),
    of("G3", "no event without a record", "Oracle/Checks", "every turn"),
    of("G6", "a rotten record of the world's disk is refused", "Faults/Nemesis", "every rot"),
    of(
      "G12", "who was told more than a restored journal knows is told so, and not welcomed",
      "Oracle/Checks", "every start and welcome"),
    of(
      "G24", "who was told no more than it goes on", "Oracle/Checks", "every refusal"),
    of("G20", "an answered cancellation is durable", "Oracle/Checks", "every answer"),
    of("G22", "no false loss", "Oracle/Checks", "every loss"),
    of("G30", "no busy loop", "World/CoordinatorShell", "every turn"),
    of("G32", "another version is told so", "Faults/Nemesis", "every stranger"),
    of("S12", "what must not run twice does not", "Oracle/LedgerLaunches", everyLaunch),
    of(
      "S23", "nothing new is handed over of a graph that stops", "Oracle/LedgerRecords",
      everyCommit),
    of("S63", "limits of queues hold", "Oracle/LedgerLaunches", everyLaunch),
    of("S72", "nothing starts in what is suspended", "Oracle/LedgerLaunches", everyLaunch),
    of("S77", "barriers hold", "Oracle/LedgerLaunches", everyLaunch),
    of(
      "S91", "nothing starts after its cancellation was answered", "Oracle/LedgerLaunches",
      everyLaunch),
    of("S105", "counts of queues are right", "Oracle/LedgerEvents",
      "every event"),
    of(
      "S137", "nothing starts before the contents that it reads are there", "World/Contents",
      everyLaunch),
    of(
      "S140", "what somebody needs does not leave the last store that keeps it", "World/Contents",
      "everything that leaves"),
    of(
      "S147", "nothing starts after its loss, without a lease, or before a hello is answered",
      "Oracle/LedgerLaunches",
      everyLaunch),
    of("S148", "nothing starts after it was given back", "Oracle/LedgerLaunches", everyLaunch),
    of(
      "S153", "only what may runs again, for who needs it, and not without end",
      "Oracle/LedgerRecords", everyCommit),
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
