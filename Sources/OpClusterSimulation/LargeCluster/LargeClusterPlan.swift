// What the model of a large cluster is told: its size, its work, and the costs that it cannot
// measure itself.

public import OpClusterModel

public struct LargeClusterPlan: Sendable {
  public var workers = 1_024
  public var slotsPerWorker = 64
  /// The relays between the coordinator and the workers; nil: there are none, each worker has a
  /// conversation of its own.
  public var relays: Int?
  public var operations = 100_000
  public var runTimes = RunTimes.constant(1)
  public var seed: UInt64 = 1
  public var costs = Costs()
  /// Whether messages and facts are encoded and decoded, as part of the coordinator's turn.
  public var hasCodec = true
  /// Whether all operations run to their ends, beyond the time that is measured.
  public var runsToTheEnd = true
  public init() {}

  /// The costs of the parts outside of the brain and the codec, as constants.
  public struct Costs: Sendable {
    /// Of the coordinator's thread, for a turn: waking up, and passing the turn to the journal.
    public var turn = Span(nanoseconds: 30_000)
    /// Of the coordinator's thread, for a message in either direction: socket, table of peers,
    /// admission.
    public var message = Span(nanoseconds: 2_000)
    /// Until a commit is durable. Turns that close meanwhile share the next one.
    public var commit = Span(nanoseconds: 500_000)
    /// A message's way in one direction, with the waking of who receives it.
    public var network = Span(nanoseconds: 100_000)
    public init() {}
    public static var none: Costs {
      var none = Costs()
      (none.turn, none.message, none.commit, none.network) = (.zero, .zero, .zero, .zero)
      return none
    }
  }

  public var slots: Int { workers * slotsPerWorker }
  /// Those with a conversation: the relays, or the workers.
  var machines: Int { relays.map { max(1, min($0, workers)) } ?? workers }

  /// The slots of one of them; what cannot be divided goes to the first.
  func slots(of machine: Int) -> Int {
    let workers = self.workers / machines + (machine < self.workers % machines ? 1 : 0)
    return workers * slotsPerWorker
  }
}
