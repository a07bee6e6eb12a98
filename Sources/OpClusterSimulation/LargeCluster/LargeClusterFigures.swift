// What is measured in the steady part of a run: from the start of the first quarter of operations
// to the start of the third. Before it slots are filled, and behind it nothing may wait any more.

public import OpClusterModel

public struct LargeClusterFigures: Sendable {
  /// All operations that began and ended, within the measured time or not.
  public internal(set) var started = 0
  public internal(set) var ended = 0
  /// Why the run ended before its time; nil: it did not.
  public internal(set) var collapse: String?
  /// The virtual time of the whole run, and of its measured part.
  public internal(set) var seconds = 0.0
  public private(set) var measuredSeconds = 0.0

  private var startedSince = 0
  private var opened: Instant?
  private var isClosed = false
  /// Slots that are busy now, and nanoseconds of slots since the part began.
  private var busy = 0
  private var area = 0.0
  private var lastChange = Instant.zero
  private var waits = LatencyCounts()
  private var turnLengths = LatencyCounts()
  private var spent = Span.zero
  private var measured = Span.zero
  private(set) var frames = 0
  private(set) var messages = 0
  private let slots: Int
  private let operations: Int
  /// The time that a slot is taken and its operation does not run, as it is on its way.
  private let overhead: Span

  init(slots: Int, operations: Int, overhead: Span) {
    self.slots = slots
    self.operations = operations
    self.overhead = overhead
  }

  var isMeasured: Bool { isClosed }
  private var isOpen: Bool { opened != nil && !isClosed }

  // MARK: - What happens

  mutating func begins(at now: Instant, freeSince: Instant) {
    add(1, at: now)
    started += 1
    if opened == nil, started * 4 >= operations {
      opened = now
      area = 0
    } else if isOpen {
      waits.add(now - freeSince + overhead)
      startedSince += 1
      if started * 4 >= operations * 3 { close(at: now) }
    }
  }

  mutating func ends(at now: Instant) {
    add(-1, at: now)
    ended += 1
  }

  private mutating func add(_ change: Int, at now: Instant) {
    if isOpen { area += Double((now - lastChange).nanoseconds) * Double(busy) }
    lastChange = now
    busy += change
  }

  private mutating func close(at now: Instant) {
    isClosed = true
    measuredSeconds = opened.map { (now - $0).seconds } ?? 0
  }

  mutating func note(_ outcome: ModelCoordinator.TurnSum) {
    guard isOpen else { return }
    spent = spent + outcome.spent
    measured = measured + outcome.measured
    frames += outcome.heard
    messages += outcome.heard + outcome.said
    turnLengths.add(outcome.spent)
  }

  // MARK: - What it comes to

  private func rate(_ amount: Double) -> Double {
    measuredSeconds > 0 ? amount / measuredSeconds : 0
  }

  /// The share of slots in which operations run.
  public var utilisation: Double {
    let lost = Double(startedSince) * overhead.seconds
    return max(0, rate(area / 1e9 - lost)) / Double(max(slots, 1))
  }
  public var operationsPerSecond: Double { rate(Double(startedSince)) }
  public var messagesPerSecond: Double { rate(Double(messages)) }
  /// The share of one processor that the coordinator's thread takes, and the measured part of it.
  public var load: Double { rate(spent.seconds) }
  public var measuredLoad: Double { rate(measured.seconds) }
  /// What an operation takes of the coordinator's thread, and the measured part of it.
  public var microsecondsPerOperation: Double {
    startedSince > 0 ? spent.seconds * 1e6 / Double(startedSince) : 0
  }
  public var measuredMicrosecondsPerOperation: Double {
    startedSince > 0 ? measured.seconds * 1e6 / Double(startedSince) : 0
  }
  public var framesPerTurn: Double {
    turnLengths.total > 0 ? Double(frames) / Double(turnLengths.total) : 0
  }
  /// From the moment at which a slot is free until the next operation begins in it.
  public func wait(_ share: Double) -> Span { waits.quantile(share) }
  public func turnLength(_ share: Double) -> Span { turnLengths.quantile(share) }
}
