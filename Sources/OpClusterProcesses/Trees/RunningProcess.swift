// The host's data about one operation's process tree, as long as any of it exists.

import CProcess
import Glibc

/// One started process with its tree, its group and its streams. Belongs to `ProcessHost`.
final class RunningProcess {
  let reference: ProcessReference
  /// The child to wait for: the main process, or the reaper above it.
  let child: Int32
  /// The environment entry of the whole tree.
  let mark: String
  /// nil if the kernel allows no group: the tree is then found in the process table.
  let group: ProcessGroup?
  let streams: [OutputStream]
  /// The worker's own peak at the start; see ``EndedProcess/PeakMemory``.
  let peakAtStart: UInt64
  /// The effects of the group's limits at the start.
  let countsAtStart: LimitCounts
  /// The lease of the tree, and the number of its expiries at the start. nil: the tree is not
  /// exclusive, or nobody else could get its operation.
  let lease: ExclusiveLease?
  private let expiriesAtStart: UInt64
  /// Readable when the main process has ended; nil once that was seen.
  var descriptor: Descriptor?
  /// The end of the main process; nil while it runs.
  var mainEnd: MainEnd?
  /// Set when the whole tree must be killed now.
  var isCondemned = false
  /// The begin of the kill.
  var killedAt: ContinuousClock.Instant?
  /// Reported to the caller as one that KILL does not end.
  var isUnkillable = false
  /// Reported as ended in spite of survivors.
  var isToldEnded = false
  /// How often its reaper was found stopped while the tree was killed.
  var stops = 0
  /// The number of kills of the rest of the tree; the tries become rarer.
  var rounds = 0

  init(
    reference: ProcessReference, child: Int32, mark: String, group: ProcessGroup?,
    streams: [OutputStream],
    peakAtStart: UInt64, lease: ExclusiveLease?, expiries: UInt64,
    descriptor: consuming Descriptor
  ) {
    self.reference = reference
    self.child = child
    self.mark = mark
    self.group = group
    self.streams = streams
    self.peakAtStart = peakAtStart
    countsAtStart = group?.countsBefore ?? LimitCounts()
    self.lease = lease
    expiriesAtStart = expiries
    self.descriptor = consume descriptor
  }

  /// Whether a reaper gets its orphans and ends only when nothing of the tree is left.
  var hasReaper: Bool { child != reference.process }

  /// The pidfd of the reaper while it lives.
  var reaperDescriptor: Int32? {
    guard hasReaper, mainEnd == nil else { return nil }
    switch descriptor {
    case .some(let descriptor): return descriptor.number
    case nil: return nil
    }
  }

  /// Returns the caller's report; call it when the tree is gone.
  func ended(leftSomethingBehind: Bool) -> EndedProcess {
    let end = mainEnd ?? MainEnd(status: .unknown)
    for stream in streams { stream.finish() }
    let output = streams.first { $0.isOutput }
    let error = streams.first { !$0.isOutput }
    let counts = (group?.counts ?? LimitCounts()) - countsAtStart
    let wasFenced = lease.map { $0.expiries != expiriesAtStart || !$0.holds } ?? false
    return EndedProcess(
      reference: reference, status: end.status,
      peakMemory: .init(resident: end.peakBytes, floor: peakAtStart, group: group?.peak),
      userTime: end.userTime, systemTime: end.systemTime,
      outputWasCut: output?.wasCut ?? false, errorWasCut: error?.wasCut ?? false,
      outputSize: output?.finalSize, errorSize: error?.finalSize,
      leftSomethingBehind: leftSomethingBehind, memoryKills: counts.memoryKills,
      refusedProcesses: counts.refusedProcesses, wasFenced: wasFenced)
  }
}
