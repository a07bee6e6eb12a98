// Lists that merge what lives with what has ended, ascending by number and page by page. The rows
// of what lives come with the question; those of what ended are made from the documents. On the
// reader's thread.

import OpClusterModel
import OpClusterWire

extension HistoryReader {
  mutating func rows(_ question: RowsQuestion) throws -> ClientReply {
    switch question.what {
    case .graphs(let after, let limit, let rows, let more):
      return try graphs(question, after, limit, rows, more)
    case .operations(let after, let limit, let rows, let more):
      return try operations(question, after, limit, rows, more)
    case .structure:
      guard let graph = firstEnded(question, from: 1),
        let body = try document(.structure, of: graph)
      else { throw question.otherwise }
      var structure = try DocumentKind.structure(in: body)
      structure.lastEvent = max(structure.lastEvent, question.lastEvent)
      return .structure(structure)
    case .explain:
      return try explain(question)
    case .submission(let graph, let outcomes):
      return try submission(question, graph, outcomes)
    }
  }

  /// A graph as it was submitted, and how its operations ended.
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

  /// The first graph of the question from a number on that lives no more.
  private func firstEnded(_ question: RowsQuestion, from number: UInt32) -> GraphID? {
    var next = question.graphs.next(from: number)
    while let found = next, found <= question.last {
      if !question.living.holds(found) { return GraphID(found) }
      next = found == .max ? nil : question.graphs.next(from: found + 1)
    }
    return nil
  }

  // MARK: - Graphs

  private mutating func graphs(
    _ question: RowsQuestion, _ after: GraphID?, _ limit: Int, _ living: [GraphRow],
    _ livingMore: Bool
  ) throws -> ClientReply {
    var rows: [GraphRow] = []
    var rest = living[...]
    // A client may name any number; behind the last one there is nothing.
    let (first, isBeyond) = (after?.number ?? 0).addingReportingOverflow(1)
    var ended = isBeyond ? nil : firstEnded(question, from: first)
    while rows.count < limit {
      // Beyond the last living row of a page that is full, nothing can be said yet.
      if rest.isEmpty, livingMore { return .graphs(rows, more: true) }
      if let first = rest.first, ended.map({ first.graph < $0 }) ?? true {
        rows.append(first)
        rest.removeFirst()
        continue
      }
      guard let graph = ended else { return .graphs(rows, more: false) }
      if let row = try endedRow(of: graph, question.selection) { rows.append(row) }
      ended = graph.number == .max ? nil : firstEnded(question, from: graph.number + 1)
    }
    return .graphs(rows, more: !rest.isEmpty || livingMore || ended != nil)
  }

  private mutating func endedRow(
    of graph: GraphID, _ selection: Selection
  ) throws -> GraphRow? {
    guard let body = try document(.row, of: graph) else { return nil }
    let row = try Wire.decodeGraphRow(body)
    guard row.matches(selection.states) else { return nil }
    if selection.labels.allSatisfy({ row.labels.contains($0) }) { return row }
    guard let outline = try outline(of: graph) else { return nil }
    let templates = outline.submission.templates
    let isTemplates = selection.labels.allSatisfy { label in
      templates.contains { $0.labels.contains(label) }
    }
    return isTemplates ? row : nil
  }

  // MARK: - Operations

  private mutating func operations(
    _ question: RowsQuestion, _ after: OperationID?, _ limit: Int, _ living: [OperationRow],
    _ livingMore: Bool
  ) throws -> ClientReply {
    var rows: [OperationRow] = []
    var rest = living[...]
    var ended = firstEnded(question, from: max(after?.graph.number ?? 1, 1))
    var more = false
    while true {
      if rows.count >= limit {
        more = !rest.isEmpty || livingMore || ended != nil
        break
      }
      if rest.isEmpty, livingMore {
        more = true
        break
      }
      if let first = rest.first, ended.map({ first.id.graph < $0 }) ?? true {
        rows.append(first)
        rest.removeFirst()
        continue
      }
      guard let graph = ended else { break }
      if let page = try EndedGraphPage(graph, question.selection, &self) {
        let first = after.flatMap { $0.graph == graph ? $0.index.addingOne : nil } ?? 0
        // One more than there is room for says whether there is more.
        rows += page.rows(from: first, limit: limit - rows.count + 1)
        if rows.count > limit {
          rows.removeLast(rows.count - limit)
          more = true
          break
        }
      }
      ended = graph.number == .max ? nil : firstEnded(question, from: graph.number + 1)
    }
    if rows.isEmpty, after == nil { throw question.otherwise }
    let isSingle = rows.count == 1 && (limit == 1 || (!more && after == nil))
    try addAttempts(to: &rows, isSingle: isSingle)
    if isSingle { try addCommand(to: &rows[0]) }
    return .operations(rows, more: more)
  }

  /// What an ended command operation ran, for who asks for it alone; a living one has it already.
  private mutating func addCommand(to row: inout OperationRow) throws {
    guard row.command.isEmpty, let outline = try outline(of: row.id.graph),
      let stage = outline.stage(of: row.id.index),
      outline.submission.templates[stage].work == .command
    else { return }
    let template = outline.submission.templates[stage]
    row.command = template.payload
    let element = Int(row.id.index - outline.firsts[stage])
    if element < template.elementArguments.count {
      row.commandArgument = template.elementArguments[element]
    }
  }

  /// Fills in what the attempts came to, a neighbourhood of operations at a time.
  private mutating func addAttempts(to rows: inout [OperationRow], isSingle: Bool) throws {
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
  }

  // MARK: - Explanations

  private mutating func explain(_ question: RowsQuestion) throws -> ClientReply {
    var explanations: [Explanation] = []
    var more = false
    var ended = firstEnded(question, from: 1)
    while let graph = ended, !more {
      if let page = try EndedGraphPage(graph, question.selection, &self) {
        var rows = page.rows(from: 0, limit: CoordinatorLimits.explanations + 1)
        more = explanations.count + rows.count > CoordinatorLimits.explanations
        rows = Array(rows.prefix(CoordinatorLimits.explanations - explanations.count))
        try addAttempts(to: &rows, isSingle: false)
        explanations += rows.map { page.explanation(of: $0) }
      }
      ended = graph.number == .max ? nil : firstEnded(question, from: graph.number + 1)
    }
    if explanations.isEmpty { throw question.otherwise }
    return .explanations(explanations, more: more)
  }
}

extension [GraphID] {
  /// Whether an ascending list has a graph.
  fileprivate func holds(_ number: UInt32) -> Bool {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].number == number
  }
}

extension [OperationRow] {
  /// Where an operation is among ascending rows.
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

extension GraphRow {
  /// Whether a list restricted to some states shows it.
  func matches(_ states: [StateWord]) -> Bool {
    states.isEmpty
      || states.contains { word in
        word.rawValue == state.rawValue || (word == .executing && state == .running)
      }
  }
}

extension OperationRow {
  /// Takes in the end of one of its attempts; they come oldest first.
  fileprivate mutating func add(_ line: AttemptHistory, isSingle: Bool) {
    guard line.isAttempt else { return addEnd(line) }
    if isSingle { attempts.append(line) }
    guard isFinished || line.run == attempt else { return }
    attempt = line.run
    result = line.result
    workerName = line.workerName
    if line.readyAt != .unknown { readyAt = line.readyAt }
    if let reason = line.reason, isCancelled { self.reason = reason }
    if line.result.startedAt != .unknown { startedAt = line.result.startedAt }
    if isFinished, line.result.endedAt != .unknown { finishedAt = line.result.endedAt }
  }

  /// Takes in an end that was not an attempt's.
  private mutating func addEnd(_ line: AttemptHistory) {
    guard isFinished else { return }
    if let reason = line.reason { self.reason = reason }
    if line.result.cause != .none { result = line.result }
    finishedAt = line.result.endedAt
  }
}
