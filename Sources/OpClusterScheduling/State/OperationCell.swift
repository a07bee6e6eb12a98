// The state of one operation of a living graph. It exists up to a million times; a test limits its
// size (W6).

import OpClusterModel

/// The times of an operation's changes, for display.
struct Timestamps: Sendable {
  var ready = WallTime.unknown
  var started = WallTime.unknown
}

struct OperationCell: Equatable, Sendable {
  /// Unmet dependencies on single operations. The stage counts those on whole stages.
  var blockers: UInt32 = 0
  /// The worker (`WorkerID.number`) that was given it; 0 if none does.
  var worker: UInt32 = 0
  /// The number of the newest attempt; 0 before the first.
  var attempt: UInt32 = 0
  /// The sequence of its newest event (S106).
  var eventSequence: UInt32 = 0
  var flags: Flags = []
  var phase: Phase = .waiting
  /// 0 until finished; then the outcome and the mark of a harmless skip.
  var ending: Ending = Ending(rawValue: 0)
  /// Attempts that were lost with their worker.
  var losses: UInt8 = 0
  /// Attempts that failed and were followed by another.
  var failures: UInt8 = 0
  /// Attempts that began, with any end; an attempt recalled unstarted does not count.
  var runs: UInt16 = 0

  struct Flags: OptionSet, Sendable {
    let rawValue: UInt16
    static let cancelled = Flags(rawValue: 1)
    /// Handed over before its dependencies finished (S151).
    static let ahead = Flags(rawValue: 2)
    /// Priority or place differs from the template's: see `Graph.changes`.
    static let changed = Flags(rawValue: 4)
    /// The operation executes, but no attempt runs: it is in back-off, in line or handed over
    /// again.
    static let retrying = Flags(rawValue: 8)
    /// Its hold gate is closed (S44); only while it is declared or waiting.
    static let held = Flags(rawValue: 16)
    /// It is held, and its gate opens by itself at its template's moment (S150).
    static let timed = Flags(rawValue: 32)

    // Not durable:
    /// A recall is on its way to the worker.
    static let recalling = Flags(rawValue: 0x100)
    /// Must not be handed over until the request that asked for it is decided.
    static let pinned = Flags(rawValue: 0x200)
    /// Between two attempts, in its back-off.
    static let backingOff = Flags(rawValue: 0x400)
    /// An edge of it can no longer be met: it is in a list of ends, and is skipped when its turn
    /// comes. It must not become ready meanwhile.
    static let impossible = Flags(rawValue: 0x800)

    /// The flags in snapshots; all within the low byte.
    static let durable: Flags = [.cancelled, .ahead, .changed, .retrying, .held, .timed]
  }

  /// An outcome, and whether a skip was harmless: its cause is not a failure (for example a
  /// compensation that was not needed).
  struct Ending: RawRepresentable, Equatable, Sendable {
    let rawValue: UInt8
    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ outcome: Outcome, isHarmless: Bool = false) {
      rawValue = outcome.rawValue | (isHarmless ? 0x80 : 0)
    }
    var outcome: Outcome? { Outcome(rawValue: rawValue & 0x7F) }
    var isHarmless: Bool { rawValue & 0x80 != 0 }
  }

  var isCancelled: Bool { flags.contains(.cancelled) }
  var isHeld: Bool { flags.contains(.held) }
  var isTimed: Bool { flags.contains(.timed) }
  var isImpossible: Bool { flags.contains(.impossible) }
  /// Assigned: a worker was given it and has not reported its start.
  var isAssigned: Bool {
    phase == .dispatched || (phase == .executing && worker != 0 && flags.contains(.retrying))
  }
  /// The number of the run that a worker was given, else of the newest, as shown to people; 0
  /// before the first.
  var run: UInt32 { UInt32(runs) + (isAssigned ? 1 : 0) }
  /// Whether it stands in line for a worker.
  var isInLine: Bool {
    (phase == .ready || (phase == .executing && worker == 0 && !flags.contains(.backingOff)))
      && !isCancelled && !flags.contains(.pinned)
  }

  /// The state word for people.
  var word: StateWord {
    switch phase {
    case .declared: .declared
    case .waiting: isHeld ? .held : .waiting
    case .ready: .ready
    case .dispatched: .dispatched
    case .executing: isCancelled ? .stopping : .executing
    case .finished: ending.outcome.map { StateWord($0) } ?? .lost
    }
  }
}

extension OperationRuns {
  @inline(__always)
  func forEachOperation(_ body: (OperationID) -> Void) {
    forEach { body(OperationID(graph: graph, index: $0)) }
  }
}
