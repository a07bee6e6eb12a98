// Names for numbers: every kind of thing has its own identifier type, so that an index into one
// table cannot be used for another. Values only; used on every floor.

/// What one submission makes. Issued once by the coordinator, from 1, and never reused (S2).
public struct GraphID: Hashable, Comparable, Sendable {
  public var number: UInt32
  public init(_ number: UInt32) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// One operation: the graph and the dense index in it. Elements of an array are operations of
/// their own and follow each other. Never reused (S2).
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
  /// `12/#70`, where nobody knows the operation's name.
  public var numbered: String { "\(graph.number)/#\(index)" }
}

/// A stage as people name it: `3/align`. Its graph may have ended.
public struct StageName: Hashable, Sendable {
  public var graph: GraphID
  /// Of the template; at most `Limits.nameBytes`.
  public var name: String
  public init(graph: GraphID, name: String) {
    self.graph = graph
    self.name = name
  }
  public var text: String { "\(graph.number)/\(name)" }
  /// An operation of it: `3/align/7`, or `3/align` where it has one alone.
  ///
  /// - Parameter element: The number that people see; nil for a plain operation.
  public func path(element: UInt32?) -> String { element.map { "\(text)/\($0)" } ?? text }
}

/// One start of an operation: "12nd operation of graph 3, second attempt". Attempts count from 1
/// and are never reused (G14).
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

/// A queue of the cluster; its name is free to change (S2). `QueueID.main` exists always.
public struct QueueID: Hashable, Comparable, Sendable {
  public var number: UInt32
  public init(_ number: UInt32) { self.number = number }
  /// The queue named `default`, which takes what names no other.
  public static let main = QueueID(0)
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// One life of a worker process as the coordinator knows it; a restarted worker gets a new one.
public struct WorkerID: Hashable, Comparable, Sendable {
  public var number: UInt32
  public init(_ number: UInt32) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// Random, one per worker process life: tells two lives of a worker with the same name apart.
public struct WorkerSession: Hashable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
}

/// A conversation with a peer: one socket connection, numbered by the body that owns the socket.
/// Not durable.
public struct PeerID: Hashable, Comparable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A client's own number for a request; the reply carries it back.
public struct RequestID: Hashable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
}

/// Position in the coordinator's single ordered log (S1): one per turn that changed something.
public struct CommitIndex: Hashable, Comparable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// Which life of the coordinator: durable, one higher at every start.
public struct Epoch: Hashable, Comparable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
  public static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// One life of the coordinator, told apart from every other: a journal that was restored from a
/// copy counts the same epochs once more, with other numbers.
public struct CoordinatorLife: Hashable, Sendable {
  public var epoch: Epoch
  /// Random; 0 where nobody drew one.
  public var number: UInt64
  public init(_ epoch: Epoch, number: UInt64 = 0) {
    self.epoch = epoch
    self.number = number
  }
}

/// How far somebody knows the coordinator's log: what they were told was decided by this commit, in
/// this life. A journal that went back does not know the place.
public struct HistoryMark: Hashable, Sendable {
  public var life: CoordinatorLife
  public var commit: CommitIndex
  public init(life: CoordinatorLife, commit: CommitIndex) {
    self.life = life
    self.commit = commit
  }
}

/// The same of the log of events.
public struct EventMark: Hashable, Sendable {
  public var life: CoordinatorLife
  public var sequence: UInt64
  public init(life: CoordinatorLife, sequence: UInt64) {
    self.life = life
    self.sequence = sequence
  }
}

/// A client's name for its submission, so that a repeated message is recognised (G19).
/// At most `Limits.submissionKeyBytes` bytes of UTF-8; empty means: not repeatable.
public struct SubmissionKey: Hashable, Sendable {
  public var text: String
  public init(_ text: String) { self.text = text }
}

// MARK: - Hashing

// These numbers are ours and dense: nobody can choose them so that they collide. A multiplication
// tells them apart as well as the hash that is made for text of strangers, at a fraction of the
// cost of a look-up. The seed keeps the order of two tables apart, as everywhere.

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
