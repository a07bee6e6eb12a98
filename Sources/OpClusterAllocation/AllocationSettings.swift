// What an allocation was told when it was added. Pure; kept as JSON in the allocation's folder.

/// Workers that come as jobs of a batch system while there is work for them.
package struct AllocationSettings: Codable, Equatable, Sendable {
  /// Names its jobs, its workers and its folder.
  package var name: String
  /// Jobs that are kept, whether there is work or not.
  package var least: Int
  /// Jobs at a time.
  package var most: Int
  /// The time of a job, in seconds.
  package var seconds: Int64
  /// The time without work after which a worker leaves, in seconds.
  package var idleSeconds: Int64
  /// The user's own arguments of `sbatch`.
  package var arguments: [String]
  /// The path of `opworker`, as the nodes see it.
  package var program: String
  /// Where workers find the coordinator; nil: as their own configuration says.
  package var coordinator: String?
  /// The folder of the workers' key, as the nodes see it.
  package var workerKeys: String?
  /// Whether its workers may be root.
  package var allowsRoot: Bool

  package init(
    name: String, least: Int, most: Int, seconds: Int64, idleSeconds: Int64,
    arguments: [String] = [], program: String, coordinator: String? = nil,
    workerKeys: String? = nil, allowsRoot: Bool = false
  ) {
    self.name = name
    self.least = least
    self.most = most
    self.seconds = seconds
    self.idleSeconds = idleSeconds
    self.arguments = arguments
    self.program = program
    self.coordinator = coordinator
    self.workerKeys = workerKeys
    self.allowsRoot = allowsRoot
  }

  /// So long before its end a job begins to drain, in seconds: nothing new begins, and what runs
  /// may end by itself.
  package var drainSeconds: Int64 { min(300, max(10, seconds / 10)) }
}
