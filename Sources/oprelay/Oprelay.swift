// The command `oprelay`: a relay between a coordinator and the machines of a rack. Reads flags and
// variables, prepares the process, serves, and ends it with the matching status.

import ArgumentParser
import Glibc
import Logging
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterKeys
import OpClusterModel
import OpClusterPresentation
import OpClusterRelay
import OpClusterSystem
import OpClusterWorker
import OpClusterZeroMQ

@main
struct Oprelay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "oprelay",
    abstract: "A worker to a coordinator, and a coordinator to the machines of a rack.",
    version: Build.name, subcommands: [Serve.self], defaultSubcommand: Serve.self)
}

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve a coordinator with the machines of a rack until told to stop.",
    discussion: """
      Machines run opworker with --coordinator naming the relay. To the coordinator they are one \
      worker with the resources of all, and the labels and types that all of them have.
      Prints one line on standard output when machines can connect. A first SIGTERM or SIGINT asks \
      what runs to stop, reports it and leaves; a second one kills.
      What is not said by a flag is taken from the environment: OPRELAY_COORDINATOR and so on.
      Exit codes: 0 stopped or drained, 1 killed, 70 the gate is not closed, 74 machine error, 76 \
      protocol version, 77 key refused, 78 bad configuration, keys open to others, or root without \
      --allow-root.
      """)

  @Option(help: "Where the coordinator listens for workers. [OPRELAY_COORDINATOR]")
  var coordinator: String?
  @Option(help: "Where machines connect, such as tcp://*:7431. [OPRELAY_MACHINES]")
  var machines: String?
  @Option(help: "Unique name; default: that of its key. [OPRELAY_NAME]")
  var name: String?
  @Option(help: "Folder of the relay's key as a worker, for TCP. [OPRELAY_KEYS]")
  var keys: String?
  @Option(
    help: """
      Folder of the relay's own keys as a server and of the list of machines that it lets in, for \
      TCP; 'opcoord key --keys FOLDER' looks after it. [OPRELAY_MACHINE_KEYS]
      """)
  var machineKeys: String?
  @Option(
    help: "On a first signal let what runs go on for so many seconds. [OPRELAY_DRAIN]")
  var drain: String?
  @Option(help: "trace, debug, info, notice, warning, error or critical. [OPRELAY_LOG_LEVEL]")
  var logLevel: String?
  @Option(help: "text or json. [OPRELAY_LOG_FORMAT]")
  var logFormat: String?
  @Flag(help: "Serve although this is root, whom no mistake in here should reach.")
  var allowRoot = false
  // For programs that start a relay and may die.
  @Flag(help: .hidden) var untilStdinCloses = false

  /// Never returns normally: the relay's exit becomes the status of the process.
  func run() throws {
    if OwnProcess.isRoot, !allowRoot {
      fail(
        "refuses to run as root (uid 0), since it need not; start it as a user of its own, or say "
          + "--allow-root", status: 78)
    }
    ProcessLimits.hideNewFiles()
    // As many connections as the system lets us have (A7).
    _ = ProcessLimits.descriptors(raising: true)
    OwnProcess.keepSecretsOutOfDumps()
    let relay = Relay(try settings())
    do throws(RelayError) {
      let exit = try relay.run { endpoint in
        StandardStream.output.write("oprelay ready machines=\(endpoint)")
      }
      if case .refused(let refusal) = exit { fail(refusal.forShell, status: exit.status) }
      Glibc.exit(exit.status)
    } catch {
      fail(error.description, status: error.status)
    }
  }

  private func settings() throws -> RelaySettings {
    let upwards = try endpoint(
      coordinator, "OPRELAY_COORDINATOR", "--coordinator", "tcp://127.0.0.1:7421")
    let downwards = try endpoint(machines, "OPRELAY_MACHINES", "--machines", nil)
    var settings = RelaySettings(
      coordinator: upwards, machines: downwards, name: "", logger: try logger())
    var keyName: String?
    do throws(KeyError) {
      if upwards.transport == .tcp {
        let folder = text(keys, "OPRELAY_KEYS").map { KeyFolder($0) } ?? .standard
        settings.keys = try folder.clientKeys(for: .worker).keys
        keyName = try folder.own(for: .worker)?.name
      }
      if downwards.transport == .tcp { settings.admission = try admission() }
    } catch {
      fail(error.description, status: error.status)
    }
    guard let name = text(name, "OPRELAY_NAME") ?? keyName else {
      throw ValidationError("give the relay a name that is unique in the cluster: --name rack1")
    }
    settings.name = name
    if let text = text(drain, "OPRELAY_DRAIN") {
      guard let seconds = Int64(text), (0...31_536_000).contains(seconds) else {
        throw ValidationError("--drain: '\(text)' is not a number of seconds up to a year")
      }
      settings.drainTime = seconds == 0 ? nil : .seconds(seconds)
    }
    settings.service = ServiceAddress.fromEnvironment()
    // Descriptor 0 is standard input.
    settings.lifeline = untilStdinCloses ? 0 : nil
    return settings
  }

  /// The relay's keys as a server; made at the first start.
  private func admission() throws(KeyError) -> CoordinatorKeys {
    guard let path = text(machineKeys, "OPRELAY_MACHINE_KEYS") else {
      fail(
        "over TCP machines are let in by keys; name the folder of their list (--machine-keys), and "
          + "add machines with 'opcoord key add NAME worker KEY --keys FOLDER'", status: 78)
    }
    let folder = KeyFolder(path)
    let prepared = try folder.prepareServer(at: WallTime(milliseconds: WallClock.now()))
    if prepared.areNew {
      StandardStream.error.write(
        "oprelay: made keys in \(path); machines know this relay by "
          + prepared.pair.publicKey.text)
    }
    return CoordinatorKeys(pair: prepared.pair, allowed: prepared.allowed, folder: folder)
  }

  private func endpoint(
    _ flag: String?, _ variable: String, _ name: String, _ otherwise: String?
  ) throws -> Endpoint {
    guard let text = text(flag, variable) ?? otherwise else {
      throw ValidationError("say where machines connect: \(name) tcp://*:7431")
    }
    do throws(EndpointError) {
      return try Endpoint(text)
    } catch {
      fail("\(name): \(error)", status: 78)
    }
  }

  private func text(_ flag: String?, _ variable: String) -> String? {
    flag ?? OwnProcess.filledVariable(variable)
  }

  /// Lines go to standard error, one write each.
  private func logger() throws -> Logger {
    let levelText = text(logLevel, "OPRELAY_LOG_LEVEL") ?? "info"
    let formatText = text(logFormat, "OPRELAY_LOG_FORMAT") ?? "text"
    do throws(DaemonLog.Problem) {
      return try DaemonLog.logger("oprelay", level: levelText, format: formatText)
    } catch {
      switch error {
      case .level: throw ValidationError("--log-level '\(levelText)' is not \(error.choices)")
      case .format: throw ValidationError("--log-format '\(formatText)' is not \(error.choices)")
      }
    }
  }

  private func fail(_ message: String, status: Int32) -> Never {
    StandardStream.error.write("oprelay: \(message)")
    Glibc.exit(status)
  }
}
