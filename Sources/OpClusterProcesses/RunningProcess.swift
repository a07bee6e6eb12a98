// What the host keeps of one operation's process tree while any of it exists.

import CProcess
import Glibc

/// One started process with its tree, its group and its streams. Belongs to `ProcessHost`.
final class RunningProcess {
  let reference: ProcessReference
  /// The environment entry that the whole tree carries.
  let mark: String
  /// Nil where the kernel allows no group: the tree is then found in the process table.
  let group: ProcessGroup?
  let streams: [LimitedStream]
  /// The worker's own peak when the process started; see ``EndedProcess/PeakMemory``.
  let peakAtStart: UInt64
  /// Readable when the main process has ended; nil once that was seen.
  var descriptor: Descriptor?
  /// How the main process ended; nil while it runs.
  var mainEnd: MainEnd?
  /// Set when all of the tree is to be killed now.
  var isCondemned = false
  /// When the main process was seen to have ended.
  var endedAt: ContinuousClock.Instant?
  /// How often the rest of the tree was killed since; the tries become rarer.
  var rounds = 0

  init(
    reference: ProcessReference, mark: String, group: ProcessGroup?, streams: [LimitedStream],
    peakAtStart: UInt64, descriptor: consuming Descriptor
  ) {
    self.reference = reference
    self.mark = mark
    self.group = group
    self.streams = streams
    self.peakAtStart = peakAtStart
    self.descriptor = consume descriptor
  }

  /// Whether there is something to kill or to wait for beside the main process.
  var isSettling: Bool { isCondemned || mainEnd != nil }

  /// What the caller is told; to be asked when the tree is gone.
  func ended(leftSomethingBehind: Bool) -> EndedProcess {
    let end = mainEnd ?? MainEnd(status: .unknown)
    for stream in streams { stream.finish() }
    return EndedProcess(
      reference: reference, status: end.status,
      peakMemory: end.peakBytes > peakAtStart ? .exactly(end.peakBytes) : .atMost(end.peakBytes),
      userTime: end.userTime, systemTime: end.systemTime,
      outputWasCut: streams.contains { $0.isOutput && $0.wasCut },
      errorWasCut: streams.contains { !$0.isOutput && $0.wasCut },
      leftSomethingBehind: leftSomethingBehind)
  }
}

/// A stream's file that may not grow past a limit.
final class LimitedStream {
  let isOutput: Bool
  private let file: Descriptor
  /// The length at which the file is cut.
  private let end: Int
  private let limit: Int
  private(set) var wasCut = false

  /// `limit` counts from the present length of the file.
  init(file: consuming Descriptor, limit: Int, isOutput: Bool) {
    self.limit = max(limit, 0)
    end = (file.fileSize ?? 0) + self.limit
    self.isOutput = isOutput
    self.file = consume file
  }

  /// Cuts the file if it has outgrown its limit. The process goes on writing behind the cut,
  /// since the file is open in append mode, and is cut again.
  func enforce() {
    guard let size = file.fileSize, size > end else { return }
    wasCut = ftruncate(file.number, end) == 0 || wasCut
  }

  /// Cuts for the last time and leaves the marker, once nobody writes any more.
  func finish() {
    enforce()
    guard wasCut, ftruncate(file.number, end) == 0 else { return }
    _ = file.write(Array(ProcessHost.cutMarker(limit).utf8))
  }
}
