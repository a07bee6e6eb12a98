// `opbatch doctor`: checks everything between this command line and a working cluster, and says for
// each problem what to do.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Reads only, and needs the right to read (G36). Made for the moment when something is wrong: each
/// step says what it could not find out.
struct Doctor: Command {
  static let configuration = CommandConfiguration(
    abstract: "Look for what is wrong with the cluster, and say what to do.",
    discussion: """
      Looks at configuration, reachability, versions, clocks, the journal's disk, the history, the \
      workers, and operations that none of them could run.
      Exit codes: 0 nothing that must be done, 1 something is wrong, 69 no coordinator answers, 77 \
      it does not accept the key, 78 the configuration is wrong.
      """)
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Never throws for a finding: a problem is a line of the report, and the report is always
  /// printed as a whole. Only stdout itself can fail.
  func perform(_ console: Console) async throws -> ExitStatus {
    var report = DoctorReport()
    // nil: the examination went through, and the findings decide.
    let status = await examine(&report)
    try show(report, console)
    return status ?? (report.isWell ? .success : .failed)
  }

  /// Returns the status of the problem that ended the examination; nil if none did.
  private func examine(_ report: inout DoctorReport) async -> ExitStatus? {
    report.add(.good, "opbatch", "opbatch \(Build.version), protocol \(Self.spoken)")
    do {
      guard let address = try ClusterAddress.find(flag: global.coordinator, keys: global.keys)
      else {
        report.add(
          .bad, "configuration",
          "no coordinator is named, and none of yours is running on this machine",
          "'opbatch up' starts one on this machine; else write 'coordinator: ADDRESS' into "
            + "~/.config/opcluster/config.yaml or set \(ClusterAddress.variable)")
        return .unreachable
      }
      report.add(.good, "configuration", "\(address.text), named by \(address.origin.text)")
    } catch {
      let failure = Failure(shown: error)
      report.add(.bad, "configuration", failure.message, failure.hint)
      return failure.status
    }
    // Each step needs the one before: without an address there is nobody to ask.
    return await examineCoordinator(&report)
  }

  /// Asks the coordinator what it knows of itself. The first question that fails ends the
  /// examination, with what was found until then; the later ones would wait for the same fault.
  private func examineCoordinator(_ report: inout DoctorReport) async -> ExitStatus? {
    let connection: ClusterConnection
    do {
      connection = try await connect()
    } catch {
      let failure = Failure(shown: error)
      let advice =
        failure.hint.isEmpty
        ? "start it ('systemctl status opcoord' and its log say why it does not run), or mend the "
          + "address" : failure.hint
      report.add(.bad, "coordinator", failure.message, advice)
      return failure.status
    }
    // Monotonic: the wall clock is what is being examined.
    let clock = ContinuousClock()
    do {
      // The first request on this connection.
      let begin = clock.now
      guard case .pong(_, let epoch, _) = try await ask(connection, .ping) else {
        throw Failure.unexpectedReply("ping")
      }
      let welcome = connection.welcome
      report.addCoordinator(
        build: welcome.build, version: welcome.version, epoch, answeredIn: clock.now - begin)
      let asked = clock.now
      guard case .configuration(let values) = try await ask(connection, .configuration) else {
        throw Failure.unexpectedReply("configuration")
      }
      report.addClock(
        values.wall, here: WallTime(milliseconds: WallClock.now()),
        roundTrip: clock.now - asked)
      report.addDisk(values)
      report.addHistory(values)
      report.addWorkers(try await workerRows(connection), values.timing)
      report.addQueues(try await queueRows(connection))
      report.addUnplaceable(try await unplaceable(connection))
      await connection.close()
      return nil
    } catch {
      let failure = Failure(shown: error)
      report.add(.bad, "coordinator", failure.message, failure.hint)
      await connection.close()
      return failure.status
    }
  }

  /// Maximum number of graphs that are examined.
  private static let graphsAsked = 20

  /// The stages that wait for a worker that is not there, of the first graphs. Up to a request for
  /// each stage of `Reader.unplaceable`, so that both numbers are bounded.
  private func unplaceable(_ connection: ClusterConnection) async throws -> [UnplaceableStage] {
    let reader = reader(connection)
    var found: [UnplaceableStage] = []
    for row in try await reader.allGraphs(Selection(graphs: .active)).prefix(Self.graphsAsked) {
      // Ignores the error of a graph that ended in the meantime.
      found += (try? await reader.unplaceable(row.graph)) ?? []
    }
    return found
  }

  /// The range of protocol versions, as one number where there is only one.
  private static var spoken: String {
    let versions = ProtocolVersions.current
    return versions.lowest == versions.highest
      ? "\(versions.lowest)" : "\(versions.lowest) to \(versions.highest)"
  }

  /// `-o name` lists what needs attention and nothing else, so that an empty output means a well
  /// cluster.
  private func show(_ report: DoctorReport, _ console: Console) throws {
    switch console.format {
    case .name:
      for finding in report.findings where finding.state != .good {
        try console.writeLine(finding.subject)
      }
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.field("well", report.isWell)
          json.array("findings") { json in
            for finding in report.findings {
              json.object { json in
                json.field("state", finding.state.rawValue)
                json.field("subject", finding.subject)
                json.field("message", finding.message)
                json.field("advice", finding.advice)
              }
            }
          }
        })
    case .table:
      let style = console.outputStyle
      for line in report.findings.flatMap({ $0.lines(style) }) { try console.writeLine(line) }
    }
  }
}
