// The blocks of one attempt while they run side by side: which is next, what became of each, and
// what the operation's own result is when all have returned (S118 to S123). Owned by
// `AttemptRunner`, on its thread; starts nothing itself.

import OpClusterModel
import OpClusterWire

/// One block operation that runs.
struct BlockRun {
  let job: Job
  let blocks: [OperationBlock]
  /// What an array's element gives to the commands (`ElementValues`).
  let element: [UInt8]
  /// Blocks at once at most.
  let width: Int
  let startedAt: WallTime
  /// Blocks that run now, by position.
  private(set) var running: Set<Int32> = []
  private var results: [BlockResult]
  /// In the order in which they ended.
  private var ended: [Int32] = []
  private var next = 0
  private var failures: [(block: Int, message: String)] = []
  private var skipped = 0
  private var outputBytes = 0
  private(set) var isStopped = false
  /// A block was ended by the worker for reasons of its own: the whole is to be run again.
  private var wasTakenAway = false
  private var peakMemory: UInt64 = 0
  private var processorTime: UInt64 = 0

  init(_ job: Job, _ blocks: [OperationBlock], element: [UInt8], startedAt: WallTime) {
    self.job = job
    self.blocks = blocks
    self.element = element
    self.startedAt = startedAt
    width = Self.width(job.announcement.demand.cpus)
    results = Array(repeating: .skipped, count: blocks.count)
  }

  /// As many as the processors that it asked for, rounded up (S119).
  static func width(_ cpus: ResourceAmount) -> Int {
    Int(clamping: max(1, (cpus.tenThousandths + 9_999) / 10_000))
  }

  /// The next block to start now; nil when there is none, or no room for it.
  mutating func takeNext() -> Int32? {
    guard next < blocks.count, running.count < width, !isStopped else { return nil }
    let block = Int32(next)
    next += 1
    running.insert(block)
    return block
  }

  /// Blocks that have not begun stay so (S122).
  mutating func stop() {
    guard !isStopped else { return }
    isStopped = true
    skipped = blocks.count - next
  }

  /// What the operation says of itself while some of its blocks have ended: how many of all, and
  /// which, counted from 1 as people do.
  var progress: (fraction: Double, text: String) {
    let all = blocks.count
    var text = "\(ended.count) of \(all) blocks have ended: "
    text += ended.prefix(20).sorted().map { "\($0 + 1)" }.joined(separator: ", ")
    if ended.count > 20 { text += ", …" }
    if !failures.isEmpty { text += "; \(failures.count) failed" }
    return (Double(ended.count) / Double(all), text)
  }

  /// A block has returned.
  mutating func ended(_ block: Int32, _ result: AttemptResult) {
    guard running.remove(block) != nil else { return }
    ended.append(block)
    peakMemory = max(peakMemory, result.maximumResidentBytes)
    processorTime &+= result.processorMicroseconds
    if result.isSuccess {
      outputBytes += result.output.count
      // What is too long for the whole is not kept: it would be dropped in the end.
      results[Int(block)] = .succeeded(outputBytes > Limits.outputBytes ? [] : result.output)
    } else {
      if result.cause == .workerStopped {
        wasTakenAway = true
        stop()
      }
      let message = Self.message(result)
      results[Int(block)] = .failed(message)
      failures.append((Int(block), message))
    }
  }

  var isOver: Bool { running.isEmpty && (isStopped || next == blocks.count) }

  /// The operation's own result, once it is over: what each block left is told for a failure, too.
  func result(endedAt: WallTime) -> AttemptResult {
    var result = AttemptResult()
    result.startedAt = startedAt
    result.endedAt = endedAt
    result.maximumResidentBytes = peakMemory
    result.processorMicroseconds = processorTime
    result.cause = failures.isEmpty && skipped == 0 ? .none : .failed
    result.wasStopped = skipped > 0
    if wasTakenAway {
      result.cause = .workerStopped
      result.wasStopped = false
    }
    result.diagnostic = diagnostic
    let encoded = blocks.isEmpty ? [] : Wire.encode(blockResults: results)
    if outputBytes <= Limits.outputBytes, encoded.count <= Limits.outputBytes {
      result.output = encoded
    } else {
      result.cause = .badOutput
      result.diagnostic = Self.cut(
        "the results of its \(blocks.count) blocks are more than \(Limits.outputBytes) bytes; "
          + "leave references to larger data. " + diagnostic, Limits.diagnosticBytes)
    }
    return result
  }

  /// `2 of 5 blocks failed. Block 1: …`, blocks counted from 1, as people do; empty if all is well.
  private var diagnostic: String {
    var parts: [String] = []
    if !failures.isEmpty { parts.append("\(failures.count) of \(blocks.count) blocks failed.") }
    if skipped > 0 { parts.append("\(skipped) of \(blocks.count) blocks were not begun.") }
    for failure in failures.sorted(by: { $0.block < $1.block }).prefix(100) {
      parts.append("Block \(failure.block + 1): \(failure.message)")
    }
    return Self.cut(parts.joined(separator: " "), Limits.diagnosticBytes)
  }

  /// What a person reads of a failed block.
  private static func message(_ result: AttemptResult) -> String {
    let end: String
    switch result.cause {
    case .timeout: end = "it ran out of time"
    case .signal: end = "ended by signal \(result.signal)"
    case .failed where result.exitStatus != 0: end = "exit status \(result.exitStatus)"
    case .none, .failed, .outOfMemory, .lost, .cannotStart, .badArgument, .unknownType,
      .missingInput, .badOutput, .workerStopped:
      end = ""
    }
    let text = end.isEmpty || result.diagnostic.isEmpty ? end : end + ": "
    return cut(text + result.diagnostic, 500)
  }

  /// At most so many bytes, and whole characters.
  private static func cut(_ text: String, _ bytes: Int) -> String {
    guard text.utf8.count > bytes else { return text }
    // A character has four bytes at most.
    for length in (bytes - 3...bytes).reversed() {
      if let whole = String(text.utf8.prefix(length)) { return whole }
    }
    return ""
  }
}
