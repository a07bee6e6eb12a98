// One turn of the coordinator's loop, which is a transaction:
//
//   sleep → take messages of other threads → receive frames (`WorkerMessages`, `ClientMessages`) →
//   the scheduler decides → append to the journal (`TurnCommit`) → send durable effects
//   (`DurableEffects`) → attend to clients (`Clients`)
//
// It waits only in `sleep`. While the journal accepts nothing because the disk is too slow, the
// loop receives nothing and the scheduler's time stands still, so that no worker is lost for that
// reason.

import Logging
import OpClusterHTTP
import OpClusterJournal
import OpClusterMetrics
import OpClusterModel
import OpClusterScheduling
import OpClusterSystem
import OpClusterZeroMQ

extension CoordinatorLoop {
  func run(
    metrics: HTTPAddress?, onReady: (CoordinatorReady) -> Void
  ) -> CoordinatorEnd {
    joinPoller()
    let ready = CoordinatorReady(
      clientEndpoint: clients.endpoint, workerEndpoint: workers.endpoint, epoch: scheduler.epoch,
      stateFolder: settings.stateFolder, metrics: metrics)
    let memory = settings.memory.map { "\($0.resident >> 20) MiB" } ?? "unknown"
    logger.info(
      "serving", metadata: ["epoch": "\(scheduler.epoch.number)", "memory": "\(memory)"])
    onReady(ready)
    watch.service?.ready("serving as epoch \(scheduler.epoch.number)", at: MonotonicClock.now())
    do throws(CoordinatorError) {
      while end == nil { try step() }
    } catch {
      end = .failed(error)
    }
    return finish()
  }

  private func joinPoller() {
    if let descriptor = keys.access?.descriptor { wakeups.add(descriptor) }
    workers.join(&wakeups.poller)
    clients.join(&wakeups.poller)
  }

  private func step() throws(CoordinatorError) {
    try sleep()
    clock.now = .now
    admission.queue.beginTurn(at: now)
    defer { admission.queue.endTurn(at: .now) }
    limitConnections()
    cutUnendedMessages()
    takeSignals()
    takeNotices()
    attendToKeys()
    guard end == nil else { return }
    appendWaiting()
    if isStalled { keepTalking() } else { decide() }
    speak()
    attend()
    forgetRemoved()
    considerSnapshot()
    settle()
    // Last, so that only a complete turn feeds the watchdog.
    watchThreads()
  }

  /// Settles the journal once no operation unknown to a restored journal can still run (G16).
  private func settle() {
    guard !commits.isSettled, !commits.isClosed, scheduler.isSettled(at: now) else { return }
    commits.isSettled = commits.journal.settle() == .accepted
  }

  /// Runs one turn of the scheduler, if there is anything to decide.
  private func decide() {
    var past = work.turn.takeLarge()
    if past != nil { sources.preparation.free(&past) }
    work.turn.begin(at: now, wall: .now)
    work.hasInput = false
    let start = Instant.now
    // Asked before anything is heard: what that changes is due in the next turn.
    let isTickDue = now >= nextTick
    hear()
    for peer in work.pendingGone {
      work.hasInput = true
      scheduler.handle(.gone(peer), into: &work.turn)
    }
    work.pendingGone.removeAll(keepingCapacity: true)
    if isTickDue {
      clock.lastTick = now
      work.hasInput = true
      scheduler.handle(.tick(durable: CommitIndex(commits.release.durable)), into: &work.turn)
    }
    let heardEverybody = Instant.now
    if work.hasInput { scheduler.close(&work.turn) }
    let decided = Instant.now
    if !work.turn.lies.isEmpty { answerLies() }
    if work.hasInput || work.hasQuestions { keep() }
    let end = Instant.now
    if work.hasInput {
      operatorLog.figures.noteTurn([
        (.hear, heardEverybody - start), (.decide, decided - heardEverybody),
        (.keep, end - decided),
      ])
    }
    clock.lastRest = end - heardEverybody
    admission.queue.chargeRest(end - heardEverybody, after: heardEverybody - start, at: end)
  }

  /// Sends heartbeats while everything else waits for the disk.
  private func keepTalking() {
    work.turn.begin(at: now, wall: .now)
    scheduler.keepTalking(CommitIndex(commits.release.durable), into: &work.turn)
    say(work.turn.atOnce)
  }

  // MARK: - Waiting

  /// At least twice per heartbeat, so that the scheduler can distinguish its own pause from
  /// silence.
  private var nextTick: Instant {
    let regular = clock.lastTick + settings.timing.heartbeat / 2
    guard let wish = scheduler.nextDeadline() else { return regular }
    return max(min(wish, regular), clock.lastTick + CoordinatorLimits.tickPause)
  }

  /// Whether a queued request need not wait for others.
  private var isAnybodyHeardNext: Bool { admission.queue.hasNext(at: .now) }

  private func sleep() throws(CoordinatorError) {
    workers.listen(!isStalled, &wakeups.poller)
    clients.listen(!isStalled, &wakeups.poller)
    var moment =
      isStalled
      ? now + settings.timing.heartbeat / 2 : nextTick
    if keys.access != nil { moment = min(moment, now + Access.lookPause) }
    if let deadline = sources.logs.nextDeadline { moment = min(moment, deadline) }
    if !workers.peers.waiting.isEmpty || !clients.peers.waiting.isEmpty {
      moment = min(moment, now + CoordinatorLimits.retryPause)
    }
    if !isStalled, !admission.queue.isEmpty {
      moment = min(moment, now + (isAnybodyHeardNext ? .zero : CoordinatorLimits.retryPause))
    }
    if !isStalled, work.hasQuestions { moment = min(moment, now) }
    if commits.image != nil { moment = min(moment, now) }
    if let feed = watch.service?.nextFeed { moment = min(moment, Instant(nanoseconds: feed)) }
    do throws(SystemError) {
      _ = try wakeups.poller.wait(until: moment.nanoseconds)
    } catch {
      throw .socket(error)
    }
  }

  private func takeSignals() {
    while let signal = wakeups.nextSignal() {
      logger.info(
        "told to stop",
        metadata: ["signal": "\(signal.number)", "by": "\(signal.senderProcess)"])
      end = .stopped
    }
    if wakeups.hasLostLifeline {
      logger.info("the program that started this one has ended")
      end = .stopped
    }
  }

  private func takeNotices() {
    for notice in wakeups.takeNotices() {
      switch notice {
      case .durable(let commit):
        commits.release.becameDurable(through: commit)
        commits.undurable.becameDurable(through: commit)
        watch.threads.heard(.journal, at: now)
      case .failed(let error): end = .failed(.journal(error))
      case .snapshot(let commit):
        commits.snapshots.ended()
        logger.debug("snapshot written", metadata: ["commit": "\(commit)"])
        retain()
      case .reserve: takeRoom(0)
      case .history(let answer):
        watch.threads.heard(.history, at: now)
        take(answer)
      case .prepared:
        watch.threads.heard(.requests, at: now)
        work.hasPrepared = true
      case .enrolled(let enrolment): take(enrolment)
      case .metrics(let question): question.answer(metricFamilies())
      case .stop: end = .stopped
      }
    }
  }

  /// Ends the loop: after a failure nothing more leaves (G7); otherwise everything accepted becomes
  /// durable.
  private func finish() -> CoordinatorEnd {
    watch.service?.stopping("making everything durable")
    sources.history.stop()
    commits.journal.close()
    sources.preparation.stop()
    for notice in wakeups.takeNotices() {
      switch notice {
      case .failed(let error): end = .failed(.journal(error))
      // The server of the figures would wait for it.
      case .metrics(let question): question.answer(metricFamilies())
      default: break
      }
    }
    logger.info(
      "ended",
      metadata: [
        "malformed": "\(operatorLog.malformed)", "late": "\(scheduler.lateReports)",
        "lies": "\(operatorLog.lies)",
      ])
    return end ?? .stopped
  }
}
