// What the loop looks at beside its work: whether its threads live, how many descriptors there are,
// what the process takes. Each turn or twice a heartbeat; on the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterZeroMQ

/// What has been seen of the process, and whom to tell.
struct ProcessWatch {
  /// The service manager; nil: there is none.
  let service: ServiceNotifier?
  /// Whether the coordinator is the whole process, and may do with its descriptors what it likes.
  let ownsProcess: Bool
  let spares = SpareDescriptors()
  /// Descriptors that connections may take. Counted when everything of ours is open.
  lazy var descriptors = DescriptorBudget(
    limit: Kernel.descriptorLimit(raising: ownsProcess),
    own: Kernel.openDescriptors() - spares.count)
  var threads: ThreadWatch
  /// Connections that were cut, as far as the log has been told.
  var toldRefused: UInt64 = 0
  var toldSilent: UInt64 = 0
  /// When connections are looked at for messages that do not end.
  var nextTrafficLook = Instant.zero

  init(service: ServiceNotifier?, ownsProcess: Bool, heartbeat: Span) {
    self.service = service
    self.ownsProcess = ownsProcess
    threads = ThreadWatch(at: .now, heartbeat: heartbeat)
    guard ownsProcess else { return }
    spares.keep(DescriptorBudget(limit: Kernel.descriptorLimit(raising: true), own: 0).spares)
  }
}

extension CoordinatorLoop {
  // MARK: - Threads

  /// Feeds the watchdog, unless one of our threads hangs; says which.
  func watchThreads() {
    if commits.release.hasAllDurable { watch.threads.heard(.journal, at: now) }
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

  /// Nobody is accepted beyond what the descriptors allow: libzmq would turn in circles (A7, G30).
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

  /// The limit may have been changed from outside. Where it fell, what was kept for this is let go
  /// of, so that whoever comes can be accepted and cut.
  private func lookAtDescriptors() {
    let limit = Kernel.descriptorLimit(raising: watch.ownsProcess)
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

  /// Whoever connects says hello soon.
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

  /// What the process takes; what it keeps without need is given back where it gets tight.
  func lookAtMemory() {
    guard settings.memory != nil, let use = Kernel.memoryUse() else { return }
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

/// How many connections the limit of descriptors allows. A pure value.
struct DescriptorBudget {
  var limit: Int
  /// What the process has open beside connections and spares.
  let own: Int

  /// Left over for connections that are accepted and not counted yet, for the journal and for
  /// whatever comes.
  private static let reserve = 2 * ConnectionCensus.mostUncounted + 128

  /// Descriptors that connections may take.
  var budget: Int { max(limit - own - min(Self.reserve, limit / 4 * 3), 8) }

  /// Descriptors of low numbers that are kept for a day on which the limit falls.
  var spares: Int { max(0, min(ConnectionCensus.mostUncounted, limit / 4)) }
}
