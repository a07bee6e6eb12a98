// The state of each operation of a graph, a byte for each: what rows told, and what events told
// since. For pictures of graphs with more operations than rows can be asked for again and again.

public import OpClusterModel

public struct ElementStates: Sendable {
  /// Positions in `StateWord.allCases`, by index of the operation.
  private var states: [UInt8]
  /// The first index of each stage, and its name; ascending.
  public let stages: [(name: String, range: Range<Int>)]

  public init(_ structure: GraphStructure) {
    let shown = structure.withinLimits.stages.filter { $0.count > 0 }
    stages = shown.map { stage in
      (stage.name, Int(stage.firstIndex)..<Int(stage.firstIndex) + Int(stage.count))
    }
    let count = stages.map(\.range.upperBound).max() ?? 0
    states = Array(repeating: UInt8(StateWord.waiting.position), count: count)
    // Of a stage in one state every operation is known, and the rest comes with the rows.
    for (stage, place) in zip(shown, stages) {
      guard let only = stageState(stage.counts), stage.counts[only] == stage.count else { continue }
      for index in place.range { states[index] = UInt8(only.position) }
    }
  }

  public var count: Int { states.count }

  /// nil: there is no such operation.
  public func state(of index: Int) -> StateWord? {
    states.indices.contains(index) ? StateWord.allCases[Int(states[index])] : nil
  }

  /// What a row tells is what is so.
  public mutating func take(_ row: OperationRow) { set(row.id.index, row.state) }

  /// What a run of events tells; of what has ended only another end is news, since a row may be
  /// newer than an event. Costs its operations, a byte each.
  package mutating func apply(_ run: EventRun) {
    guard let indices = run.indices else { return }
    let range = (Int(indices.lowerBound)..<Int(indices.upperBound) + 1).clamped(to: 0..<count)
    switch run.first.kind {
    case .isFinished(let outcome):
      for index in range { states[index] = UInt8(StateWord(outcome).position) }
    case .isExecuting(true): advance(range, .executing)
    case .isReady(true): advance(range, .ready)
    default: break
    }
  }

  private mutating func advance(_ range: Range<Int>, _ state: StateWord) {
    let (new, firstEnd) = (UInt8(state.position), UInt8(StateWord.succeeded.position))
    for index in range where states[index] < firstEnd { states[index] = new }
  }

  private mutating func set(_ index: UInt32, _ state: StateWord) {
    guard states.indices.contains(Int(index)) else { return }
    states[Int(index)] = UInt8(state.position)
  }

  // MARK: - What is looked for

  /// Which operations a list shows.
  public struct Filter: Hashable, Sendable {
    /// Empty: all.
    public var states: [StateWord]
    /// nil: all.
    public var stage: String?

    public init(states: [StateWord] = [], stage: String? = nil) {
      self.states = states
      self.stage = stage
    }

    public var isEverything: Bool { states.isEmpty && stage == nil }
  }

  private func range(_ filter: Filter) -> Range<Int> {
    guard let stage = filter.stage else { return 0..<states.count }
    return stages.first { $0.name == stage }?.range ?? 0..<0
  }

  /// Costs the operations, a byte each.
  public func count(_ filter: Filter) -> Int {
    let range = range(filter)
    guard !filter.states.isEmpty else { return range.count }
    let wanted = Self.marks(filter.states)
    return range.reduce(0) { $0 + (wanted[Int(states[$1])] ? 1 : 0) }
  }

  /// The index of the operation before which `position` others are that the filter shows; nil:
  /// there are not so many.
  public func operationIndex(at position: Int, _ filter: Filter) -> Int? {
    let range = range(filter)
    guard position >= 0, !range.isEmpty else { return nil }
    guard !filter.states.isEmpty else {
      return position < range.count ? range.lowerBound + position : nil
    }
    let wanted = Self.marks(filter.states)
    var left = position
    for index in range where wanted[Int(states[index])] {
      if left == 0 { return index }
      left -= 1
    }
    return nil
  }

  /// By position.
  private static func marks(_ states: [StateWord]) -> [Bool] {
    var marks = Array(repeating: false, count: StateWord.allCases.count)
    for state in states { marks[state.position] = true }
    return marks
  }

  /// What a part of the graph looks like: its failures first, then what runs, then what most are.
  func look(_ part: Range<Int>) -> String {
    var counts = Array(repeating: 0, count: StateWord.allCases.count)
    for index in part { counts[Int(states[index])] += 1 }
    func has(_ words: [StateWord]) -> Bool { words.contains { counts[$0.position] > 0 } }
    if has([.failed, .timedOut, .lost]) { return "failed" }
    if has([.executing, .stopping]) { return "running" }
    if has([.cancelled, .skipped]) { return "cancelled" }
    if counts[StateWord.succeeded.position] == part.count { return "succeeded" }
    if has([.succeeded]) { return "partial" }
    return has([.ready, .dispatched]) ? "ready" : "waiting"
  }
}
