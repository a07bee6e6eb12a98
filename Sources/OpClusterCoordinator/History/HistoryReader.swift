// Answers questions to the history from the journal's tables: the event log, the documents of
// graphs and the chapters of attempts. On the reader's thread.

import OpClusterJournal
import OpClusterModel
import OpClusterQueries
import OpClusterWire

/// Not copyable: it holds the connection of its thread.
struct HistoryReader: ~Copyable {
  private let journal: any Journal
  private var opened: (any JournalReading)?
  /// Decoded submissions, the newest last.
  private var outlines: [GraphOutline] = []
  /// The bytes that this step has read and decoded.
  private var spent = 0
  /// The progress of the present check of all tables, and its result so far.
  private var inspection = HistoryInspection()
  private var isRoundSound = true
  /// Tables in which some rows cannot be found by every path: an answer might lack some.
  private var unsound: [HistoryTable: JournalError] = [:]
  /// Findings for the loop.
  private var findings: [HistoryAnswer] = []

  init(_ journal: any Journal) { self.journal = journal }

  /// Continues a question for a bounded time.
  mutating func step(_ inquiry: inout HistoryInquiry) -> HistoryStep<HistoryAnswer> {
    spent = 0
    switch inquiry.question {
    case .room: return .found(.room(journal.freeBytes(), lost: journal.lostFiles()))
    case .slice(let slice):
      return .found(
        .slice(Slice(number: slice.number, content: reading { try $0.slice(slice) })))
    case .log(let log): return .found(.log(log, reading { try $0.log(log) }))
    case .rows(let rows):
      switch reading({ try $0.rows(rows, &inquiry.search) }) {
      case .success(.unfinished): return .unfinished
      case .success(.found(let reply)):
        return .found(.reply(rows.peer, reply.encoded(for: rows.request)))
      case .failure(let refusal):
        return .found(.reply(rows.peer, ClientReply.refused(refusal).encoded(for: rows.request)))
      }
    }
  }

  /// Whether this step has used up its share.
  var isSpent: Bool { spent >= CoordinatorLimits.historyStepBytes }

  /// Charges the time of visiting operations, even if little is read for them.
  mutating func willLook(at operations: UInt32) { spent += Int(operations) / 16 }

  /// Runs a reading; converts disk errors to a refusal.
  private mutating func reading<Found>(
    _ body: (inout HistoryReader) throws -> Found
  ) -> Result<Found, Refusal> {
    do {
      return .success(try body(&self))
    } catch let refusal as Refusal {
      return .failure(refusal)
    } catch {
      // The next question uses a new connection.
      opened = nil
      if let error = error as? JournalError { note(error) }
      return .failure(
        Refusal(
          .busy, "the history cannot be read: \(error)",
          hint: "check the coordinator's disk and log"))
    }
  }

  // MARK: - Whether it holds

  /// Whether the ends of every table were checked; later steps of the check may take longer.
  var hasSeenEnds: Bool { inspection.hasSeenEnds }

  /// Checks the next few rows; true if they were the last, and the next check begins again.
  mutating func inspect() -> Bool {
    let table = inspection.table
    var isOver: Bool
    do throws(JournalError) {
      isOver = try tables().inspect(&inspection)
      if let error = inspection.damagedRow { note(error) }
    } catch {
      opened = nil
      note(error)
      if case .damaged = error.kind { unsound[table] = error }
      isOver = inspection.skip()
    }
    inspection.damagedRow = nil
    guard isOver else { return false }
    if isRoundSound {
      unsound.removeAll()
      findings.append(.sound)
    }
    isRoundSound = true
    inspection = HistoryInspection()
    return true
  }

  private mutating func note(_ error: JournalError) {
    isRoundSound = false
    findings.append(.damaged(error))
  }

  /// The findings since the last call.
  mutating func takeFindings() -> [HistoryAnswer] {
    defer { findings.removeAll() }
    return findings
  }

  /// The tables; throws if `table` is known to be incomplete.
  private mutating func tables(
    with table: HistoryTable
  ) throws(JournalError) -> any JournalReading {
    if let error = unsound[table] { throw error }
    return try tables()
  }

  mutating func tables() throws(JournalError) -> any JournalReading {
    if let opened { return opened }
    let fresh = try journal.makeReader()
    opened = fresh
    return fresh
  }

  // MARK: - The event log

  private mutating func slice(_ question: SliceQuestion) throws -> Slice.Content {
    let tables = try tables(with: .stream)
    var from = question.from
    if question.isFirst, let bounds = try tables.streamBounds(), bounds.lowerBound > from {
      guard question.isFromStart else {
        throw Refusal(
          .expired, "events before \(bounds.lowerBound) are no longer kept",
          hint: "look at the present state and subscribe since \(bounds.upperBound - 1)")
      }
      from = bounds.lowerBound
    }
    // Reads less if little is requested, but enough for a filter to find something.
    let bytes = min(CoordinatorLimits.sliceBytes, max(16_384, Int(question.room) * 32))
    let rows = try tables.stream(
      from: from, limit: ReadLimit(rows: CoordinatorLimits.sliceRows, bytes: bytes))
    if let first = rows.first, first.first > from {
      throw Refusal(
        .evicted, "events were dropped before they were read; last_seq=\(from - 1)",
        hint: "look at the present state and subscribe from there")
    }
    return try filtered(rows, from: from, question.filter)
  }

  private mutating func filtered(
    _ rows: [StreamRow], from: UInt64, _ wanted: EventFilter
  ) throws -> Slice.Content {
    var filter = wanted
    var content = Slice.Content(from: from, runs: [], next: from, scopes: [])
    var learned: [GraphID: EventFilter.Scope] = [:]
    reading: for row in rows {
      for whole in try Wire.decodeEventRuns(row.body) {
        guard let run = whole.suffix(from: from) else { continue }
        if let graph = filter.unknownGraph(of: run) {
          if filter.scopeBytes - wanted.scopeBytes > CoordinatorLimits.scopeBytesPerSlice {
            // The next slice continues here, without the scopes that this one has determined.
            content.next = max(from, run.first.sequence)
            break reading
          }
          let scope = try scope(of: graph, wanted.selection)
          filter.learn(scope, of: graph)
          learned[graph] = scope
        }
        filter.forEachPart(of: run) { content.runs.append($0) }
        if case .graphFinished = run.first.kind, let graph = run.graph { learned[graph] = nil }
      }
      content.next = row.first + UInt64(row.count)
    }
    content.scopes = learned.keys.sorted().compactMap { graph in
      learned[graph].map { (graph, $0) }
    }
    return content
  }

  private mutating func scope(
    of graph: GraphID, _ selection: Selection
  ) throws -> EventFilter.Scope {
    guard let outline = try outline(of: graph) else { return .nothing }
    return try EventFilter.Scope(selection, outline.submission, graph: graph)
  }

  // MARK: - Documents

  /// The submission of a graph; nil if it is no longer kept.
  mutating func outline(of graph: GraphID) throws -> GraphOutline? {
    if let at = outlines.firstIndex(where: { $0.graph == graph }) {
      spent += CoordinatorLimits.historyLookupBytes
      return outlines[at]
    }
    guard let body = try document(.submission, of: graph) else { return nil }
    let outline = GraphOutline(try Wire.decodeSubmission(body), graph: graph)
    if outlines.count >= CoordinatorLimits.outlinesKept { outlines.removeFirst() }
    outlines.append(outline)
    return outline
  }

  mutating func document(
    _ kind: DocumentKind, of graph: GraphID
  ) throws(JournalError) -> [UInt8]? {
    let body = try tables(with: .documents).document(
      subject: UInt64(graph.number), kind: kind.rawValue)
    spent += CoordinatorLimits.historyLookupBytes + (body?.count ?? 0)
    return body
  }

  // MARK: - Chapters

  /// The ends of attempts of some operations of a graph, and of operations that ended without an
  /// attempt; of each operation the oldest first.
  mutating func attempts(
    of graph: GraphID, _ members: ClosedRange<UInt32>
  ) throws -> [AttemptHistory] {
    let tables = try tables(with: .chapters)
    var found: [AttemptHistory] = []
    var after: UInt64 = 0
    while true {
      let rows = try tables.chapters(
        subject: UInt64(graph.number), overlapping: members, after: after,
        limit: ReadLimit(rows: CoordinatorLimits.sliceRows))
      spent += CoordinatorLimits.historyLookupBytes
      guard let last = rows.last else { return found }
      for row in rows {
        spent += row.body.count
        for line in try Wire.decodeHistory(row.body) {
          // Operations are far fewer than 2³², so no operation has the last number.
          let wanted = members.lowerBound..<max(members.lowerBound, members.upperBound &+ 1)
          for member in line.members.clamped(to: wanted) { found.append(line.of(member)) }
        }
      }
      after = last.row
    }
  }

  private mutating func log(_ question: LogQuestion) throws -> LogAnswer {
    let operation = question.attempt.operation
    let attempts = try attempts(of: operation.graph, operation.index...operation.index)
    let wanted = attempts.last { line in
      line.isAttempt && question.attempt.attempt.map { $0 == line.run } ?? true
    }
    guard let wanted, !wanted.workerName.isEmpty else {
      let number = question.attempt.attempt.map { "attempt \($0) of " } ?? ""
      throw Refusal(
        .noSuchLog, "nothing is known of a log of \(number)this operation",
        hint: "it has not started, or it ended before anything was noted", operations: [operation])
    }
    return LogAnswer(attempt: wanted.attempt, workerName: wanted.workerName)
  }
}
