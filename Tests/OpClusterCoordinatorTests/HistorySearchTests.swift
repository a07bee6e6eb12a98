// Questions that look at many graphs that have ended: answered in steps, to the same end as in one
// go, however much lies between what they find (G29). Over a journal in memory.

import OpClusterJournal
import OpClusterModel
import OpClusterQueries
import OpClusterWire
import Testing

@testable import OpClusterCoordinator
@testable import OpClusterScheduling

/// A reader of ended graphs 1 to `count`; every hundredth has a label of its own and failed.
private final class Archive {
  static let rare = Label(key: "rare", value: "yes")
  let count: UInt32
  private var reader: HistoryReader

  init(count: UInt32) throws {
    self.count = count
    let journal = MemoryJournal.open(
      disk: MemoryDisk(), observer: JournalObserver(onDurable: { _ in }, onFailure: { _ in })
    ).journal
    for number in 1...count {
      let turn = JournalTurn(
        sequence: UInt64(number), epoch: 1, body: [], attachments: Archive.documents(of: number))
      #expect(journal.append(turn) == .accepted)
      journal.commit()
    }
    reader = HistoryReader(journal)
  }

  private static func documents(of number: UInt32) -> [OpClusterJournal.Attachment] {
    let isRare = number % 100 == 0
    let outcome = isRare ? Outcome.failed : .succeeded
    var submission = GraphSubmission(name: "g\(number)")
    submission.templates = [
      OperationTemplate(name: isRare ? "rare" : "often", count: 3, work: .command)
    ]
    if isRare { submission.labels = [rare] }
    var counts = StateCounts()
    counts[StateWord(outcome)] = 3
    let row = GraphRow(
      graph: GraphID(number), name: submission.name, state: isRare ? .failed : .succeeded,
      counts: counts, submittedAt: .unknown, finishedAt: .unknown, labels: submission.labels,
      allowedFailures: 0)
    let ending = GraphEnding(
      row: row, outcomes: Array(repeating: outcome.rawValue, count: 3),
      submittedAt: .unknown, finishedAt: .unknown)
    return [
      .document(
        subject: UInt64(number), kind: DocumentKind.submission.rawValue,
        body: Wire.encode(submission: submission))
    ] + DocumentKind.documents(of: ending, lastEvent: 1)
  }

  /// The reply, and after how many steps it came.
  func ask(_ what: RowsQuestion.What, _ selection: Selection) throws -> (ClientReply, Int) {
    var inquiry = HistoryInquiry(
      .rows(
        RowsQuestion(
          peer: PeerID(1), request: RequestID(1), what: what, selection: selection,
          graphs: GraphSet(ranges: [], openFrom: 1), living: .init(), last: count, lastEvent: 1,
          otherwise: Refusal(.unknownOperation, "no operation matches"))))
    for step in 1...100_000 {
      switch reader.step(&inquiry) {
      case .unfinished: continue
      case .found(.reply(_, let bytes)):
        guard case .reply(_, let reply) = try Wire.decodeClientAnswer(bytes) else {
          throw Unexpected(what: "no reply")
        }
        return (reply, step)
      case .found: throw Unexpected(what: "not a reply")
      }
    }
    throw Unexpected(what: "no end")
  }

  struct Unexpected: Error { let what: String }
}

@Suite struct HistorySearchTests {
  private let archive: Archive
  init() throws { archive = try Archive(count: 1_000) }

  private let rare = Selection(graphs: .all, labels: [Archive.rare])

  @Test func graphsAreFoundInSteps() throws {
    let (reply, steps) = try archive.ask(
      .graphs(after: nil, limit: 10, rows: [], more: false), rare)
    guard case .graphs(let rows, let more) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(rows.map(\.graph.number) == Array(stride(from: 100, through: 1_000, by: 100)))
    #expect(!more && steps > 5)
    // A page that is full needs no more than what it shows.
    let (first, one) = try archive.ask(
      .graphs(after: nil, limit: 10, rows: [], more: false), Selection(graphs: .all))
    guard case .graphs(let firstRows, true) = first else {
      Issue.record("\(first)")
      return
    }
    #expect(firstRows.map(\.graph.number) == Array(1...10) && one == 1)
  }

  @Test func operationsAreFoundInSteps() throws {
    var after: OperationID?
    var found: [OperationID] = []
    var most = 0
    while true {
      let (reply, steps) = try archive.ask(
        .operations(after: after, limit: 7, rows: [], more: false),
        Selection(graphs: .all, operation: "rare"))
      guard case .operations(let rows, let more) = reply else {
        Issue.record("\(reply)")
        return
      }
      found += rows.map(\.id)
      most = max(most, steps)
      guard more, let last = rows.last else { break }
      after = last.id
    }
    #expect(
      found
        == stride(from: 100, through: 1_000, by: 100).flatMap { graph in
          (0..<3).map { OperationID(graph: GraphID(graph), index: $0) }
        })
    #expect(most > 2)
  }

  @Test func explanationsAreFoundInSteps() throws {
    let (reply, steps) = try archive.ask(
      .explain, Selection(graphs: .all, states: [.failed]))
    guard case .explanations(let found, let more) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(found.count == 30 && !more && steps > 10)
  }

  @Test func nothingFoundIsSaid() throws {
    let (reply, _) = try archive.ask(
      .operations(after: nil, limit: 10, rows: [], more: false),
      Selection(graphs: .all, operation: "none"))
    guard case .refused(let refusal) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(refusal.code == .unknownOperation)
  }
}
