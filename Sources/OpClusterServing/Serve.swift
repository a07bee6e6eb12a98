// The command that serves: flags and environment in, exit code out. Its thread becomes the
// worker's.
// Flags are texts here and are parsed by hand, since the same text may come from a variable or a
// file. Keys are in `WorkerKeys.swift`, resources in `Offer.swift`.

import ArgumentParser
import Glibc
import Logging
import OpClusterAttempts
import OpClusterClient
import OpClusterDaemon
import OpClusterHTTP
import OpClusterKeys
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem
import OpClusterWorker
import OpClusterZeroMQ

/// `serve`, the default command.
/// One instance lives as long as the process. Its loop is in OpClusterWorker.
struct Serve<Program: WorkerProgram>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "serve",
      abstract: "Connect to a coordinator and run operations until told to stop.",
      discussion: """
        A first SIGTERM or SIGINT asks what runs to stop, reports it and leaves; a second one \
        kills. With --drain a signal before them lets what runs end by itself, while nothing new \
        begins.
        What is not said by a flag is taken from the environment, and then from opworker_NAME: \
        VALUE in $XDG_CONFIG_HOME/opcluster/config.yaml and /etc/opcluster/config.yaml.
        Exit codes: 0 stopped or drained, 1 killed, 69 unreachable, 73 folder in use, 74 machine \
        error, 76 protocol version, 77 folder open to others, or key refused at the start or \
        removed, 78 bad configuration, keys open to others, or root without --allow-root.
        Under systemd (Type=notify) it tells when it is ready, and its loop feeds the watchdog.
        """)
  }

  @Option(help: "Where the coordinator listens for workers. [OPWORKER_COORDINATOR]")
  var coordinator: String?
  @Option(help: "Folder of the worker's key, for TCP. [OPWORKER_KEYS]")
  var keys: String?
  @Option(
    help: """
      The token of an invitation, - for one on standard input: makes the worker's key at the first \
      start, and means nothing when there is one. Others can see a token that is an argument. \
      [OPWORKER_JOIN]
      """)
  var join: String?
  @Option(help: "A file with that token, which others cannot read. [OPWORKER_JOIN_FILE]")
  var joinFile: String?
  @Option(
    help: """
      Unique name; default: that of its key, or of the host without a worker's key, and a number \
      where others of this user are here. [OPWORKER_NAME]
      """)
  var name: String?
  @OptionGroup var offer: Offer
  @Option(
    name: .customLong("label"),
    help: "A label, KEY=VALUE; may be repeated. [OPWORKER_LABEL]")
  var labels: [String] = []
  @Option(help: "Folder for logs and scratch, absolute. [OPWORKER_SCRATCH]")
  var scratch: String?
  @Option(
    help: """
      What logs of ended operations may take, such as 20GB; beyond it the oldest go. Default: a \
      tenth of the disk, at most 10 GiB. [OPWORKER_LOG_SPACE]
      """)
  var logSpace: String?
  @Option(
    help: """
      How long logs of ended operations are kept, such as 12h or 30d, a minute to ten years. \
      Default: 7d. [OPWORKER_LOG_AGE]
      """)
  var logAge: String?
  @Option(
    help: """
      What the store may take, such as 50GiB: what operations leave to each other lies there. 0: \
      there is none. Default: a quarter of the disk, at most 50 GiB. [OPWORKER_STORE]
      """)
  var store: String?
  @Option(
    help: """
      Where other workers read from the store, such as tcp://*:7422. Default: any free port. \
      [OPWORKER_STORE_ADDRESS]
      """)
  var storeAddress: String?
  @Option(
    help: """
      What the store sends to others each second at most, such as 50MB. [OPWORKER_UPLOAD_LIMIT]
      """)
  var uploadLimit: String?
  @Option(help: "Where figures for Prometheus are served, HOST:PORT. [OPWORKER_METRICS]")
  var metrics: String?
  @Option(
    help: "Processes one operation may have at once; 0: any number. [OPWORKER_PROCESSES]")
  var processes: String?
  @Option(
    help: """
      enforce: an operation that uses more memory than it asks for is killed; ignore: it may. \
      [OPWORKER_MEMORY_LIMIT]
      """)
  var memoryLimit: String?
  @Option(
    help: """
      Give up after so many seconds without a coordinator. [OPWORKER_EXIT_WHEN_UNREACHABLE]
      """)
  var exitWhenUnreachable: String?
  @Option(
    help: """
      Leave after so many seconds with nothing to run, at most a year. [OPWORKER_EXIT_WHEN_IDLE]
      """)
  var exitWhenIdle: String?
  @Option(help: "trace, debug, info, notice, warning, error or critical. [OPWORKER_LOG_LEVEL]")
  var logLevel: String?
  @Option(help: "text or json. [OPWORKER_LOG_FORMAT]")
  var logFormat: String?
  @Option(
    help: "On a first signal let what runs go on for so many seconds. [OPWORKER_DRAIN]")
  var drain: String?
  @Option(
    help: """
      Run operations as this account, or as @submitter: the account that has the name of the key \
      with which they were submitted. For a worker that root starts. [OPWORKER_RUN_AS]
      """)
  var runAs: String?
  @Flag(help: "Serve although this is root: what it runs can then do anything to this machine.")
  var allowRoot = false
  // For programs that start a worker and may die: its standard input ends with them.
  @Flag(help: .hidden) var untilStdinCloses = false

  /// Never returns normally: the worker's exit becomes the status of the process.
  func run() throws {
    // Before anything else, as a token may be among the arguments (G39).
    OwnProcess.keepSecretsOutOfDumps()
    OwnProcess.hideArguments(beginningWith: JoinToken.prefix)
    let worker: Worker
    do {
      worker = try Worker(try configuration(), types: Program.registry)
    } catch let error as ValidationError {
      // Mistakes in flags are told by ArgumentParser, with the usage and its own status.
      throw error
    } catch let error as ConfigurationError {
      fail(error.description, status: error.status)
    } catch let error as WorkerError {
      fail(error.description, status: error.status)
    } catch {
      fail("\(error)", status: 74)
    }
    let address = worker.configuration.coordinator.address
    if let host = HostName.of(address), let problem = HostName.problem(of: host) {
      worker.configuration.logger.warning(
        "the name '\(host)' of the coordinator cannot be looked up: \(problem); it is tried again")
    }
    do throws(WorkerError) {
      let exit = try worker.run()
      // The loop has tried what it could: a refusal that comes out of it is final.
      if case .refused(let refusal) = exit {
        fail(refusal.forShell, status: exit.status)
      }
      if exit == .unreachable {
        fail("no coordinator at \(worker.configuration.coordinator)", status: exit.status)
      }
      Glibc.exit(exit.status)
    } catch {
      fail(error.description, status: error.status)
    }
  }

  /// Root without an account is refused, since every operation could do anything to the machine.
  private func account(_ settings: WorkerSettings) throws(WorkerError) -> OperationAccount {
    if let text = settings.text(.runAs, flag: runAs) { return try OperationAccount(parsing: text) }
    if OwnProcess.isRoot, !allowRoot {
      fail(
        "refuses to run operations as root (uid 0); name the account that they run as (--run-as), "
          + "or run the worker as a user of its own, such as the unit in deploy/systemd does, or "
          + "say --allow-root", status: 78)
    }
    return .worker
  }

  /// Reads flags, variables and files, in this order. Looks at no network; joining a cluster is the
  /// only thing that could.
  private func configuration() throws -> WorkerConfiguration {
    let settings = try WorkerSettings()
    let runAs = try account(settings)
    let endpoint: Endpoint
    do throws(EndpointError) {
      endpoint = try Endpoint(
        settings.text(.coordinator, flag: coordinator) ?? "tcp://127.0.0.1:7421")
    } catch {
      fail("--coordinator: \(error)", status: 78)
    }
    var configuration = WorkerConfiguration(
      coordinator: endpoint, logger: try logger(settings))
    if let name = settings.text(.name, flag: name) {
      configuration.name = name
      // A given name is used as it is; a generated one gets a number where it is taken already.
      configuration.isNameGiven = true
    }
    configuration.runAs = runAs
    configuration.scratch = WorkerConfiguration.defaultScratch(
      worker: configuration.name, runAs: runAs)
    if let scratch = settings.text(.scratch, flag: scratch) {
      configuration.scratch = scratch
      // A scratch folder of one's own means that no other worker is meant, so the name is not
      // numbered.
      configuration.isNameGiven = true
    }
    if let text = settings.text(.logSpace, flag: logSpace) {
      configuration.logBytes = try Quantity.bytes(text, of: nil, flag: "--log-space")
    }
    if let text = settings.text(.logAge, flag: logAge) {
      configuration.logRetention = try Quantity.span(text, of: "--log-age")
    }
    try setStore(settings, &configuration)
    if let text = settings.text(.metrics, flag: metrics) {
      guard let address = HTTPAddress(text) else {
        throw ValidationError(
          "--metrics: '\(text)' is not HOST:PORT with a numeric host, as in 127.0.0.1:9421")
      }
      configuration.metrics = address
    }
    configuration.capacity = try offer.capacity(settings)
    configuration.gpuNames = try offer.gpuNames(settings)
    configuration.labels = try settings.list(.label, flags: labels).map { text in
      let (key, value) = try Quantity.pair(text, of: "--label")
      return Label(key: key, value: value)
    }
    configuration.limits = try limits(settings)
    configuration.drainTime = try drainTime(settings)
    configuration.service = ServiceAddress.fromEnvironment()
    // Descriptor 0 is standard input.
    configuration.lifeline = untilStdinCloses ? 0 : nil
    configuration.childCommand = ChildProgram.command
    if let text = settings.text(.exitWhenUnreachable, flag: exitWhenUnreachable) {
      guard let seconds = UInt32(text) else {
        throw ValidationError("--exit-when-unreachable '\(text)' is not a number of seconds")
      }
      configuration.patience = .seconds(Int64(seconds))
    }
    if let text = settings.text(.exitWhenIdle, flag: exitWhenIdle) {
      guard let seconds = Int64(text), (1...31_536_000).contains(seconds) else {
        throw ValidationError("--exit-when-idle: '\(text)' is not a number of seconds up to a year")
      }
      configuration.idleTime = .seconds(seconds)
    }
    // Last, so that errors of the flags are reported before keys are required, or spent.
    if endpoint.transport == .tcp { useKeys(&configuration, settings) }
    return configuration
  }

  /// Seconds; 0 means that a first signal stops what runs at once, as without the flag.
  private func drainTime(_ settings: WorkerSettings) throws -> OpClusterModel.Span? {
    guard let text = settings.text(.drain, flag: drain) else { return nil }
    guard let seconds = Int64(text), (0...31_536_000).contains(seconds) else {
      throw ValidationError("--drain: '\(text)' is not a number of seconds up to a year")
    }
    return seconds == 0 ? nil : .seconds(seconds)
  }

  private func setStore(
    _ settings: WorkerSettings, _ configuration: inout WorkerConfiguration
  ) throws {
    if let text = settings.text(.store, flag: store) {
      configuration.storeBytes = try Quantity.bytes(text, of: nil, flag: "--store")
    }
    if let text = settings.text(.uploadLimit, flag: uploadLimit) {
      let bytes = try Quantity.bytes(text, of: nil, flag: "--upload-limit")
      guard bytes > 0 else {
        throw ValidationError("--upload-limit: 0 would send nothing; --store 0 switches it off")
      }
      configuration.uploadBytesPerSecond = bytes
    }
    if let text = settings.text(.storeAddress, flag: storeAddress) {
      do throws(EndpointError) {
        configuration.storeAddress = try Endpoint(text)
      } catch {
        fail("--store-address: \(error)", status: 78)
      }
    }
  }

  /// 0 processes mean any number. Memory is enforced by default, where the machine can.
  private func limits(_ settings: WorkerSettings) throws(ValidationError) -> OperationLimits {
    var limits = OperationLimits()
    if let text = settings.text(.processes, flag: processes) {
      guard let number = Int(text), (0...1_000_000).contains(number) else {
        throw ValidationError("--processes '\(text)' is not a number from 0 to a million")
      }
      limits.processes = number == 0 ? nil : number
    }
    switch settings.text(.memoryLimit, flag: memoryLimit) {
    case "enforce", nil: limits.enforcesMemory = true
    case "ignore": limits.enforcesMemory = false
    case .some(let text): throw ValidationError("--memory-limit '\(text)' is not enforce or ignore")
    }
    return limits
  }

  /// Lines go to standard error, one write each.
  private func logger(_ settings: WorkerSettings) throws -> Logger {
    let levelText = settings.text(.logLevel, flag: logLevel) ?? "info"
    let formatText = settings.text(.logFormat, flag: logFormat) ?? "text"
    do throws(DaemonLog.Problem) {
      return try DaemonLog.logger(Program.name, level: levelText, format: formatText)
    } catch {
      switch error {
      case .level: throw ValidationError("--log-level '\(levelText)' is not \(error.choices)")
      case .format: throw ValidationError("--log-format '\(formatText)' is not \(error.choices)")
      }
    }
  }

  /// Writes the message to standard error and ends the process.
  func fail(_ message: String, status: Int32) -> Never {
    StandardStream.error.write("\(Program.name): \(message)")
    Glibc.exit(status)
  }
}
