// Lists of living and ended items, ascending by number and page by page. Living rows come with the
// question; ended ones are made from documents, which may require a visit to every graph that ever
// existed. So a search stops after each bounded step and continues in its next turn. On the
// reader's thread.

import OpClusterModel
import OpClusterQueries
import OpClusterScheduling
import OpClusterWire

/// What a bounded step of a question has led to.
enum HistoryStep<Found> {
  case found(Found)
  /// It continues with its next step.
  case unfinished
}

/// The progress of a search.
enum HistorySearch: Sendable {
  case graphs(GraphSearch)
  case operations(OperationSearch)
  case explanations(ExplanationSearch)
}

extension HistoryReader {
  /// Continues with a question for a bounded time.
  mutating func rows(
    _ question: RowsQuestion, _ search: inout HistorySearch?
  ) throws -> HistoryStep<ClientReply> {
    switch question.what {
    case .graphs, .operations, .explain:
      if search == nil { search = HistorySearch(question) }
      return try search?.step(question, &self) ?? .unfinished
    case .structure(let living):
      var structure = try living.map { try self.structure(of: $0) } ?? endedStructure(question)
      structure.lastEvent = max(structure.lastEvent, question.lastEvent)
      return .found(.structure(structure))
    case .submission(let graph, let outcomes):
      return .found(try submission(question, graph, outcomes))
    }
  }

  private mutating func endedStructure(_ question: RowsQuestion) throws -> GraphStructure {
    guard let graph = question.ended(from: 1), let body = try document(.structure, of: graph)
    else { throw question.otherwise }
    let short = try DocumentKind.structure(in: body)
    if !short.stages.isEmpty { return short }
    guard let outline = try outline(of: graph), let outcomes = try document(.outcomes, of: graph)
    else { throw question.otherwise }
    let ended = try DocumentKind.outcomes(in: outcomes)
    willLook(at: ended.operationCount)
    var structure = outline.submission.structure(short.row, outcomes: ended.outcomes)
    structure.lastEvent = short.lastEvent
    return structure
  }

  private mutating func structure(of living: LargeGraph) throws -> GraphStructure {
    guard let outline = try outline(of: living.row.graph) else {
      throw Refusal(.unknownGraph, "the submission of graph \(living.row.graph.number) is not kept")
    }
    return outline.submission.structure(living.row, counts: living.counts)
  }

  /// A graph's submission, and the outcomes of its operations.
  private mutating func submission(
    _ question: RowsQuestion, _ graph: GraphID, _ living: [UInt8]?
  ) throws -> ClientReply {
    guard let outline = try outline(of: graph) else { throw question.otherwise }
    if let living { return .submission(outline.submission, outcomes: living) }
    guard let body = try document(.outcomes, of: graph) else { throw question.otherwise }
    let ended = try DocumentKind.outcomes(in: body)
    let outcomes =
      ended.outcomes.count == 1
      ? Array(repeating: ended.outcomes[0], count: Int(ended.operationCount)) : ended.outcomes
    return .submission(outline.submission, outcomes: outcomes)
  }
}

extension RowsQuestion {
  /// The first ended graph of the selection, from a number on.
  fileprivate func ended(from number: UInt32) -> GraphID? {
    var next = graphs.next(from: number)
    while let found = next, found <= last, let absent = living.nextAbsent(from: found) {
      if absent == found { return GraphID(found) }
      next = graphs.next(from: absent)
    }
    return nil
  }

  fileprivate func ended(after graph: GraphID) -> GraphID? {
    graph.number == .max ? nil : ended(from: graph.number + 1)
  }
}

extension HistorySearch {
  /// nil: the question concerns one graph.
  init?(_ question: RowsQuestion) {
    switch question.what {
    case .graphs(let after, let limit, let rows, let more):
      self = .graphs(GraphSearch(question, after, limit, rows, more))
    case .operations(let after, let limit, let rows, let more):
      self = .operations(OperationSearch(question, after, limit, rows, more))
    case .explain:
      self = .explanations(ExplanationSearch(question))
    case .structure, .submission: return nil
    }
  }

  /// Continues for a bounded time.
  fileprivate mutating func step(
    _ question: RowsQuestion, _ reader: inout HistoryReader
  ) throws -> HistoryStep<ClientReply> {
    switch self {
    case .graphs(var search):
      defer { self = .graphs(search) }
      return try search.step(question, &reader)
    case .operations(var search):
      defer { self = .operations(search) }
      return try search.step(question, &reader)
    case .explanations(var search):
      defer { self = .explanations(search) }
      return try search.step(question, &reader)
    }
  }
}

// MARK: - Graphs

/// A page of graphs.
struct GraphSearch: Sendable {
  private let limit: Int
  private var rows: [GraphRow] = []
  /// The living graphs that are not yet among the rows.
  private var rest: ArraySlice<GraphRow>
  private let livingMore: Bool
  /// The next ended graph to visit.
  private var ended: GraphID?

  fileprivate init(
    _ question: RowsQuestion, _ after: GraphID?, _ limit: Int, _ living: [GraphRow],
    _ livingMore: Bool
  ) {
    self.limit = limit
    rest = living[...]
    self.livingMore = livingMore
    // A client may name any number; behind the last one there is nothing.
    let (first, isBeyond) = (after?.number ?? 0).addingReportingOverflow(1)
    ended = isBeyond ? nil : question.ended(from: first)
  }

  fileprivate mutating func step(
    _ question: RowsQuestion, _ reader: inout HistoryReader
  ) throws -> HistoryStep<ClientReply> {
    while rows.count < limit {
      // Behind the last living row of a full page the next living graphs are unknown.
      if rest.isEmpty, livingMore { return .found(.graphs(rows, more: true)) }
      if let first = rest.first, ended.map({ first.graph < $0 }) ?? true {
        rows.append(first)
        rest.removeFirst()
        continue
      }
      guard let graph = ended else { return .found(.graphs(rows, more: false)) }
      if reader.isSpent { return .unfinished }
      if let row = try reader.endedRow(of: graph, question.selection) { rows.append(row) }
      ended = question.ended(after: graph)
    }
    return .found(.graphs(rows, more: !rest.isEmpty || livingMore || ended != nil))
  }
}

extension HistoryReader {
  fileprivate mutating func endedRow(
    of graph: GraphID, _ selection: Selection
  ) throws -> GraphRow? {
    guard let body = try document(.row, of: graph) else { return nil }
    let row = try Wire.decodeGraphRow(body)
    guard row.state.isMeant(by: selection.states) else { return nil }
    if selection.labels.allSatisfy({ row.labels.contains($0) }) { return row }
    guard let outline = try outline(of: graph) else { return nil }
    return OperationFilter.carries(selection.labels, outline) ? row : nil
  }
}

// MARK: - Operations

/// A page of operations.
struct OperationSearch: Sendable {
  private let after: OperationID?
  private let limit: Int
  private var rows: [OperationRow] = []
  private let filter: OperationFilter
  /// The living operations that are not yet among the rows.
  private var rest: ArraySlice<OperationRow>
  private let livingMore: Bool
  /// The next ended graph to visit.
  private var ended: GraphID?

  fileprivate init(
    _ question: RowsQuestion, _ after: OperationID?, _ limit: Int, _ living: [OperationRow],
    _ livingMore: Bool
  ) {
    self.after = after
    self.limit = limit
    filter = OperationFilter(question.selection)
    rest = living[...]
    self.livingMore = livingMore
    ended = question.ended(from: max(after?.graph.number ?? 1, 1))
  }

  fileprivate mutating func step(
    _ question: RowsQuestion, _ reader: inout HistoryReader
  ) throws -> HistoryStep<ClientReply> {
    while rows.count < limit {
      if rest.isEmpty, livingMore { return try page(question, &reader, more: true) }
      if let first = rest.first, ended.map({ first.id.graph < $0 }) ?? true {
        rows.append(first)
        rest.removeFirst()
        continue
      }
      guard let graph = ended else { return try page(question, &reader, more: false) }
      if reader.isSpent { return .unfinished }
      if let found = try EndedGraphPage(graph, filter, &reader) {
        let first = after.flatMap { $0.graph == graph ? $0.index.addingOne : nil } ?? 0
        // One row more than there is room for shows whether there is more.
        rows += found.rows(from: first, limit: limit - rows.count + 1)
        if rows.count > limit {
          rows.removeLast(rows.count - limit)
          return try page(question, &reader, more: true)
        }
      }
      ended = question.ended(after: graph)
    }
    return try page(question, &reader, more: !rest.isEmpty || livingMore || ended != nil)
  }

  private mutating func page(
    _ question: RowsQuestion, _ reader: inout HistoryReader, more: Bool
  ) throws -> HistoryStep<ClientReply> {
    if rows.isEmpty, after == nil { throw question.otherwise }
    let isSingle = rows.count == 1 && (limit == 1 || (!more && after == nil))
    try reader.addAttempts(to: &rows, isSingle: isSingle)
    if isSingle { try reader.addCommand(to: &rows[0]) }
    return .found(.operations(rows, more: more))
  }
}

extension HistoryReader {
  /// Adds the command of an ended command operation, for a request of a single one; a living one
  /// has it.
  fileprivate mutating func addCommand(to row: inout OperationRow) throws {
    guard row.command.isEmpty, let outline = try outline(of: row.id.graph),
      let stage = outline.stage(of: row.id.index),
      outline.submission.templates[stage].work == .command
    else { return }
    let template = outline.submission.templates[stage]
    row.command = template.payload
    let element = Int(row.id.index - outline.indices(of: stage).lowerBound)
    if element < template.elementArguments.count {
      row.commandArgument = template.elementArguments[element]
    }
  }

  /// Adds the results of attempts, one neighbourhood of operations at a time.
  fileprivate mutating func addAttempts(to rows: inout [OperationRow], isSingle: Bool) throws {
    var start = 0
    while start < rows.count {
      let graph = rows[start].id.graph
      let first = rows[start].id.index
      var end = start + 1
      while end < rows.count, rows[end].id.graph == graph,
        rows[end].id.index - first < CoordinatorLimits.membersPerChapter
      {
        end += 1
      }
      if rows[start..<end].contains(where: { $0.attempt > 0 || $0.isFinished }) {
        let found = try attempts(of: graph, first...rows[end - 1].id.index)
        for line in found {
          guard let at = rows.position(of: line.attempt.operation, in: start..<end) else {
            continue
          }
          rows[at].add(line, isSingle: isSingle)
        }
      }
      start = end
    }
    try nameUnexpectedZeros(in: &rows)
  }

  /// Marks failures with exit status 0, which look like successes: a command may name its own
  /// statuses of success. Visits rows that ended so, and the command of each of their stages once.
  private mutating func nameUnexpectedZeros(in rows: inout [OperationRow]) throws {
    var known: [GraphID: [Int: Bool]] = [:]
    for at in rows.indices {
      let hasZero =
        rows[at].result?.isZeroFailure == true
        || rows[at].attempts.contains { $0.result.isZeroFailure }
      let graph = rows[at].id.graph
      guard hasZero, let outline = try outline(of: graph),
        let stage = outline.stage(of: rows[at].id.index)
      else { continue }
      let isUnexpected = known[graph]?[stage] ?? outline.refusesZero(stage)
      known[graph, default: [:]][stage] = isUnexpected
      if isUnexpected { rows[at].nameUnexpectedZeros() }
    }
  }
}

extension GraphOutline {
  fileprivate func refusesZero(_ stage: Int) -> Bool {
    guard submission.templates[stage].work == .command,
      let command = try? Wire.decodeCommand(submission.templates[stage].payload)
    else { return false }
    return !command.successStatuses.isEmpty && !command.successStatuses.contains(0)
  }
}

extension AttemptResult {
  fileprivate var isZeroFailure: Bool { cause == .failed && exitStatus == 0 && signal == 0 }

  fileprivate mutating func nameUnexpectedZero() {
    guard isZeroFailure else { return }
    let said = diagnostic.isEmpty ? "" : "\n" + diagnostic
    diagnostic = "exit status 0 is not one of its ok_exit_codes" + said
  }
}

extension OperationRow {
  fileprivate mutating func nameUnexpectedZeros() {
    result?.nameUnexpectedZero()
    for at in attempts.indices { attempts[at].result.nameUnexpectedZero() }
  }
}

// MARK: - Explanations

/// The reasons for the ends of operations.
struct ExplanationSearch: Sendable {
  private var explanations: [Explanation] = []
  private let filter: OperationFilter
  /// The next ended graph to visit.
  private var ended: GraphID?

  fileprivate init(_ question: RowsQuestion) {
    filter = OperationFilter(question.selection)
    ended = question.ended(from: 1)
  }

  fileprivate mutating func step(
    _ question: RowsQuestion, _ reader: inout HistoryReader
  ) throws -> HistoryStep<ClientReply> {
    let most = Limits.explanationsPerReply
    while let graph = ended {
      if reader.isSpent { return .unfinished }
      if let page = try EndedGraphPage(graph, filter, &reader) {
        var rows = page.rows(from: 0, limit: most + 1)
        let more = explanations.count + rows.count > most
        rows = Array(rows.prefix(most - explanations.count))
        try reader.addAttempts(to: &rows, isSingle: false)
        explanations += rows.map { page.explanation(of: $0) }
        if more { return .found(.explanations(explanations, more: true)) }
      }
      ended = question.ended(after: graph)
    }
    if explanations.isEmpty { throw question.otherwise }
    return .found(.explanations(explanations, more: false))
  }
}

// MARK: - Rows

extension [OperationRow] {
  /// The position of an operation among ascending rows.
  fileprivate func position(of id: OperationID, in range: Range<Int>) -> Int? {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high {
      let middle = (low + high) / 2
      if self[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low < range.upperBound && self[low].id == id ? low : nil
  }
}

extension UInt32 {
  fileprivate var addingOne: UInt32 { self == .max ? self : self + 1 }
}
