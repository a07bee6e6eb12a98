// The settings of one relay. Made by the command.

package import Logging
package import OpClusterCoordinator
package import OpClusterModel
package import OpClusterSystem
package import OpClusterZeroMQ

package struct RelaySettings: Sendable {
  package var coordinator: Endpoint
  /// Our key as a worker, and the coordinator's, for TCP.
  package var keys: SocketKeys?
  /// Where machines connect.
  package var machines: Endpoint
  /// Our keys as a server and those of the machines, for TCP.
  package var admission: CoordinatorKeys?
  /// Matches `[A-Za-z0-9._:-]{1,128}`; unique in the cluster.
  package var name: String
  /// How long what runs may go on after a first signal; nil: it is asked to stop at once.
  package var drainTime: Span?
  /// nil: no service manager.
  package var service: ServiceAddress?
  /// A descriptor whose other end the starting program holds; nil: none.
  package var lifeline: Int32?
  package var logger: Logger

  package init(
    coordinator: Endpoint, machines: Endpoint, name: String,
    logger: Logger = Logger(label: "oprelay")
  ) {
    self.coordinator = coordinator
    self.machines = machines
    self.name = name
    self.logger = logger
  }
}

/// The reason why a relay could not start or continue.
package enum RelayError: Error, CustomStringConvertible {
  case system(SystemError)
  /// A key that was never added was let in.
  case open(String)

  package var description: String {
    switch self {
    case .system(let error): "\(error)"
    case .open(let problem): "\(problem); it serves nobody like that"
    }
  }

  /// The exit status of the process (Operating.md, exit codes).
  package var status: Int32 {
    switch self {
    case .system: 74
    case .open: 70
    }
  }
}
