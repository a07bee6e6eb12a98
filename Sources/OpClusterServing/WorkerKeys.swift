// The worker's key: read first of all, or created by an invitation. Main thread.
// Keys belong to TCP alone; over ipc the kernel names the user at the other end, and `Serve` does
// not come here. An invitation is redeemed once, and the key that it makes is used from then on.

import ArgumentParser
import Glibc
import OpClusterClient
import OpClusterDaemon
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterWorker
import OpClusterZeroMQ

extension Serve {
  /// Puts the keys into the configuration; ends the process if that is impossible.
  /// Runs after every other flag was checked, so that a mistake in one does not spend the
  /// invitation.
  func useKeys(_ configuration: inout WorkerConfiguration, _ settings: WorkerSettings) {
    let folder = settings.text(.keys, flag: keys).map { KeyFolder($0) } ?? .standard
    do throws(KeyError) {
      // `isCertain` leaves out a key that may be a client's: it does not count as a worker's own.
      let known = try folder.own(for: .worker, isCertain: true)
      if known == nil, let source = try joinSource(settings) {
        joinAndStartAgain(try token(source), folder, configuration.coordinator, settings)
      }
      let own = try folder.own(for: .worker)
      // A key that exists wins over an invitation; the invitation stays good for somebody else.
      if let own = known, join ?? joinFile != nil {
        let path = try folder.place(for: .worker) ?? folder.path
        StandardStream.error.write(
          "\(Program.name): the invitation is not used: \(path) holds the key of '\(own.name)' "
            + "already; to join anew, remove it first")
      }
      configuration.keys = try folder.clientKeys(for: .worker).keys
      // A key is bound to names. A worker whose own name is not among them takes that of its key,
      // unless a flag says otherwise: then the coordinator refuses it, and says why.
      let isNamed = settings.text(.name, flag: name) != nil
      if let own, own.role == .worker, !isNamed, !own.name.covers(workerName: configuration.name) {
        configuration.name = own.name
        // The default folder is derived from the name, so it follows the name.
        if settings.text(.scratch, flag: scratch) == nil {
          configuration.scratch = WorkerConfiguration.defaultScratch(
            worker: configuration.name, runAs: configuration.runAs)
        }
      }
    } catch {
      fail(error.description, status: error.status)
    }
    // For operations that submit others, in this process and in children.
    if OwnProcess.variable(ClusterKeys.variable) == nil {
      OwnProcess.setVariable(ClusterKeys.variable, folder.path)
    }
  }

  /// The source of the token, if one was given: flags before the environment, then files.
  /// nil means that no invitation was given, not that it is bad. Two flags at once are an error, as
  /// only one can be redeemed.
  private func joinSource(_ settings: WorkerSettings) throws(KeyError) -> JoinSource? {
    if join != nil, joinFile != nil {
      throw KeyError(
        .notUnderstood, "--join and --join-file are given both", hint: "keep one of them")
    }
    let source: JoinSource?
    if let joinFile {
      source = .file(joinFile)
    } else if let text = settings.text(.join, flag: join) {
      source = JoinSource(textOrDash: text)
    } else {
      source = settings.text(.joinFile).map { .file($0) }
    }
    // Both would read the same stream, and the token would be taken for the end of the program that
    // started this one.
    if source == .standardInput, untilStdinCloses {
      throw KeyError(
        .notUnderstood, "--join - takes standard input, and so does --until-stdin-closes",
        hint: "use --join-file")
    }
    return source
  }

  /// A token on standard input is one line; a person at a terminal is told so.
  private func token(_ source: JoinSource) throws(KeyError) -> JoinToken {
    if source == .standardInput, OwnProcess.hasTerminalInput {
      StandardStream.error.write(
        "\(Program.name): paste the token of the invitation, then press Enter")
    }
    return try source.token { OwnProcess.readInputLine(limit: $0) }
  }

  /// Joining needs threads, which a worker must not have at its start. The program restarts without
  /// threads, finds the key, and no longer shows the token.
  /// Ends the process in any case: with the new one in its place, or with the status of the
  /// problem.
  ///
  /// - Parameter token: Not redeemed yet; it is spent when the coordinator has taken the new key.
  private func joinAndStartAgain(
    _ token: JoinToken, _ folder: KeyFolder, _ coordinator: Endpoint, _ settings: WorkerSettings
  ) -> Never {
    // Checked before the token is spent: a wrong role would be refused after the fact.
    guard token.role == .worker || token.role == .admin else {
      fail(
        "this invitation is for the role \(token.role.rawValue), not for a worker, and still good: "
          + "use it with 'opbatch key join', and get another with 'opcoord key invite'", status: 64)
    }
    let name = settings.text(.name, flag: name) ?? MachineResources.machineName
    let result: Result<OwnKey, ClientError>
    do throws(SystemError) {
      result = try runOnThisThread { () async -> Result<OwnKey, ClientError> in
        do throws(ClientError) {
          return .success(
            try await ClusterKeys.join(
              token, name: name, in: folder, for: .worker, coordinator: coordinator.address))
        } catch {
          return .failure(error)
        }
      }
    } catch {
      fail(error.description, status: 74)
    }
    switch result {
    case .success(let own):
      StandardStream.error.write(
        "\(Program.name): joined as '\(own.name)'; the key is \(folder.file(of: .worker))")
      // Flags and variables of the invitation are taken out, or the new process would look at it
      // again.
      let code = OwnProcess.startAgain(
        without: ["--join", "--join-file"], [.join, .joinFile].map(\WorkerSetting.variable))
      fail("cannot start again: error \(code); start without the invitation", status: 74)
    case .failure(let error):
      // The statuses are those of `serve`, so that a service unit needs one list for both.
      switch error.kind {
      case .unreachable, .timedOut: fail(error.description, status: 69)
      case .versionMismatch, .protocolViolation: fail(error.description, status: 76)
      case .badConfiguration, .badAddress: fail(error.description, status: 78)
      default: fail(error.description, status: 77)
      }
    }
  }
}
