// What a graph cost and where its time went, from its rows and its structure. Pure; times are those
// that workers and coordinator measured, in milliseconds.

public import OpClusterModel

/// Takes in the rows of one graph, in any order; then tells.
public struct GraphStatistics: Sendable {
  public let structure: GraphStructure
  public private(set) var stages: [StageStatistics]
  /// By index of the operation; 0: unknown.
  private var starts: [Int64]
  private var ends: [Int64]

  /// - Parameter submission: nil: what was asked for is not known any more.
  public init(_ structure: GraphStructure, _ submission: GraphSubmission?) {
    let structure = structure.withinLimits
    self.structure = structure
    let total = structure.stages.reduce(0) {
      $1.count == 0 ? $0 : max($0, Int($1.firstIndex) + Int($1.count))
    }
    starts = Array(repeating: 0, count: total)
    ends = starts
    let templates = submission?.templates ?? []
    stages = structure.stages.enumerated().map { at, stage in
      let isKnown =
        at < templates.count && templates[at].name == stage.name && templates[at].work != .nothing
      return StageStatistics(name: stage.name, demand: isKnown ? templates[at].demand : nil)
    }
  }

  /// Costs a logarithm of the stages.
  public mutating func add(_ row: OperationRow) {
    guard let stage = structure.stage(of: row.id.index), Int(row.id.index) < starts.count else {
      return
    }
    starts[Int(row.id.index)] = row.startedAt.milliseconds
    ends[Int(row.id.index)] = row.finishedAt.milliseconds
    stages[stage].add(row)
  }

  // MARK: - Told

  /// From the submission to the last end; nil: nothing has ended.
  public var span: Int64? {
    guard let last = ends.max(), last > 0, structure.row.submittedAt != .unknown else { return nil }
    let span = WallTime(milliseconds: last) - structure.row.submittedAt
    return max(0, span.wholeMilliseconds)
  }

  /// Run times of all operations together.
  public var ran: Int64 { stages.reduce(0) { $0 &+ $1.ran.sum } }

  /// Operations that ran at once, on average over the span.
  public var parallelism: Double? {
    guard let span, span > 0 else { return nil }
    return Double(ran) / Double(span)
  }

  /// One operation of the critical path.
  public struct Step: Hashable, Sendable {
    public var index: UInt32
    /// Without the graph: `align/3`.
    public var name: String
    /// From the end of the one before, or the submission, to its start.
    public var waited: Int64
    public var ran: Int64
  }

  /// The chain of dependencies that ended last, as it was: each step is the dependency of the next
  /// that ended last. The first step comes first; at most `limit`, the last ones. Costs the edges
  /// of the steps; a dependency on a whole stage costs that stage once.
  public func criticalPath(atMost limit: Int = 10_000) -> [Step] {
    guard let last = ends.indices.max(by: { ends[$0] < ends[$1] }), ends[last] > 0 else {
      return []
    }
    let edges = IncomingEdges(structure)
    var lastOfStage: [Int: Int] = [:]
    var path: [Int] = []
    var seen: Set<Int> = []
    var next: Int? = last
    // An allowed cycle is not followed for ever.
    while let index = next, path.count < limit, seen.insert(index).inserted {
      path.append(index)
      let stage = structure.stage(of: UInt32(index))
      next = edges.before(UInt32(index), stage: stage, structure) { edge in
        let from = structure.stages[edge]
        if lastOfStage[edge] == nil {
          let members = Int(from.firstIndex)..<Int(from.firstIndex) + Int(from.count)
          lastOfStage[edge] = members.max { ends[$0] < ends[$1] }
        }
        return lastOfStage[edge]
      }
      .filter { $0 < ends.count && ends[$0] > 0 && !seen.contains($0) }
      .max { ends[$0] < ends[$1] }
    }
    path.reverse()
    // What is left out before the first step, or the submission.
    var free = next.flatMap { seen.contains($0) ? nil : ends[$0] }
      ?? structure.row.submittedAt.milliseconds
    return path.map { index in
      let start = starts[index] == 0 ? max(free, ends[index]) : starts[index]
      defer { free = ends[index] }
      return Step(
        index: UInt32(index), name: structure.name(of: UInt32(index)),
        waited: free == 0 ? 0 : max(0, start - free), ran: max(0, ends[index] - start))
    }
  }

  /// Whether all dependencies of the graph are known here: of many single ones only some are told.
  public var knowsAllDependencies: Bool {
    Int(structure.elementEdgeCount) <= structure.elementEdges.to.count
  }
}

extension GraphStructure {
  /// Without operations that no graph can have: a coordinator of another release may say anything.
  var withinLimits: GraphStructure {
    var bounded = self
    for at in stages.indices {
      let end = UInt64(stages[at].firstIndex) + UInt64(stages[at].count)
      if end > UInt64(Limits.operationsPerGraph) { bounded.stages[at].count = 0 }
    }
    return bounded
  }

  /// The position of an operation's stage; nil: there is none. Costs a logarithm of the stages.
  func stage(of index: UInt32) -> Int? {
    var (low, high) = (0, stages.count)
    while low < high {
      let middle = (low + high) / 2
      if stages[middle].firstIndex <= index { low = middle + 1 } else { high = middle }
    }
    return low > 0 && index - stages[low - 1].firstIndex < stages[low - 1].count ? low - 1 : nil
  }

  /// An operation without its graph: `align/3`.
  func name(of index: UInt32) -> String {
    guard let at = stage(of: index) else { return "\(index)" }
    let stage = stages[at]
    guard stage.isArray else { return stage.name }
    return "\(stage.name)/\(stage.indexRuns.number(ofElement: index - stage.firstIndex))"
  }
}

/// Edges by the operation, or the stage, that they lead to.
private struct IncomingEdges {
  var single: [UInt32: [UInt32]] = [:]
  var whole: [Int: [(from: Int, match: GroupEdge.Match)]] = [:]

  init(_ structure: GraphStructure) {
    let edges = structure.elementEdges
    for at in edges.to.indices where at < edges.from.count {
      single[edges.to[at], default: []].append(edges.from[at])
    }
    for edge in structure.groupEdges
    where Int(edge.from) < structure.stages.count && Int(edge.to) < structure.stages.count {
      whole[Int(edge.to), default: []].append((Int(edge.from), edge.match))
    }
  }

  /// What an operation depends on; of a whole stage only the one that `last` names.
  func before(
    _ index: UInt32, stage: Int?, _ structure: GraphStructure, last: (Int) -> Int?
  ) -> [Int] {
    var found = (single[index] ?? []).map { Int($0) }
    guard let stage else { return found }
    for edge in whole[stage] ?? [] {
      let from = structure.stages[edge.from]
      switch edge.match {
      case .sameIndex:
        let offset = index - structure.stages[stage].firstIndex
        if offset < from.count { found.append(Int(from.firstIndex) + Int(offset)) }
      case .all: if let other = last(edge.from) { found.append(other) }
      }
    }
    return found
  }
}

/// What the operations of one name cost.
public struct StageStatistics: Sendable {
  public let name: String
  /// What each asks for; nil: that is not known.
  public let demand: Resources?
  public private(set) var counts = StateCounts()
  /// Further attempts.
  public private(set) var repeated: UInt64 = 0
  public var ran = TimeSeries()
  /// From the submission to the moment at which it might start.
  public var waitedForDependencies = TimeSeries()
  /// From there to the start: for its queue's limit, or for a worker.
  public var waitedForStart = TimeSeries()
  /// Processor time in microseconds, and the run times, in milliseconds, of those that told it.
  private var processor: UInt64 = 0
  private var processorRan: Int64 = 0
  /// The most memory of one, in bytes; 0: none told it.
  public private(set) var peakMemory: UInt64 = 0

  init(name: String, demand: Resources?) {
    self.name = name
    self.demand = demand
  }

  mutating func add(_ row: OperationRow) {
    counts[row.state] = counts[row.state].saturatingAdd(1)
    if row.attempt > 1 { repeated &+= UInt64(row.attempt - 1) }
    if let result = row.result {
      peakMemory = max(peakMemory, result.maximumResidentBytes)
    }
    guard row.startedAt != .unknown else { return }
    if row.readyAt != .unknown, row.attempt <= 1 {
      waitedForStart.add((row.startedAt - row.readyAt).wholeMilliseconds)
      if row.submittedAt != .unknown {
        waitedForDependencies.add((row.readyAt - row.submittedAt).wholeMilliseconds)
      }
    }
    guard row.finishedAt != .unknown else { return }
    let time = (row.finishedAt - row.startedAt).wholeMilliseconds
    ran.add(time)
    if let result = row.result, result.processorMicroseconds > 0 {
      processor &+= result.processorMicroseconds
      processorRan &+= max(0, time)
    }
  }

  /// Processor time of all whose run time is known too, in milliseconds.
  public var processorTime: Int64 { Int64(clamping: processor / 1_000) }

  /// Processors that one has kept busy, on average; nil: that is not known.
  public var processorsUsed: Double? {
    processorRan < 100 ? nil : Double(processor) / 1_000 / Double(processorRan)
  }

  /// Whether and how its demands miss what it used. Small differences are nobody's concern.
  public var advice: [ResourceAdvice] {
    guard let demand, ran.count > 0 else { return [] }
    var advice: [ResourceAdvice] = []
    let asked = Double(demand.cpus.tenThousandths) / 10_000
    if let used = processorsUsed, ran.sum >= 10_000 {
      if asked >= 2, used < asked / 2 {
        advice.append(.fewerProcessors(asked: asked, used: used))
      } else if asked > 0, used > asked * 1.5 + 0.5 {
        advice.append(.moreProcessors(asked: asked, used: used))
      }
    }
    let spare: UInt64 = 256 << 20
    let memory = UInt64(clamping: demand.memoryBytes)
    if peakMemory > 0 {
      if memory > spare, peakMemory < memory / 2, memory - peakMemory > spare {
        advice.append(.lessMemory(asked: memory, used: peakMemory))
      } else if memory == 0, peakMemory > 1 << 30 {
        advice.append(.someMemory(used: peakMemory))
      }
    }
    return advice
  }
}

/// What a stage could better ask for.
public enum ResourceAdvice: Hashable, Sendable {
  case fewerProcessors(asked: Double, used: Double)
  case moreProcessors(asked: Double, used: Double)
  case lessMemory(asked: UInt64, used: UInt64)
  /// It asks for none.
  case someMemory(used: UInt64)
}

/// Times in milliseconds, of which the most usual and the longest are asked for. Keeps a bounded
/// number: of more, quantiles are those of logarithmic classes, a tenth wide.
public struct TimeSeries: Sendable, Equatable {
  public private(set) var count: UInt64 = 0
  public private(set) var sum: Int64 = 0
  public private(set) var longest: Int64 = 0
  /// Counts by class: 0 to 15 exactly, then sixteen for each doubling.
  private var classes: [Int: UInt64] = [:]

  public init() {}

  /// Below zero is zero: it may be the difference of two clocks.
  public mutating func add(_ milliseconds: Int64) {
    let time = max(0, milliseconds)
    count += 1
    sum &+= time
    longest = max(longest, time)
    classes[Self.place(of: time), default: 0] += 1
  }

  /// The time that this share of all does not exceed, 0…1; nil: there are none.
  public func quantile(_ share: Double) -> Int64? {
    guard count > 0 else { return nil }
    let place = Int64(saturating: (share * Double(count)).rounded(.up))
    let wanted = min(count, max(1, UInt64(clamping: place)))
    var seen: UInt64 = 0
    for place in classes.keys.sorted() {
      seen += classes[place] ?? 0
      if seen >= wanted { return min(longest, Self.upperBound(of: place)) }
    }
    return longest
  }

  /// Neighbouring classes with their counts, at most so many; none if there are no times.
  func histogram(atMost limit: Int) -> [(longest: Int64, count: UInt64)] {
    guard let first = classes.keys.min(), let last = classes.keys.max() else { return [] }
    let width = (last - first) / max(1, limit) + 1
    return stride(from: first, through: last, by: width).map { begin in
      let places = begin...min(last, begin + width - 1)
      return (
        min(longest, Self.upperBound(of: places.upperBound)),
        places.reduce(0) { $0 + (classes[$1] ?? 0) }
      )
    }
  }

  private static func place(of time: Int64) -> Int {
    guard time >= 16 else { return Int(time) }
    let doubling = 63 - time.leadingZeroBitCount
    return (doubling - 3) * 16 + Int((time >> (doubling - 4)) & 15)
  }

  /// The longest time of a class.
  private static func upperBound(of place: Int) -> Int64 {
    guard place >= 16 else { return Int64(place) }
    let doubling = place / 16 + 3
    return Int64(clamping: (UInt64(place % 16 + 17) << UInt64(doubling - 4)) - 1)
  }
}
