// The resources of the process that the loop watches: threads, descriptors, the service manager.

import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

/// The observations of the process, and the service manager to notify.
struct ProcessWatch {
  /// The service manager; nil if there is none.
  let service: ServiceNotifier?
  /// Whether the coordinator is the whole process, and may manage all its descriptors.
  let ownsProcess: Bool
  let spares = SpareDescriptors()
  /// The descriptors for connections. Counted after all of the coordinator's own are open.
  lazy var descriptors = DescriptorBudget(
    limit: Self.descriptorLimit(raising: ownsProcess),
    own: ProcessLimits.openDescriptors() - spares.count)
  var threads: ThreadWatch
  /// The numbers of cut connections that the log has reported.
  var toldRefused: UInt64 = 0
  var toldSilent: UInt64 = 0
  /// The time of the next check for unended messages.
  var nextTrafficLook = Instant.zero

  init(service: ServiceNotifier?, ownsProcess: Bool, heartbeat: Span) {
    self.service = service
    self.ownsProcess = ownsProcess
    threads = ThreadWatch(at: .now, heartbeat: heartbeat)
    guard ownsProcess else { return }
    spares.keep(DescriptorBudget(limit: Self.descriptorLimit(raising: true), own: 0).spares)
  }

  static func descriptorLimit(raising: Bool) -> Int {
    ProcessLimits.descriptors(raising: raising) ?? Limits.peersPerSocket
  }
}

/// The number of connections that the limit of descriptors allows. A pure value.
struct DescriptorBudget {
  var limit: Int
  /// Open descriptors of the process besides connections and spares.
  let own: Int

  /// Reserved for accepted connections that are not yet counted, for the journal, and for
  /// unexpected needs.
  private static let reserve = 2 * ConnectionCensus.mostUncounted + 128

  /// The descriptors that connections may use.
  var budget: Int { max(limit - own - min(Self.reserve, limit / 4 * 3), 8) }

  /// The descriptors with low numbers that are reserved for a fall of the limit.
  var spares: Int { max(0, min(ConnectionCensus.mostUncounted, limit / 4)) }
}
