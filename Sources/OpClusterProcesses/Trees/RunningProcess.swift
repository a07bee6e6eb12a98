// What the host keeps of one operation's process tree while any of it exists.

import CProcess
import Glibc

/// One started process with its tree, its group and its streams. Belongs to `ProcessHost`.
final class RunningProcess {
  let reference: ProcessReference
  /// The child that is waited for: the main process, or the reaper above it.
  let child: Int32
  /// The environment entry that the whole tree carries.
  let mark: String
  /// Nil where the kernel allows no group: the tree is then found in the process table.
  let group: ProcessGroup?
  let streams: [OutputStream]
  /// The worker's own peak when the process started; see ``EndedProcess/PeakMemory``.
  let peakAtStart: UInt64
  /// What the group's limits had done before.
  let countsAtStart: LimitCounts
  /// The lease by which it lives, and how often that had run out when it started; nil: it is not
  /// exclusive, or nobody else could have it.
  let lease: ExclusiveLease?
  private let expiriesAtStart: UInt64
  /// Readable when the main process has ended; nil once that was seen.
  var descriptor: Descriptor?
  /// How the main process ended; nil while it runs.
  var mainEnd: MainEnd?
  /// Set when all of the tree is to be killed now.
  var isCondemned = false
  /// When its killing began.
  var killedAt: ContinuousClock.Instant?
  /// Told to the caller as one that KILL does not end.
  var isUnkillable = false
  /// Its end was told all the same.
  var isToldEnded = false
  /// How often the rest of the tree was killed since; the tries become rarer.
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

  /// Whether a reaper gets its orphans, and ends only when nothing of it is left.
  var hasReaper: Bool { child != reference.process }

  /// A pidfd of the reaper while it lives.
  var reaperDescriptor: Int32? {
    guard hasReaper, mainEnd == nil else { return nil }
    switch descriptor {
    case .some(let descriptor): return descriptor.number
    case nil: return nil
    }
  }

  /// What the caller is told; to be asked when the tree is gone.
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
