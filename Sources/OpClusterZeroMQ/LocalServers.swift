// Who may serve a socket file that we connect to, by what the kernel says of the process that
// listens there. Values, and one question to the kernel; on the dealer's thread.

import CZeroMQ
import Glibc

/// The users whose processes a dealer over `ipc` believes.
///
/// The folder of a socket file may be another's, or the file a link: whoever listens there would
/// get every message, with what is secret in it. Root can read all of that anyway.
public struct LocalServers: Hashable, Sendable {
  private let users: Set<UInt32>

  public init(users: Set<UInt32>) { self.users = users }

  /// The user of this process, and root.
  public static var ourselvesAndRoot: LocalServers { LocalServers(users: [geteuid(), 0]) }

  enum Verdict: Equatable {
    case known
    case stranger(user: UInt32)
    /// The connection has ended meanwhile.
    case gone
  }

  /// Who listened at the other end of a connection, as of when it began to.
  func verdict(on descriptor: Int32) -> Verdict {
    guard let user = ConnectionOrigin.peerUser(of: descriptor) else { return .gone }
    return users.contains(user) ? .known : .stranger(user: user)
  }
}
