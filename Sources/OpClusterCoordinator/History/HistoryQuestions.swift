// What the loop asks the reader of the history, and what it answers. Values on their way between
// two threads.

import OpClusterJournal
import OpClusterModel
import OpClusterQueries

/// A question to the history. Each is answered once, unless whoever asked has gone.
enum HistoryQuestion: Sendable {
  case slice(SliceQuestion)
  case rows(RowsQuestion)
  case log(LogQuestion)
  /// How much room the journal's disk has (G8), and whether its files are still there.
  case room
}

extension HistoryQuestion {
  /// Who waits for a reply to it; nil where the loop itself wants to know.
  var peer: PeerID? {
    switch self {
    case .slice, .room: nil
    case .rows(let question): question.peer
    case .log(let question): question.peer
    }
  }

  /// What it carries along, about.
  var bytes: Int {
    switch self {
    case .slice, .log, .room: 256
    case .rows(let question):
      512 + question.living.count * 4 + question.what.bytes + question.selection.bytes
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
    case .structure, .explain: 0
    }
  }
}

/// A question with what has been found so far.
struct HistoryInquiry: Sendable {
  let question: HistoryQuestion
  /// Where the answer takes a look at many graphs.
  var search: HistorySearch?
  init(_ question: HistoryQuestion) { self.question = question }
}

enum HistoryAnswer: Sendable {
  case slice(Slice)
  case reply(PeerID, RequestID, ClientReply)
  case log(LogQuestion, Result<LogAnswer, Refusal>)
  case room(UInt64?, lost: JournalError?)
  /// Something of the history does not hold.
  case damaged(JournalError)
  /// Everything was looked at since it was said last, and all of it holds.
  case sound
}

/// Part of the event log for one subscription.
struct SliceQuestion: Sendable, Equatable {
  /// The number of this reading.
  var number: UInt64
  /// The first sequence that is wanted.
  var from: UInt64
  /// The subscription begins: does the log still go back so far?
  var isFirst: Bool
  /// As far back as there is, wherever that may be.
  var isFromStart: Bool
  /// Events that the subscriber can take now: no more need be read.
  var room: UInt32
  var filter: EventFilter
}

struct Slice: Sendable {
  var number: UInt64
  var content: Result<Content, Refusal>

  struct Content: Sendable {
    /// Where it begins; later than asked for where the log does.
    var from: UInt64
    /// What the filter lets pass, in order.
    var runs: [EventRun]
    /// The first sequence that was not looked at.
    var next: UInt64
    /// What had to be found out about graphs that have not ended in this slice.
    var scopes: [(GraphID, EventFilter.Scope)]
  }
}

/// A page of rows that may come from what lives and from what has ended.
struct RowsQuestion: Sendable {
  var peer: PeerID
  var request: RequestID
  var what: What
  var selection: Selection
  var graphs: GraphSet
  /// Graphs that lived when the question was asked, ascending; all others up to `last` ended.
  var living: [GraphID]
  var last: UInt32
  /// The newest event when it was asked.
  var lastEvent: UInt64
  /// What to say when the history has nothing either.
  var otherwise: Refusal

  enum What: Sendable {
    case graphs(after: GraphID?, limit: Int, rows: [GraphRow], more: Bool)
    case operations(after: OperationID?, limit: Int, rows: [OperationRow], more: Bool)
    case structure
    case explain
    /// `outcomes`: of a graph that lives; the history knows those of one that has ended.
    case submission(GraphID, outcomes: [UInt8]?)
  }
}

/// Which worker wrote the log of an attempt that nobody holds now.
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
