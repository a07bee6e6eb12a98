// The worker's key: read first of all, or created by an invitation. Main thread.

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
  func useKeys(_ configuration: inout WorkerConfiguration, _ settings: WorkerSettings) {
    let folder = settings.text(.keys, flag: keys).map { KeyFolder($0) } ?? .standard
    do throws(KeyError) {
      let known = try folder.own(for: .worker, isCertain: true)
      if known == nil, let source = try joinSource(settings) {
        joinAndStartAgain(try token(source), folder, configuration.coordinator, settings)
      }
      let own = try folder.own(for: .worker)
      if let own = known, join ?? joinFile != nil {
        let path = try folder.place(for: .worker) ?? folder.path
        StandardStream.error.write(
          "\(Program.name): the invitation is not used: \(path) holds the key of '\(own.name)' "
            + "already; to join anew, remove it first")
      }
      configuration.keys = try folder.clientKeys(for: .worker).keys
      let isNamed = settings.text(.name, flag: name) != nil
      if let own, own.role == .worker, !isNamed, !own.name.covers(workerName: configuration.name) {
        configuration.name = own.name
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
    if source == .standardInput, untilStdinCloses {
      throw KeyError(
        .notUnderstood, "--join - takes standard input, and so does --until-stdin-closes",
        hint: "use --join-file")
    }
    return source
  }

  private func token(_ source: JoinSource) throws(KeyError) -> JoinToken {
    if source == .standardInput, OwnProcess.hasTerminalInput {
      StandardStream.error.write(
        "\(Program.name): paste the token of the invitation, then press Enter")
    }
    return try source.token { OwnProcess.readInputLine(limit: $0) }
  }

  /// Joining needs threads, which a worker must not have at its start. The program restarts without
  /// threads, finds the key, and no longer shows the token.
  private func joinAndStartAgain(
    _ token: JoinToken, _ folder: KeyFolder, _ coordinator: Endpoint, _ settings: WorkerSettings
  ) -> Never {
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
      let code = OwnProcess.startAgain(
        without: ["--join", "--join-file"], [.join, .joinFile].map(\WorkerSetting.variable))
      fail("cannot start again: error \(code); start without the invitation", status: 74)
    case .failure(let error):
      switch error.kind {
      case .unreachable, .timedOut: fail(error.description, status: 69)
      case .versionMismatch, .protocolViolation: fail(error.description, status: 76)
      case .badConfiguration, .badAddress: fail(error.description, status: 78)
      default: fail(error.description, status: 77)
      }
    }
  }
}
