// Converts a turn of the scheduler for the journal: its facts as one body, its events and history
// as rows. Pure; on the loop's thread.

import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

enum TurnRecords {
  /// - Parameter lastEvent: The newest event, including those of this turn.
  static func journalTurn(
    _ turn: SchedulingTurn, epoch: Epoch, lastEvent: UInt64
  ) -> JournalTurn {
    var rows = Chapters.chapters(of: turn.history)
    appendEvents(turn.events, to: &rows)
    var submissions: [GraphID: [UInt8]] = [:]
    for accepted in turn.submissions {
      // The replayed body keeps secrets; the document that others read has none (G39).
      let encoded = accepted.encoded ?? EncodedSubmission(accepted.submission)
      submissions[accepted.graph] = encoded.whole
      rows.append(
        .document(
          subject: UInt64(accepted.graph.number), kind: DocumentKind.submission.rawValue,
          body: encoded.shown))
    }
    for ending in turn.endings {
      rows += DocumentKind.documents(of: ending, lastEvent: lastEvent)
    }
    for case .graphsRemoved(let graphs) in turn.records {
      rows += graphs.map { .erasure(subject: UInt64($0.number)) }
    }
    return JournalTurn(
      sequence: turn.commit.number, epoch: epoch.number,
      body: Wire.encode(records: turn.records, submissions: submissions), attachments: rows)
  }

  /// Appends one row, or several for very many events.
  private static func appendEvents(_ runs: [EventRun], to rows: inout [Attachment]) {
    var start = 0
    var count: UInt64 = 0
    for at in runs.indices {
      let isFull =
        at - start >= CoordinatorLimits.runsPerRow
        || (at > start && count + UInt64(runs[at].count) > CoordinatorLimits.eventsPerRow)
      if isFull {
        rows.append(row(runs[start..<at], count))
        start = at
        count = 0
      }
      count += UInt64(runs[at].count)
    }
    if start < runs.count { rows.append(row(runs[start...], count)) }
  }

  private static func row(_ runs: ArraySlice<EventRun>, _ count: UInt64) -> Attachment {
    .stream(
      first: runs[runs.startIndex].first.sequence, count: UInt32(count),
      body: Wire.encode(eventRuns: Array(runs)))
  }

  /// The bytes that a turn adds to the journal, for the snapshot policy.
  static func cost(_ turn: JournalTurn) -> Int { turn.body.count + 64 }
}

extension EncodedSubmission {
  /// Costs what the submission is large.
  init(_ submission: GraphSubmission) {
    let whole = Wire.encode(submission: submission)
    self.init(
      whole: whole,
      shown: submission.secrets.isEmpty
        ? whole : Wire.encode(submission: submission.withoutSecrets))
  }
}
