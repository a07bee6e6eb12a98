// Typed identifiers: each kind of thing has its own type, so that an index into one table cannot be
// used for another. Values only; used everywhere.

/// The number of a graph. The coordinator issues it once, from 1, and never reuses it (S2).
public struct GraphID: Hashable, Comparable, Sendable {
  public var number: UInt32
  public init(_ number: UInt32) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// One operation: its graph and its dense index there. The elements of an array are consecutive
/// operations of their own. Never reused (S2).
public struct OperationID: Hashable, Comparable, Sendable {
  public var graph: GraphID
  public var index: UInt32
  public init(graph: GraphID, index: UInt32) {
    self.graph = graph
    self.index = index
  }
  public static func < (a: Self, b: Self) -> Bool {
    (a.graph.number, a.index) < (b.graph.number, b.index)
  }
}

extension OperationID {
  /// `12/#70`, for an operation whose name is unknown.
  public var numbered: String { "\(graph.number)/#\(index)" }
}

/// The name of a stage for people: `3/align`. The graph may have ended.
public struct StageName: Hashable, Sendable {
  public var graph: GraphID
  /// The template's name; at most `Limits.nameBytes`.
  public var name: String
  public init(graph: GraphID, name: String) {
    self.graph = graph
    self.name = name
  }
  public var text: String { "\(graph.number)/\(name)" }
  /// Returns the path of one of its operations: `3/align/7`, or `3/align` for a plain one.
  ///
  /// - Parameter element: The shown number; nil for a plain operation.
  public func path(element: UInt32?) -> String { element.map { "\(text)/\($0)" } ?? text }
}

/// One attempt of an operation. Attempts count from 1 and are never reused (G14).
public struct AttemptID: Hashable, Comparable, Sendable {
  public var operation: OperationID
  public var attempt: UInt32
  public init(operation: OperationID, attempt: UInt32) {
    self.operation = operation
    self.attempt = attempt
  }
  public static func < (a: Self, b: Self) -> Bool {
    (a.operation, a.attempt) < (b.operation, b.attempt)
  }
}

/// A queue of the cluster. Its name may change (S2). `QueueID.main` always exists.
public struct QueueID: Hashable, Comparable, Sendable {
  public var number: UInt32
  public init(_ number: UInt32) { self.number = number }
  /// The queue named `default`, for operations that name no queue.
  public static let main = QueueID(0)
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// The coordinator's number of one life of a worker process; a restart gives a new one.
public struct WorkerID: Hashable, Comparable, Sendable {
  public var number: UInt32
  public init(_ number: UInt32) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// Random; distinguishes two lives of worker processes with the same name.
public struct WorkerSession: Hashable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
}

/// One socket connection to a peer, numbered by the owner of the socket. Not durable.
public struct PeerID: Hashable, Comparable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A client's own number of a request; the reply repeats it.
public struct RequestID: Hashable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
}

/// A position in the coordinator's single ordered log (S1): one per turn that changed something.
public struct CommitIndex: Hashable, Comparable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// The number of a life of the coordinator: durable, one higher at every start.
public struct Epoch: Hashable, Comparable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// One life of the coordinator. The random number distinguishes lives with the same epoch: a
/// journal that was restored from a copy counts the same epochs again.
public struct CoordinatorLife: Hashable, Sendable {
  public var epoch: Epoch
  /// Random; 0 if none was drawn.
  public var number: UInt64
  public init(_ epoch: Epoch, number: UInt64 = 0) {
    self.epoch = epoch
    self.number = number
  }
}

/// A position in the coordinator's log. A journal that was reset to an earlier state lacks it.
public struct HistoryMark: Hashable, Sendable {
  public var life: CoordinatorLife
  public var commit: CommitIndex
  public init(life: CoordinatorLife, commit: CommitIndex) {
    self.life = life
    self.commit = commit
  }
}

/// A position in the log of events: a life and its sequence.
public struct EventMark: Hashable, Sendable {
  public var life: CoordinatorLife
  public var sequence: UInt64
  public init(life: CoordinatorLife, sequence: UInt64) {
    self.life = life
    self.sequence = sequence
  }
}

/// A client's key for its submission; it identifies a repeated message (G19). At most
/// `Limits.submissionKeyBytes` bytes of UTF-8; empty: the submission cannot be repeated.
public struct SubmissionKey: Hashable, Sendable {
  public var text: String
  public init(_ text: String) { self.text = text }
}

// MARK: - Hashing

// These numbers are dense and issued by us, so nobody can choose colliding ones. A multiplication
// separates them as well as the default hash, which protects against hostile texts, at a fraction
// of its cost. The seed differs per table, as usual.

extension GraphID {
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
  public func _rawHashValue(seed: Int) -> Int { mixed(UInt64(number), seed) }
}

extension OperationID {
  public func hash(into hasher: inout Hasher) { hasher.combine(packed) }
  public func _rawHashValue(seed: Int) -> Int { mixed(packed, seed) }
  private var packed: UInt64 { UInt64(graph.number) << 32 | UInt64(index) }
}

private func mixed(_ number: UInt64, _ seed: Int) -> Int {
  var mixed = (number ^ UInt64(bitPattern: Int64(seed))) &* 0x9E37_79B9_7F4A_7C15
  mixed ^= mixed >> 32
  mixed &*= 0xD6E8_FEB8_6659_FD93
  return Int(truncatingIfNeeded: mixed ^ mixed >> 32)
}
