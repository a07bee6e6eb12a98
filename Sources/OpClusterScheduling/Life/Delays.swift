// Delayed operations, and pauses between two attempts (S150). A delay is a hold gate that opens by
// itself. The opening is a fact, like a manual
// release; the monotonic clock decides its time (G31). That clock means nothing to the next life of
// the coordinator, so that life computes the rest of the wait once, at its start, from the
// journaled wall time of the submission. The rest is never longer than the whole wait.

import HeapModule
import OpClusterModel

extension Scheduler {
  /// Sets alarms for the remaining waits of a graph, as of now.
  mutating func setAlarms(_ id: GraphID, at now: Instant, wall: WallTime) {
    let graph = id.number
    for stage in graphs[graph].delayedStages {
      guard let moment = graphs[graph].stages[stage].template.notBefore,
        graphs[graph].stages[stage].pristine.isTimed, graphs[graph].stages[stage].unfinished > 0
      else { continue }
      let rest = moment.rest(submittedAt: graphs[graph].submittedAt, now: wall)
      alarms.insert(Alarm(until: now + rest, graph: id, stage: stage))
    }
  }

  /// Sets the ends of the pauses between attempts that an earlier life began. A step for each.
  mutating func setBackoffs(at now: Instant, wall: WallTime) {
    backoffs = []
    for number in graphs.numbers {
      for (index, pause) in graphs[number].pauses.sorted(by: { $0.key < $1.key }) {
        let cell = graphs[number].cell(index)
        guard cell.flags.contains(.backingOff) else { continue }
        backoffs.insert(
          Backoff(
            until: now + pause.rest(at: wall), operation: graphs[number].operation(index),
            attempt: cell.attempt))
      }
    }
  }

  /// Opens the gates whose moment has come.
  mutating func ringAlarms(into turn: inout SchedulingTurn) {
    var room = Limits.releasesPerTurn
    while room > 0, var first = alarms.min, first.until <= turn.now {
      let runs = takeTimedMembers(of: &first, &room)
      // What is beyond this turn's limit is released in the next.
      if room > 0 { alarms.removeMin() } else { alarms.replaceMin(with: first) }
      if !runs.isEmpty { commit(.released(runs), into: &turn) }
    }
  }

  /// The first members that still wait for their moment, at most `room`, which becomes less. A step
  /// for each span, once in the life of an alarm.
  private func takeTimedMembers(of alarm: inout Alarm, _ room: inout Int) -> OperationRuns {
    var runs = OperationRuns(graph: alarm.graph)
    let graph = alarm.graph.number
    guard graphs.contains(graph) else { return runs }
    let members = graphs[graph].stages[alarm.stage].indices
    while room > 0, alarm.passed < members.count {
      let first = members.lowerBound + alarm.passed
      let span = graphs[graph].span(from: first, before: members.upperBound)
      let cell = graphs[graph].cell(first)
      var count = span.count
      if cell.isTimed, cell.phase != .finished {
        count = UInt32(min(Int(count), room))
        room -= Int(count)
        runs.append(first: first, count: count)
      }
      alarm.passed += count
    }
    return runs
  }

  /// The time until the gate of a stage opens; nil if it does not open by itself.
  func timeLeft(_ graph: GraphID, _ stage: Int, at now: Instant) -> Span? {
    let alarm = alarms.unordered.first { $0.graph == graph && $0.stage == stage }
    return alarm.map { max($0.until - now, .zero) }
  }
}
