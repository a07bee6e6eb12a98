// The questions of the loop to the reader of the history, and the answers. Values passed between
// two threads.

import OpClusterJournal
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling

/// A question to the history. Each gets one answer, unless its asker has left.
enum HistoryQuestion: Sendable {
  case slice(SliceQuestion)
  case rows(RowsQuestion)
  case log(LogQuestion)
  /// The free space of the journal's disk (G8), and whether the journal's files still exist.
  case room
}

extension HistoryQuestion {
  /// The peer that waits for the reply; nil if the loop itself asks.
  var peer: PeerID? {
    switch self {
    case .slice, .room: nil
    case .rows(let question): question.peer
    case .log(let question): question.peer
    }
  }

  /// The approximate bytes of the question.
  var bytes: Int {
    switch self {
    case .slice, .log, .room: 256
    case .rows(let question):
      512 + question.living.bytes + question.what.bytes + question.selection.bytes
        + question.graphs.ranges.count * 8
    }
  }
}

extension RowsQuestion.What {
  fileprivate var bytes: Int {
    switch self {
    case .graphs(_, _, let rows, _): rows.count * 512
    case .operations(_, _, let rows, _): rows.count * 768
    case .submission(_, let outcomes): outcomes?.count ?? 0
    case .structure(let living):
      (living?.counts.count ?? 0) * LargeGraph.bytesPerStage
    case .explain: 0
    }
  }
}

/// A question with its intermediate results.
struct HistoryInquiry: Sendable {
  let question: HistoryQuestion
  /// Set if the answer visits many graphs.
  var search: HistorySearch?
  init(_ question: HistoryQuestion) { self.question = question }
}

enum HistoryAnswer: Sendable {
  case slice(Slice)
  /// An encoded reply.
  case reply(PeerID, [UInt8])
  case log(LogQuestion, Result<LogAnswer, Refusal>)
  case room(UInt64?, lost: JournalError?)
  /// A part of the history is damaged.
  case damaged(JournalError)
  /// A complete check since the last report found no damage.
  case sound
}

/// A request for a part of the event log for one subscription.
struct SliceQuestion: Sendable, Equatable {
  /// The number of this reading.
  var number: UInt64
  /// The first requested sequence.
  var from: UInt64
  /// Whether the subscription begins, so that the log must still reach back that far.
  var isFirst: Bool
  /// Whether to begin with the oldest event that exists.
  var isFromStart: Bool
  /// The number of events that the subscriber can receive now; no more are read.
  var room: UInt32
  var filter: EventFilter
}

struct Slice: Sendable {
  var number: UInt64
  var content: Result<Content, Refusal>

  struct Content: Sendable {
    /// Its first sequence; later than requested if the log begins later.
    var from: UInt64
    /// The runs that pass the filter, in order.
    var runs: [EventRun]
    /// The first sequence that was not considered.
    var next: UInt64
    /// The scopes of graphs that were determined and that have not ended in this slice.
    var scopes: [(GraphID, EventFilter.Scope)]
  }
}

/// A page of rows that may contain living and ended items.
struct RowsQuestion: Sendable {
  var peer: PeerID
  var request: RequestID
  var what: What
  var selection: Selection
  var graphs: GraphSet
  /// The graphs that lived when the question was asked; all others up to `last` had ended.
  var living: GraphBitmap
  var last: UInt32
  /// The newest event when the question was asked.
  var lastEvent: UInt64
  /// The refusal if the history has nothing either.
  var otherwise: Refusal

  enum What: Sendable {
    case graphs(after: GraphID?, limit: Int, rows: [GraphRow], more: Bool)
    case operations(after: OperationID?, limit: Int, rows: [OperationRow], more: Bool)
    /// `living`: the states of a living graph; the history knows those of an ended one.
    case structure(living: LargeGraph?)
    case explain
    /// `outcomes`: those of a living graph; the history knows those of an ended one.
    case submission(GraphID, outcomes: [UInt8]?)
  }
}

/// The question which worker wrote the log of an attempt that no worker holds now.
struct LogQuestion: Sendable {
  var peer: PeerID
  var request: RequestID
  var attempt: AttemptSelection
  var stream: LogStream
  var offset: Int64
  var maximumBytes: UInt32
}

struct LogAnswer: Sendable {
  var attempt: AttemptID
  var workerName: String
}
