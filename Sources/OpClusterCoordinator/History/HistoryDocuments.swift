// The layout of graph histories in the journal's documents and chapters: written with the turn that
// causes them, read by the reader. Pure; any thread.

import OpClusterJournal
import OpClusterModel
import OpClusterPresentation
import OpClusterScheduling
import OpClusterWire

/// The content of a document about a graph (its subject is the graph's number).
enum DocumentKind: Int {
  /// The original submission.
  case submission = 1
  /// The graph's row in lists, once it has ended.
  case row = 2
  /// Its row and its last event, once it has ended, as a reply to `structure` without stages: these
  /// follow from the submission and the outcomes, and need not be written in the turn in which it
  /// ends. Earlier releases wrote them.
  case structure = 3
  /// One outcome per operation, once it has ended.
  case outcomes = 4
}

extension DocumentKind {
  /// The documents of an ended graph.
  static func documents(of ending: GraphEnding, lastEvent: UInt64) -> [Attachment] {
    var structure = GraphStructure(
      row: ending.row, stages: [], groupEdges: [], elementEdges: ElementEdges(),
      elementEdgeCount: 0)
    structure.lastEvent = lastEvent
    let graph = ending.row.graph
    let subject = UInt64(graph.number)
    let isUniform = ending.outcomes.allSatisfy { $0 == ending.outcomes.first }
    let outcomes = EndedGraph(
      graph: graph, key: SubmissionKey(""), fingerprint: 0, outcome: .succeeded,
      operationCount: UInt32(ending.outcomes.count),
      outcomes: isUniform ? Array(ending.outcomes.prefix(1)) : ending.outcomes, outputs: [])
    return [
      .document(
        subject: subject, kind: row.rawValue, body: Wire.encode(graphRow: structure.row)),
      .document(
        subject: subject, kind: self.structure.rawValue,
        body: Wire.encode(
          ClientAnswer.reply(RequestID(0), .structure(structure)), wording: \.forShell)),
      .document(
        subject: subject, kind: self.outcomes.rawValue,
        body: Wire.encode(records: [.restoredEnding(outcomes)])),
    ]
  }

  static func structure(in body: [UInt8]) throws(WireError) -> GraphStructure {
    guard case .reply(_, .structure(let structure)) = try Wire.decodeClientAnswer(body) else {
      throw WireError("structure", .malformed)
    }
    return structure
  }

  static func outcomes(in body: [UInt8]) throws(WireError) -> EndedGraph {
    guard case .restoredEnding(let ended)? = try Wire.decodeRecords(body).first else {
      throw WireError("outcomes", .malformed)
    }
    return ended
  }
}

/// Groups the ends of attempts of one turn into chapters, by graph and neighbourhood, so that a
/// question about few operations reads little.
struct Chapters {
  private var chapters: [Attachment] = []

  static func chapters(of history: [AttemptHistory]) -> [Attachment] {
    guard let first = history.first else { return [] }
    let page = Chapters.page(of: first.attempt.operation)
    var sorted = Chapters()
    if history.allSatisfy({ Chapters.page(of: $0.attempt.operation) == page }) {
      sorted.add(history)
      return sorted.chapters
    }
    // Stable, since lines of one operation are ordered by time.
    let order = history.indices.sorted {
      let a = Chapters.page(of: history[$0].attempt.operation)
      let b = Chapters.page(of: history[$1].attempt.operation)
      return a == b ? $0 < $1 : a < b
    }
    var open: [AttemptHistory] = []
    for at in order {
      if let last = open.last,
        Chapters.page(of: last.attempt.operation)
          != Chapters.page(of: history[at].attempt.operation)
      {
        sorted.add(open)
        open.removeAll(keepingCapacity: true)
      }
      open.append(history[at])
    }
    sorted.add(open)
    return sorted.chapters
  }

  private static func page(of operation: OperationID) -> UInt64 {
    UInt64(operation.graph.number) << 32
      | UInt64(operation.index / CoordinatorLimits.membersPerChapter)
  }

  private mutating func add(_ lines: [AttemptHistory]) {
    var first = UInt32.max
    var last: UInt32 = 0
    for line in lines {
      first = min(first, line.attempt.operation.index)
      last = max(last, line.attempt.operation.index, line.members.last ?? 0)
    }
    chapters.append(
      .chapter(
        subject: UInt64(lines[0].attempt.operation.graph.number), first: first, last: last,
        body: Wire.encode(history: lines)))
  }
}
