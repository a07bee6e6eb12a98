// Reads what a coordinator answers as people and programs do: every page, every table, every JSON
// document, on a narrow terminal and into a pipe. A number that a message brought is used here, and
// not only decoded (G33).

import OpClusterModel
import OpClusterPresentation

struct FuzzReader {
  private var style: Style
  private var progress: GraphProgress?
  /// Something of everything, so that nothing is left out as unused.
  private(set) var characters = 0

  init(now: WallTime, isNarrow: Bool) {
    style = Style(
      width: isNarrow ? 60 : nil, usesColour: isNarrow, now: now,
      secondsEastOfUTC: isNarrow ? -43_200 : 50_400)
  }

  mutating func read(_ answer: ClientAnswer) {
    switch answer {
    case .welcome, .heartbeat: break
    case .reply(_, let reply): read(reply)
    case .events(let batch):
      for event in batch.events { read(event) }
      for run in batch.runs { read(run) }
    }
  }

  private mutating func read(_ reply: ClientReply) {
    switch reply {
    case .refused(let refusal):
      note(jsonError(code: "refused", message: refusal.message, hint: refusal.hint.forShell))
      if let wait = refusal.retryAfter { note(shownDuration(wait)) }
    case .graphs(let rows, _):
      note(graphTable(rows, style).lines(style))
      for row in rows {
        note(row.counts.sentence())
        note(jsonDocument { json in json.object { $0.fields(of: row) } })
      }
    case .operations(let rows, _):
      note(operationTable(rows, style).lines(style))
      for row in rows { read(row) }
    case .structure(let structure): read(structure)
    case .explanations(let explanations, _): note(whyPage(explanations, style))
    case .queues(let rows, _):
      note(queueTable(rows, style).lines(style))
      note(
        jsonDocument { json in
          json.array { list in for row in rows { list.object { $0.fields(of: row) } } }
        })
    case .workers(let rows):
      note(workerTable(rows, style).lines(style))
      note(
        jsonDocument { json in
          json.array { list in for row in rows { list.object { $0.fields(of: row) } } }
        })
    case .configuration(let values):
      note(rfc3339(values.wall))
      note(shownSize(values.diskReserveBytes) + shownSize(values.diskFreeBytes ?? 0))
      note(shownDuration(values.timing.lost) + "\(values.timing.fencesInTime)")
    case .log(let chunk): note(safeLog(chunk.bytes[...]))
    case .accepted, .done, .cancelled, .suspended, .effect, .changed, .submission, .pong,
      .subscribed, .enrolled, .located, .placed, .reusable:
      break
    }
  }

  private mutating func read(_ row: OperationRow) {
    note(operationPage(row, style))
    note(failurePage(row, style))
    note(jsonDocument { json in json.object { $0.fields(of: row) } })
    if let result = row.result { note(signalName(result.signal)) }
  }

  private mutating func read(_ structure: GraphStructure) {
    note(graphPage(structure, style))
    note(jsonDocument { json in json.object { $0.fields(of: structure) } })
    if structure.stages.count < 64 {
      note(GraphText.lines(structure, style))
      note(GraphSVG.document(structure) ?? "")
    }
    let names = StageIndex(structure)
    for index: UInt32 in [0, 1, 1 << 31, .max] {
      note(names.path(of: index))
    }
    let progress = GraphProgress(structure)
    note(StageTable.frame(progress, height: 24, style))
    note("\(progress.total) \(progress.finished) \(progress.executing) \(progress.failures)")
    self.progress = progress
    readEvents(of: structure, progress)
  }

  /// Events at the bounds of the stages, as far as numbers go, change counts and maps.
  private mutating func readEvents(of structure: GraphStructure, _ whole: GraphProgress) {
    var states = structure.row.counts.total <= 10_000 ? ElementStates(structure) : nil
    let bounds = structure.stages.prefix(16).flatMap {
      [$0.firstIndex, $0.firstIndex &+ $0.count, $0.firstIndex &+ ($0.count &- 1)]
    }
    for first in [0, .max] + bounds {
      for sequence in [0, structure.lastEvent, .max - 1_000, .max] {
        let room = min(UInt64(UInt32.max - first), UInt64.max - sequence, 999)
        let event = Event(
          sequence: sequence, commit: CommitIndex(1), time: .unknown,
          subject: .operation(OperationID(graph: structure.row.graph, index: first), sequence: 1),
          kind: .isExecuting(true))
        let run = EventRun(first: event, count: UInt32(room) + 1)
        var progress = whole
        progress.apply(run)
        states?.apply(run)
        note("\(progress.executing)")
      }
    }
  }

  private mutating func read(_ event: Event) {
    note(eventLine(event, names: Numbers(), style: style))
    var json = JSONText()
    json.event(event, names: Numbers())
    characters &+= json.bytes.count
  }

  private mutating func read(_ run: EventRun) {
    if progress?.apply(run) == true, let progress {
      note(StageTable.frame(progress, height: 24, style))
    }
  }

  private mutating func note(_ lines: [String]) { for line in lines { note(line) } }
  private mutating func note(_ text: String) { characters &+= text.utf8.count }

  private struct Numbers: EventNames {
    func path(of operation: OperationID) -> String {
      "\(operation.graph.number)/#\(operation.index)"
    }
    func name(of queue: QueueID) -> String { "queue \(queue.number)" }
    func name(of worker: WorkerID) -> String { "worker \(worker.number)" }
  }
}
