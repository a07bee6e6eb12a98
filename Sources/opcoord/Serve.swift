// `opcoord serve`: prepares the process, serves, and ends it with the matching status. The order
// matters: what protects the process comes before anything is read, keys come before the
// coordinator, and the ready line comes when it serves. `Coordinator.run` does the rest and returns
// when it has stopped.

import ArgumentParser
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterFolders
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve clients and workers until told to stop.",
    discussion: """
      Prints one line on standard output when it is ready. SIGTERM and SIGINT stop it; workers \
      keep running and come back to the next coordinator on the same journal.
      Exit codes: 0 stopped, 65 damaged journal, 70 the gate is not closed, 73 state folder in \
      use, 74 disk or socket failed, 77 state or socket folder open to others, 78 bad \
      configuration, keys open to others, or root without --allow-root.
      Under systemd (Type=notify) it tells when it is ready, and its loop feeds the watchdog.
      """)

  @OptionGroup var options: ServiceOptions
  @Flag(help: "Serve although this is root, whom no mistake in here should reach.")
  var allowRoot = false
  // For own clusters of commands and tests: the coordinator ends with whoever started it, however
  // that ends.
  @Flag(help: .hidden) var untilStdinCloses = false

  /// Never returns: the process ends with the status of the page in `abstract`. Supervisors tell by
  /// it whether to start again.
  func run() throws {
    refuseRoot()
    // Before the first file is made.
    ProcessLimits.hideNewFiles()
    // As many connections as the system lets us have (A7).
    _ = ProcessLimits.descriptors(raising: true)
    // A graph that has ended gives its memory back to the system, so that one large graph does not
    // keep it for ever.
    returnLargeBlocks()
    OwnProcess.keepSecretsOutOfDumps()
    // Where systemd wants to be told; nil elsewhere.
    let service = ServiceAddress.fromEnvironment()
    // Three kinds of errors, by whose mistake it is: the configuration's, the keys', the system's.
    let coordinator: Coordinator
    do {
      let configuration = try Configuration(flags: options.flags)
      var settings = try configuration.settings()
      settings.keys = try keys(configuration, settings)
      // Read once here: the limits of a control group are those of the start.
      settings.memory = MemoryBound.ofThisProcess()
      // Its parents alone, since the journal looks whether its own folder is new (G6).
      makeFolder(settings.stateFolder)
      coordinator = try Coordinator(settings, logger: try configuration.logger())
    } catch let problem as ConfigurationProblem {
      fail(problem.text, status: 78)
    } catch let error as KeyError {
      fail(error.description, status: error.status)
    } catch {
      fail("\(error)", status: 74)
    }
    var record: FolderLock?
    let end = coordinator.run(
      handlesSignals: true, lifeline: untilStdinCloses ? 0 : nil, service: service
    ) { ready in
      record = Self.record(ready)
      StandardStream.output.write(ready.line)
    }
    // Its leftover without a lock is invalid; the folder may belong to another coordinator by now.
    withExtendedLifetime(record) {}
    if case .failed(let error) = end { fail(error.description, status: end.status) }
    OwnProcess.end(end.status)
  }

  /// Records the address, so that commands of this user on this machine find the coordinator.
  /// Without the record the cluster works, and commands need an address. Kept as long as the lock
  /// is held.
  private static func record(_ ready: CoordinatorReady) -> FolderLock? {
    do throws(FolderError) {
      return try CoordinatorRecord(client: ready.clientEndpoint.seenFromHere.address)
        .keep(in: ready.stateFolder)
    } catch {
      StandardStream.error.write(
        "opcoord: commands on this machine have to be told of it with --coordinator: \(error)")
      return nil
    }
  }

  /// The keys, if anything is served over TCP; created at the first start. nil over ipc:// alone,
  /// where the files decide who is let in (G36).
  private func keys(
    _ configuration: Configuration, _ settings: CoordinatorSettings
  ) throws(KeyError) -> CoordinatorKeys? {
    let endpoints = [settings.clientEndpoint, settings.workerEndpoint]
    guard endpoints.contains(where: { $0.transport == .tcp }) else { return nil }
    let folder = KeyFolder(configuration[.keys])
    let prepared = try folder.prepareServer(at: WallTime(milliseconds: WallClock.now()))
    if prepared.areNew {
      StandardStream.error.write(
        "opcoord: made keys in \(folder.path); this user is 'local', an admin, on this machine")
    }
    return CoordinatorKeys(pair: prepared.pair, allowed: prepared.allowed, folder: folder)
  }

  /// Enforces least privilege (G40). Before anything else: files that root made would be in the way
  /// of the right user later.
  private func refuseRoot() {
    guard OwnProcess.isRoot, !allowRoot else { return }
    fail(
      "refuses to serve as root (uid 0); run it as a user of its own, such as the unit in "
        + "deploy/systemd does, or say --allow-root", status: 78)
  }

  /// Creates the parent folders; the journal creates its own folder. Parents that others can write
  /// to are refused (77), since they could exchange the folder (G39).
  private func makeFolder(_ path: String) {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
    do throws(FolderError) {
      try TrustedPath.makeFolders(String(path[..<slash]))
    } catch {
      fail("the folder of the journal: \(error)", status: error.isExposed ? 77 : 74)
    }
  }
}
