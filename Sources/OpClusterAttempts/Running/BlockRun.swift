// The running blocks of one attempt: the next to start, the result of each, and the operation's
// result when all have returned (S118 to S123). Owned by `AttemptRunner`, on its thread; starts
// nothing itself.

import OpClusterModel
import OpClusterWire

/// One running block operation.
struct BlockRun {
  let job: Job
  let blocks: [OperationBlock]
  /// The values of an array's element for the commands (`ElementValues`).
  let element: [UInt8]
  /// Maximum number of blocks that run at once.
  let width: Int
  let startedAt: WallTime
  /// The positions of the running blocks.
  private(set) var running: Set<Int32> = []
  private var results: [BlockResult]
  /// The positions of ended blocks in the order of their ends.
  private var ended: [Int32] = []
  private var next = 0
  private var failures: [(block: Int, message: String)] = []
  private var skipped = 0
  private var outputBytes = 0
  private(set) var isStopped = false
  /// The worker ended a block for its own reasons: the whole operation must run again.
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

  /// The number of requested processors, rounded up (S119).
  static func width(_ cpus: ResourceAmount) -> Int {
    Int(clamping: max(1, (cpus.tenThousandths + 9_999) / 10_000))
  }

  /// Returns the next block to start; nil if there is none, or no room.
  mutating func takeNext() -> Int32? {
    guard next < blocks.count, running.count < width, !isStopped else { return nil }
    let block = Int32(next)
    next += 1
    running.insert(block)
    return block
  }

  /// Skips the blocks that have not begun (S122).
  mutating func stop() {
    guard !isStopped else { return }
    isStopped = true
    skipped = blocks.count - next
  }

  /// The operation's progress after the first block's end: the share of ended blocks, and their
  /// numbers from 1.
  var progress: (fraction: Double, text: String) {
    let all = blocks.count
    var text = "\(ended.count) of \(all) blocks have ended: "
    text += ended.prefix(20).sorted().map { "\($0 + 1)" }.joined(separator: ", ")
    if ended.count > 20 { text += ", …" }
    if !failures.isEmpty { text += "; \(failures.count) failed" }
    return (Double(ended.count) / Double(all), text)
  }

  /// Notes the end of a block.
  mutating func ended(_ block: Int32, _ result: AttemptResult) {
    guard running.remove(block) != nil else { return }
    ended.append(block)
    peakMemory = max(peakMemory, result.maximumResidentBytes)
    processorTime &+= result.processorMicroseconds
    if result.isSuccess {
      outputBytes += result.output.count
      // Drop an output beyond the limit of the whole: it could not be reported.
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

  /// The operation's result after the last end; a failure, too, lists the results of all blocks.
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

  /// `2 of 5 blocks failed. Block 1: …`, with numbers from 1; empty if all succeeded.
  private var diagnostic: String {
    var parts: [String] = []
    if !failures.isEmpty { parts.append("\(failures.count) of \(blocks.count) blocks failed.") }
    if skipped > 0 { parts.append("\(skipped) of \(blocks.count) blocks were not begun.") }
    for failure in failures.sorted(by: { $0.block < $1.block }).prefix(100) {
      parts.append("Block \(failure.block + 1): \(failure.message)")
    }
    return Self.cut(parts.joined(separator: " "), Limits.diagnosticBytes)
  }

  /// Describes a failed block for people.
  private static func message(_ result: AttemptResult) -> String {
    let end: String
    switch result.cause {
    case .timeout: end = "it ran out of time"
    case .signal: end = "ended by signal \(result.signal)"
    case .failed where result.exitStatus != 0: end = "exit status \(result.exitStatus)"
    case .none, .failed, .outOfMemory, .lost, .cannotStart, .badArgument, .unknownType,
      .missingInput, .inputUnavailable, .badOutput, .storeFull, .workerStopped:
      end = ""
    }
    let text = end.isEmpty || result.diagnostic.isEmpty ? end : end + ": "
    return cut(text + result.diagnostic, 500)
  }

  /// Cuts to whole characters within a number of bytes.
  private static func cut(_ text: String, _ bytes: Int) -> String {
    guard text.utf8.count > bytes else { return text }
    // A character has at most four bytes.
    for length in (bytes - 3...bytes).reversed() {
      if let whole = String(text.utf8.prefix(length)) { return whole }
    }
    return ""
  }
}
