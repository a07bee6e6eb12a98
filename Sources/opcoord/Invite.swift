// `opcoord key invite`: prints one line for another machine, valid for one key and a short time.
// The invitation itself, with the public half of a fresh pair, goes into the list of keys; the
// secret half is in the token and nowhere else. `JoinToken` and `AllowList` in OpClusterKeys are
// both ends of it.

import ArgumentParser
import Glibc
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

struct Invite: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print one line that lets another machine join.",
    discussion: """
      The line holds a one-time secret: hand it over as you would a password. Whoever uses it \
      first gets a key of its own with this role, and the line is of no more use, but for --uses: \
      then so many machines may use it. The line gives \
      the token on standard input, so that it does not show in the other machine's list of \
      processes; a file does as well: --join-file FILE, or 'opbatch key join FILE'.
      """)
  @Option(help: "worker, submitter, observer or admin.") var role = RoleName(.worker)
  @Option(help: "The name of the new key; default: the other machine chooses.") var name: String?
  @Option(help: "How long it is good for, such as 30m, 12h or 7d.") var expires = "1h"
  @Option(help: "For how many keys it is good, each with a name that its holder chooses.")
  var uses: UInt32 = 1
  @Option(help: "The host by which others reach this machine; default: its own name.")
  var host: String?
  @Option(help: "Where clients connect to, if not as configured. [OPCOORD_CLIENT]")
  var client: String?
  @Option(help: "Where workers connect to, if not as configured. [OPCOORD_WORKER]")
  var worker: String?
  @OptionGroup var options: KeyOptions

  /// The longest time that an invitation may be open, in seconds. An open invitation is a secret
  /// that lies about.
  static let longest: Int64 = 30 * 86_400

  /// The addresses are found first, so that an invitation that nobody could use is never written
  /// down.
  func run() throws {
    let configuration = options.configuration([.client: client, .worker: worker])
    let folder = KeyFolder(configuration[.keys])
    let client = address(configuration, .client)
    let token: JoinToken
    do throws(KeyError) {
      guard let server = try folder.server() else {
        fail("there is no server.key in \(folder.path); make one: opcoord keygen", status: 78)
      }
      token = JoinToken(
        pair: .random(), role: role.role, server: server.publicKey, clientAddress: client)
      // The wall clock: an invitation has to outlive the coordinator and this machine's uptime
      // (G31).
      let now = WallClock.now()
      let invitation = Invitation(
        name: name, role: role.role, key: token.pair.publicKey,
        expiresAt: WallTime(milliseconds: now + seconds() * 1_000), uses: uses)
      try folder.changeAllowed { list throws(KeyError) in
        try list.invite(invitation, at: WallTime(milliseconds: now))
      }
    } catch {
      fail(error.description, status: error.status)
    }
    StandardStream.output.write(line(token, configuration))
    warnOfLoopback(configuration)
  }

  /// A line for a shell, without anything in it that a shell would change.
  private func line(_ token: JoinToken, _ configuration: Configuration) -> String {
    // `echo` is built into the shell, so no process shows the token.
    let says = "echo \(token.revealedText) | "
    guard role.role == .worker else { return says + "opbatch key join -" }
    return says + "opworker serve --coordinator \(address(configuration, .worker)) --join -"
  }

  /// The address of this machine for others; an invitation for this machine is also valid.
  private func address(_ configuration: Configuration, _ setting: Setting) -> String {
    let endpoint: Endpoint
    do {
      endpoint = try configuration.settings()[keyPath: setting.endpoint]
    } catch {
      fail(error.text, status: 78)
    }
    // An ipc:// socket is for this user on this machine, who needs no key.
    guard endpoint.transport == .tcp, let port = endpoint.port else {
      fail(
        "\(setting.flag) is \(endpoint), which no other machine can reach; serve over tcp://",
        status: 78)
    }
    if let host { return "tcp://\(Self.bracketed(host)):\(port)" }
    return endpoint.isWildcard ? "tcp://\(Self.hostName):\(port)" : endpoint.address
  }

  /// An IPv6 address needs brackets, so that its colons do not look like a port.
  private static func bracketed(_ host: String) -> String {
    host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
  }

  /// Warns that the address is valid only on this machine, before the invitation is used on
  /// another. A warning and no error: both ends may be on this machine.
  private func warnOfLoopback(_ configuration: Configuration) {
    let settings: [Setting] = role.role == .worker ? [.client, .worker] : [.client]
    let addresses = settings.map { address(configuration, $0) }
    guard host == nil,
      let near = addresses.first(where: { (try? Endpoint($0))?.isLoopback == true })
    else { return }
    StandardStream.error.write(
      "opcoord: the invitation names \(near), which this machine alone can reach; for others serve "
        + "at tcp://*:PORT ('--client', '--worker') and invite with '--host NAME'")
  }

  /// Whether others can look the name up is not known here; `--host` says another.
  private static var hostName: String { OwnProcess.hostName ?? "localhost" }

  /// Both bounds are checked before the product, which therefore fits. Ends the process with 64.
  private func seconds() -> Int64 {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    guard let last = expires.last, let unit = units[last], let number = Int64(expires.dropLast()),
      (1...Self.longest).contains(number), number * unit <= Self.longest
    else {
      fail("--expires '\(expires)' is not a time up to 30d; write 30m, 12h or 7d", status: 64)
    }
    return number * unit
  }
}

extension Setting {
  /// The address of this setting.
  fileprivate var endpoint: KeyPath<CoordinatorSettings, Endpoint> {
    self == .worker ? \.workerEndpoint : \.clientEndpoint
  }
}
