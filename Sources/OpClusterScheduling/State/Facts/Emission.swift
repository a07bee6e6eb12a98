// Turns changes into events (S104 to S108): each operation has a gapless sequence of its own, and
// equal changes of neighbours share a run. A million elements that become ready together are one
// run. Replay counts the events, since their numbers must go on from there, and keeps none.

import OpClusterModel

extension ClusterState {
  /// Draws the next number of each operation. It wraps after 2^32 events of one operation.
  @inline(__always)
  mutating func emit(_ kind: Event.Kind, _ span: OperationSpan, into turn: inout SchedulingTurn) {
    let own = graphs[span.graph.number].update(span) { cell in
      cell.eventSequence &+= 1
      return cell.eventSequence
    }
    emitRun(kind, first: span.id, count: span.count, own: own, into: &turn)
  }

  mutating func emit(_ kind: Event.Kind, _ id: OperationID, into turn: inout SchedulingTurn) {
    let own = graphs[id.graph.number].update(id.index) { cell in
      cell.eventSequence &+= 1
      return cell.eventSequence
    }
    emitRun(kind, first: id, count: 1, own: own, into: &turn)
  }

  /// Emits the same change for `count` neighbours, each with the own sequence `own`.
  mutating func emitRun(
    _ kind: Event.Kind, first id: OperationID, count: UInt32, own: UInt32,
    into turn: inout SchedulingTurn
  ) {
    if turn.isReplay {
      counters.lastEvent += UInt64(count)
      return
    }
    // A kind without a slot closes all runs: its order to everything else must be seen.
    let slot = OpenEventRuns.slot(of: kind)
    if let slot, turn.extendRun(slot, kind, id, count: count, own: own) { return }
    turn.append(kind, .operation(id, sequence: own), count: count)
    if let slot { turn.openRuns.open(slot, at: turn.events.count) }
  }

  /// Emits that operations were cancelled and, unless they were ready, that they are ready now.
  /// Neighbours that are cancelled one after the other share both runs: nothing else may have been
  /// told in between.
  mutating func emitCancelled(
    _ reason: CancelReason, _ span: OperationSpan, tellsReady: Bool,
    into turn: inout SchedulingTurn
  ) {
    let steps: UInt32 = tellsReady ? 2 : 1
    let own = graphs[span.graph.number].update(span) { cell in
      defer { cell.eventSequence &+= steps }
      return cell.eventSequence &+ 1
    }
    let kind = Event.Kind.isCancelled(reason)
    if !turn.isReplay, turn.growCancelled(kind, span, tellsReady: tellsReady, own: own) { return }
    emitRun(kind, first: span.id, count: span.count, own: own, into: &turn)
    guard tellsReady else { return }
    emitRun(.isReady(true), first: span.id, count: span.count, own: own &+ 1, into: &turn)
  }

  mutating func emit(
    _ kind: Event.Kind, about subject: Event.Subject, into turn: inout SchedulingTurn
  ) {
    if turn.isReplay {
      counters.lastEvent += 1
      return
    }
    turn.append(kind, subject, count: 1)
  }
}

extension ClusterState {
  /// Numbers the events of a turn, and the turn itself. Called once, when nothing more is emitted:
  /// runs grow until then, and their numbers depend on all counts before them.
  mutating func close(_ turn: inout SchedulingTurn) {
    for at in turn.events.indices {
      turn.events[at].first.sequence = counters.lastEvent + 1
      counters.lastEvent += UInt64(turn.events[at].count)
    }
    if turn.isDurable { lastCommit = turn.commit }
    retired.freeSome(&classes)
    graphs.freeRetired()
    queues.freeRetired()
    workers.freeRetired()
  }
}

extension SchedulingTurn {
  fileprivate mutating func append(
    _ kind: Event.Kind, _ subject: Event.Subject, count: UInt32
  ) {
    if OpenEventRuns.slot(of: kind) == nil { openRuns.closeAll() }
    let event = Event(sequence: 0, commit: commit, time: wall, subject: subject, kind: kind)
    events.append(EventRun(first: event, count: count))
  }

  /// Adds neighbours to the newest runs; false if these do not tell the same of others.
  fileprivate mutating func growCancelled(
    _ kind: Event.Kind, _ span: OperationSpan, tellsReady: Bool, own: UInt32
  ) -> Bool {
    let at = events.count - (tellsReady ? 2 : 1)
    guard at >= 0, events[at].continues(kind, span.id, own: own) else { return false }
    if tellsReady {
      guard events[at + 1].continues(.isReady(true), span.id, own: own &+ 1) else { return false }
      events[at + 1].count += span.count
    }
    events[at].count += span.count
    return true
  }

  fileprivate mutating func extendRun(
    _ slot: Int, _ kind: Event.Kind, _ id: OperationID, count: UInt32, own: UInt32
  ) -> Bool {
    let position = openRuns[slot] - 1
    guard position >= 0, openRuns.mayGrow(slot) else { return false }
    // An earlier change of the same operation in a run behind this one: growing would reverse them.
    for earlier in 0..<slot where openRuns[earlier] - 1 > position {
      if events[openRuns[earlier] - 1].overlaps(id, count: count) { return false }
    }
    return events[position].grow(kind, id, count: count, own: own)
  }
}

extension EventRun {
  /// Takes the same change of neighbours in; false if it is another change, or of others.
  fileprivate mutating func grow(
    _ kind: Event.Kind, _ id: OperationID, count others: UInt32, own: UInt32
  ) -> Bool {
    guard continues(kind, id, own: own) else { return false }
    count += others
    return true
  }

  /// Whether the change of this operation is the same as that of its neighbours in the run.
  @inline(__always)
  fileprivate func continues(_ kind: Event.Kind, _ id: OperationID, own: UInt32) -> Bool {
    guard case .operation(let start, own) = first.subject else { return false }
    return start.graph == id.graph && start.index + count == id.index && first.kind == kind
  }

  // Inlined: a call of its own would copy the run.
  @inline(__always)
  fileprivate func overlaps(_ id: OperationID, count others: UInt32) -> Bool {
    guard case .operation(let start, _) = first.subject, start.graph == id.graph else {
      return false
    }
    return start.index < id.index + others && id.index < start.index + count
  }
}
