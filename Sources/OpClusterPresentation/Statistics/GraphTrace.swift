// A graph as a trace: who ran what when. Collects rows; `ChromeTrace` and `OpenTelemetryTrace`
// write them down. Pure.

import HeapModule
public import OpClusterModel

/// The attempts of one graph.
public struct GraphTrace: Sendable {
  /// One attempt that has begun.
  struct Slice: Sendable {
    var index: UInt32
    /// As people count them.
    var attempt: UInt32
    var worker: Int
    /// Milliseconds since 1970. The end of one that runs is that of the trace.
    var start: Int64
    var end: Int64
    /// When it might have started; 0: unknown.
    var ready: Int64
    /// nil: it runs, or was tried again.
    var outcome: Outcome?
    var cause: FailureCause
    var exitStatus: Int32
    var peakMemory: UInt64
    var processorMicroseconds: UInt64
    var isRunning = false
    /// The row of the worker in which it is drawn.
    var lane = 0
  }

  let structure: GraphStructure
  private(set) var workers: [String] = []
  private(set) var slices: [Slice] = []
  private var workerNumbers: [String: Int] = [:]
  private let now: Int64

  /// - Parameter now: The end of what still runs.
  public init(_ structure: GraphStructure, now: WallTime) {
    self.structure = structure.withinLimits
    self.now = now.milliseconds
  }

  /// Whether earlier attempts of an operation have to be asked for.
  public static func hasEarlierAttempts(_ row: OperationRow) -> Bool {
    row.attempt > 1 && row.attempts.isEmpty
  }

  /// Adds an operation with the earlier attempts that its row has.
  public mutating func add(_ row: OperationRow) {
    var known: Set<UInt32> = []
    for attempt in row.attempts where attempt.isAttempt {
      known.insert(attempt.run)
      add(
        row.id.index, attempt.run, attempt.workerName, attempt.result,
        outcome: attempt.run == row.attempt ? row.outcome : attempt.outcome,
        ready: attempt.run == 1 ? row.readyAt : .unknown)
    }
    guard row.attempt > 0, !known.contains(row.attempt), row.startedAt != .unknown else { return }
    var result = row.result ?? .success
    // Between two attempts, and in a further one, the row still has the first start.
    let before = row.attempts.map(\.result.endedAt).max() ?? .unknown
    result.startedAt = max(row.startedAt, before)
    if row.finishedAt != .unknown || row.attempt > 1 { result.endedAt = row.finishedAt }
    add(
      row.id.index, row.attempt, row.workerName, result, outcome: row.outcome,
      ready: row.attempt == 1 ? row.readyAt : .unknown)
  }

  private mutating func add(
    _ index: UInt32, _ attempt: UInt32, _ worker: String, _ result: AttemptResult,
    outcome: Outcome?, ready: WallTime
  ) {
    guard result.startedAt != .unknown else { return }
    let number = workerNumbers[worker] ?? workers.count
    if workerNumbers.updateValue(number, forKey: worker) == nil { workers.append(worker) }
    let start = result.startedAt.milliseconds
    let isRunning = result.endedAt == .unknown
    slices.append(
      Slice(
        index: index, attempt: attempt, worker: number, start: start,
        end: max(start, isRunning ? now : result.endedAt.milliseconds),
        ready: min(ready.milliseconds, start), outcome: outcome, cause: result.cause,
        exitStatus: result.exitStatus, peakMemory: result.maximumResidentBytes,
        processorMicroseconds: result.processorMicroseconds, isRunning: isRunning))
  }

  /// Sorts the attempts by their start, and gives each the first row of its worker that is free.
  /// Costs n log n.
  mutating func layOut() {
    slices.sort { ($0.start, $0.index, $0.attempt) < ($1.start, $1.index, $1.attempt) }
    var rows = Array(repeating: WorkerRows(), count: workers.count)
    for at in slices.indices {
      // What took no time still needs its place.
      let end = max(slices[at].end, slices[at].start + 1)
      slices[at].lane = rows[slices[at].worker].take(from: slices[at].start, to: end)
    }
  }

  /// The rows of one worker, those that are free and those that are in use.
  private struct WorkerRows {
    private struct Busy: Comparable {
      var end: Int64
      var lane: Int
      static func < (one: Self, other: Self) -> Bool {
        (one.end, one.lane) < (other.end, other.lane)
      }
    }
    private var free: Heap<Int> = []
    private var busy: Heap<Busy> = []
    private var count = 0

    /// Starts ascend.
    mutating func take(from start: Int64, to end: Int64) -> Int {
      while let first = busy.min, first.end <= start {
        free.insert(first.lane)
        _ = busy.removeMin()
      }
      var lane = count
      if let first = free.popMin() { lane = first } else { count += 1 }
      busy.insert(Busy(end: end, lane: lane))
      return lane
    }
  }

  // MARK: - Dependencies

  /// No viewer shows more.
  private static let mostFlows = 1_000_000

  /// Pairs of positions in `slices`: what ended, and what depends on it. Of a dependency on a whole
  /// stage only the one that ended last. Costs the operations, and the pairs.
  func flows() -> [(from: Int, to: Int)] {
    var last: [UInt32: Int] = [:]
    var first: [UInt32: Int] = [:]
    for (at, slice) in slices.enumerated() {
      if last[slice.index].map({ slices[$0].end < slice.end }) ?? true { last[slice.index] = at }
      if first[slice.index].map({ slices[$0].start > slice.start }) ?? true {
        first[slice.index] = at
      }
    }
    var flows: [(from: Int, to: Int)] = []
    func add(_ from: UInt32, _ to: UInt32) {
      guard let one = last[from], let other = first[to], !slices[one].isRunning else { return }
      flows.append((one, other))
    }
    let edges = structure.elementEdges
    for at in edges.to.indices where at < edges.from.count { add(edges.from[at], edges.to[at]) }
    var latest: [Int: UInt32] = [:]
    for edge in structure.groupEdges
    where Int(edge.from) < structure.stages.count && Int(edge.to) < structure.stages.count {
      if flows.count >= Self.mostFlows { break }
      let (from, to) = (structure.stages[Int(edge.from)], structure.stages[Int(edge.to)])
      switch edge.match {
      case .sameIndex:
        for offset in 0..<min(from.count, to.count) {
          add(from.firstIndex + offset, to.firstIndex + offset)
        }
      case .all:
        if latest[Int(edge.from)] == nil {
          let ended = (from.firstIndex..<from.firstIndex + from.count).compactMap { last[$0] }
          let one = ended.max { slices[$0].end < slices[$1].end }
          latest[Int(edge.from)] = one.map { slices[$0].index }
        }
        guard let one = latest[Int(edge.from)] else { continue }
        for offset in 0..<to.count { add(one, to.firstIndex + offset) }
      }
    }
    return flows
  }
}
