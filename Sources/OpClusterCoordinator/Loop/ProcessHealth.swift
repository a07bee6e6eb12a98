// Checks the process besides its work: its threads, its descriptors, its memory. Each turn or twice
// per heartbeat; on the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterSystem
import OpClusterZeroMQ

extension CoordinatorLoop {
  // MARK: - Threads

  /// Feeds the watchdog, unless a thread hangs; logs which one.
  func watchThreads() {
    if commits.release.hasAllDurable { watch.threads.heard(.journal, at: now) }
    if !admission.queue.isPreparing || work.hasPrepared { watch.threads.heard(.requests, at: now) }
    watch.threads.heard(.gate, at: keys.access?.lastBeat ?? now)
    for finding in watch.threads.look(at: now) {
      if finding.isBack {
        logger.notice("a thread is back: \(finding.member.words)")
      } else {
        logger.error(
          "a thread hangs: \(finding.member.words)",
          metadata: ["silent_seconds": "\(Int(saturating: finding.silence.seconds))"])
      }
    }
    if let hanging = watch.threads.hanging {
      watch.service?.withhold(at: now.nanoseconds)
      watch.service?.status("hangs: \(hanging.words)")
    } else {
      watch.service?.feed(at: now.nanoseconds)
      watch.service?.status(
        isStalled ? "waiting for the disk" : "serving as epoch \(scheduler.epoch.number)")
    }
  }

  // MARK: - Descriptors

  /// Limits the connections to the available descriptors, beyond which libzmq would spin (A7, G30).
  /// Clients leave a quarter to workers.
  func limitConnections() {
    lookAtDescriptors()
    let budget = watch.descriptors.budget
    let silent = settings.silentConnectionsPerHost
    workers.limitConnections(to: budget - clients.census.open, silentPerHost: silent)
    let most = min(budget * 3 / 4, budget - workers.census.open)
    clients.limitConnections(to: most, silentPerHost: silent)
    let refused = workers.census.refused + clients.census.refused
    guard refused > watch.toldRefused * 2 else { return }
    watch.toldRefused = refused
    logger.warning(
      "connections are cut: the process has too few descriptors for more; raise LimitNOFILE",
      metadata: [
        "cut": "\(refused)", "workers": "\(workers.census.open)",
        "clients": "\(clients.census.open)", "most": "\(budget)",
      ])
  }

  /// Follows external changes of the limit. If it has fallen, releases the reserved descriptors, so
  /// that new connections can be accepted and cut.
  private func lookAtDescriptors() {
    let limit = ProcessWatch.descriptorLimit(raising: watch.ownsProcess)
    let before = watch.descriptors.limit
    guard limit != before else { return }
    watch.descriptors.limit = limit
    if watch.ownsProcess { watch.spares.keep(limit < before ? 0 : watch.descriptors.spares) }
    logger.log(
      level: limit < before ? .warning : .notice,
      limit < before
        ? "the limit of descriptors has fallen: connections beyond it are cut"
        : "the limit of descriptors has been raised",
      metadata: ["limit": "\(limit)", "before": "\(before)", "most": "\(watch.descriptors.budget)"])
  }

  /// Cuts connections that have not said hello in time.
  func cutSilent() {
    let moment = now - settings.greetingPatience
    workers.cutSilent(since: moment)
    clients.cutSilent(since: moment)
    let silent = workers.census.silent + clients.census.silent
    guard silent > watch.toldSilent * 2 else { return }
    watch.toldSilent = silent
    logger.warning(
      "connections are cut: they said nothing for too long, or too many of one host said nothing",
      metadata: ["cut": "\(silent)"])
  }

  // MARK: - Memory

  /// Checks the memory of the process; returns unused memory to the system if it is scarce.
  func lookAtMemory() {
    guard settings.memory != nil, let use = MemoryUse.ofThisProcess() else { return }
    let wasTight = admission.memory.isTight
    admission.memory.note(use)
    if admission.memory.shouldTrim(at: now) { returnFreeMemory() }
    guard admission.memory.isTight != wasTight else { return }
    logger.warning(
      wasTight
        ? "there is room in memory again"
        : "the memory is nearly used up: submissions are refused until some operations have ended",
      metadata: [
        "resident_bytes": "\(use.resident)", "most": "\(settings.memory?.resident ?? 0)",
      ])
  }
}
