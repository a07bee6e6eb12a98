// Shows an event as one line for people: `01:40:48.123 12/align/3 executing attempt 1 on w1`.
// One line per event, without colours of its own meaning: the words say everything.

public import OpClusterModel

/// Returns one line of `events` and `story`, without its line end.
/// - Parameter names: From the caller's structures; a name that is not known is a number.
/// - Parameter style: Its zone applies to the time, its width does not: lines of a log are not cut.
public func eventLine(_ event: Event, names: some EventNames, style: Style) -> String {
  let civil = CivilTime(event.time, secondsEastOfUTC: style.secondsEastOfUTC)
  // A thousand is added so that milliseconds have three digits.
  let time = civil.clock + "." + String(String(1000 + civil.millisecond).dropFirst())
  let (words, tone) = eventWords(event.kind, names: names)
  let subject = safe(subjectName(event.subject, names: names))
  let line = StyledLine([
    .init(time, .faint), .init("  "), .init(pad(subject, to: 14), .strong), .init("  "),
    // Names and reasons are made safe as a whole, since words and foreign text are mixed here.
    .init(safe(words), tone),
  ])
  return line.text(style)
}

private func subjectName(_ subject: Event.Subject, names: some EventNames) -> String {
  switch subject {
  case .operation(let id, _): names.path(of: id)
  case .graph(let id): "\(id.number)"
  case .queue(let id): "queue " + names.name(of: id)
  case .worker(let id): "worker " + names.name(of: id)
  }
}

/// Words and tone of events about operations; those of graphs, queues and workers follow.
private func eventWords(_ kind: Event.Kind, names: some EventNames) -> (String, Tone) {
  switch kind {
  case .isReady(let value): return value ? ("ready", .plain) : ("not ready any more", .faint)
  case .isExecuting(let value): return value ? ("executing", .active) : ("not executing", .faint)
  case .isFinished(let outcome):
    let word = StateWord(outcome)
    return ("finished: " + word.rawValue, word.tone)
  case .isCancelled(let reason):
    let detail = reasonDetail(reason, names: names)
    switch reason {
    case .request: return ("cancelled by request" + (detail.map { ": " + $0 } ?? ""), .warning)
    case .dependency: return ("skipped because " + (detail ?? "of a dependency"), .warning)
    case .failurePolicy: return ("cancelled by the graph's failure policy", .warning)
    }
  case .attemptStarted(let attempt, let worker):
    return ("attempt \(attempt) on \(names.name(of: worker))", .plain)
  case .attemptEnded(let attempt, let cause):
    return ("attempt \(attempt) ended: \(cause.sentence); to be tried again", .warning)
  case .completion: return ("completion", .faint)
  case .priority(let priority): return ("priority \(priority.word)", .plain)
  case .isHeld(let value): return value ? ("held", .warning) : ("released", .plain)
  case .dependencyAdded(let id, let policy):
    let when = policy == .succeeded ? "" : " (\(policy.word))"
    return ("now needs " + names.path(of: id) + when, .plain)
  case .dependencyRemoved(let id):
    return ("does not need \(names.path(of: id)) any more", .plain)
  case .enqueued(let queue): return ("into queue " + names.name(of: queue), .plain)
  default: return clusterWords(kind)
  }
}

/// The last line lists all other kinds, so that a new one does not compile before it has words.
private func clusterWords(_ kind: Event.Kind) -> (String, Tone) {
  switch kind {
  case .graphSubmitted(let operations):
    ("submitted, " + shownCount(operations, "operation"), .plain)
  case .graphSuspended(let value): (value ? "suspended" : "resumed", .warning)
  case .graphFinished(.succeeded): ("succeeded", .good)
  case .graphFinished(.failed): ("failed", .bad)
  case .graphFinished(.cancelled): ("cancelled", .warning)
  case .queueCreated(let settings): ("created" + settingsWords(settings), .plain)
  case .queueChanged(let settings): ("changed" + settingsWords(settings), .plain)
  case .queueRemoved: ("removed", .plain)
  case .queueCount(let count): (shownCount(count, "operation"), .faint)
  case .workerJoined: ("joined", .good)
  case .workerLost: ("lost", .bad)
  case .workerDraining: ("draining", .warning)
  case .workerLeft: ("left", .plain)
  case .workerSetAside(let stage, let reason):
    if let stage {
      ("given no operations of \(stage.text): \(reason)", .warning)
    } else {
      ("set aside: \(reason)", .warning)
    }
  case .workerResumed(let stage):
    (stage.map { "given operations of \($0.text) again" } ?? "given operations again", .good)
  case .isReady, .isExecuting, .isFinished, .isCancelled, .attemptStarted, .attemptEnded,
    .completion, .priority, .isHeld, .dependencyAdded, .dependencyRemoved, .enqueued:
    ("", .plain)
  }
}

/// After a change of a queue people look for these: limit, service, suspension, workers.
private func settingsWords(_ settings: QueueSettings) -> String {
  let limit = settings.maximumConcurrent.map { "at most \(shownCount($0))" } ?? "no limit"
  let pool = settings.pool.map(\.text).joined(separator: ",")
  return ": \(limit), \(settings.qos.word)" + (settings.isSuspended ? ", suspended" : "")
    + (pool.isEmpty ? "" : ", on workers with \(pool)")
}
