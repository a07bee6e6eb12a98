// What a graph did over time, counted from its trace, in parts that a picture can show. Pure; costs
// the attempts.

import OpClusterModel

struct GraphActivity {
  /// Milliseconds since 1970; `end` is after `start`.
  let start: Int64
  let end: Int64
  private(set) var running: BinnedCounts
  /// Those that might have run: nothing stood before them.
  private(set) var waiting: BinnedCounts
  /// By number of the worker in the trace: what ran there at once.
  private(set) var workers: [WorkerActivity]

  struct WorkerActivity {
    var name: String
    var attempts: UInt64 = 0
    var failures: UInt64 = 0
    /// Milliseconds, of all attempts together.
    var ran: Int64 = 0
    /// Microseconds of processor.
    var processor: UInt64 = 0
    /// The most that ran at once: the rows in which they are drawn.
    var rows = 0
    var running: BinnedCounts
  }

  /// - Parameter trace: Laid out.
  /// - Parameter parts: Of the pictures.
  init?(_ trace: GraphTrace, parts: Int) {
    guard let first = trace.slices.map(\.start).min(), let last = trace.slices.map(\.end).max()
    else { return nil }
    let submitted = trace.structure.row.submittedAt
    let start = submitted == .unknown ? first : min(first, submitted.milliseconds)
    let counts = BinnedCounts(from: start, to: last, parts: parts)
    self.start = start
    end = counts.end
    (running, waiting) = (counts, counts)
    workers = trace.workers.map { WorkerActivity(name: $0, running: counts) }
    for slice in trace.slices { count(slice) }
  }

  private mutating func count(_ slice: GraphTrace.Slice) {
    running.cover(from: slice.start, to: slice.end)
    if slice.ready > 0 { waiting.cover(from: slice.ready, to: slice.start) }
    workers[slice.worker].running.cover(from: slice.start, to: slice.end)
    workers[slice.worker].attempts += 1
    if slice.cause != .none { workers[slice.worker].failures += 1 }
    let time = WallTime(milliseconds: slice.end) - WallTime(milliseconds: slice.start)
    workers[slice.worker].ran &+= max(0, time.wholeMilliseconds)
    workers[slice.worker].processor &+= slice.processorMicroseconds
    workers[slice.worker].rows = max(workers[slice.worker].rows, slice.lane + 1)
  }
}
