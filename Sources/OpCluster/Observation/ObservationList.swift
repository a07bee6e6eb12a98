// Keeps the observations of a connection alive as long as the cluster object lives.

import OpClusterClient
import Synchronization

final class ObservationList: Sendable {
  private let observations = Mutex<[Observation]>([])

  func add(_ observation: Observation) { observations.withLock { $0.append(observation) } }
}
