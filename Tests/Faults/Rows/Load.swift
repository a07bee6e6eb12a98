// The load of a row: graphs of operations that write witness lines, submitted one after the other
// with keys, each repeated until it is answered; and small probes all the time. Writes down every
// call with its times: the first of the three witnesses.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterWire
import RealCluster
import Synchronization

/// How much of it.
struct LoadShape: Sendable {
  var graphs: Int
  var operationsPerGraph: Int
  /// An operation takes 0 to so many seconds.
  var longest: Double
  /// Graphs that are under way at once.
  var atOnce = 8
}

/// One submission as a client sees it; several with the same key are repetitions.
struct Call: Sendable {
  enum End: Sendable {
    case accepted(GraphID, operations: UInt32, repeated: Bool)
    case refused(Refusal)
    /// Not known whether it was carried out.
    case unknown(String)
  }
  var key: String
  var operations: Int
  var sent: Moment
  var ended: Moment
  var end: End
}

/// The client of a row. Any task.
final class Load: Sendable {
  let shape: LoadShape
  let witness: String
  private let program: String
  private let connections: @Sendable () async throws -> ClusterConnection
  private struct State {
    var calls: [Call] = []
    var graphs: [String: GraphSubmission] = [:]
    var isOver = false
    /// From a loss of power until the coordinator is started again.
    var darkness: [ClosedRange<Moment>] = []
  }
  private let state = Mutex(State())

  /// - Parameters:
  ///   - cluster: operations write into its folder, as `witness`.
  ///   - address: where the client connects to, if not directly to the coordinator.
  init(_ shape: LoadShape, on cluster: Cluster, address: String? = nil) throws {
    self.shape = shape
    witness = "\(cluster.folder)/witness"
    program = try Cluster.executable("FaultOperation")
    connections = { try await cluster.reach(address) }
  }

  var calls: [Call] {
    state.withLock { state in
      guard !state.darkness.isEmpty else { return state.calls }
      return state.calls.map { call in
        guard case .accepted = call.end,
          state.darkness.contains(where: { $0.contains(call.ended) })
        else { return call }
        var dark = call
        dark.end = .unknown("its answer was heard after the loss of power")
        return dark
      }
    }
  }

  /// A machine without power says nothing. Where the loss is played, by a file system that is shut
  /// down under a process that lives on for a moment, that may say something, and be told by the
  /// kernel that a sync has gone well which has not.
  func losePower(since start: Moment) {
    state.withLock { $0.darkness.append(start...max(start, Moment.now)) }
  }
  /// What was submitted, by key.
  var submissions: [String: GraphSubmission] { state.withLock { $0.graphs } }
  /// The graphs that were acknowledged, by key.
  var accepted: [String: GraphID] {
    var all: [String: GraphID] = [:]
    for call in calls {
      if case .accepted(let graph, _, _) = call.end { all[call.key] = graph }
    }
    return all
  }
  var acceptedCount: Int { accepted.count }

  /// Tells the probes to end.
  func stop() { state.withLock { $0.isOver = true } }
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Submits all graphs, no more than `atOnce` under way; ends when all have been acknowledged.
  func submitAll() async throws {
    let connection = try await connections()
    for number in 1...shape.graphs {
      while try await active(connection) >= shape.atOnce {
        try await Task.sleep(for: .milliseconds(20))
      }
      try await submit(graph(number), over: connection)
    }
    await connection.close()
  }

  private func active(_ connection: ClusterConnection) async throws -> Int {
    do throws(ClientError) {
      guard
        case .graphs(let rows, _) = try await connection.request(
          .graphs(Selection(graphs: .active), after: nil, limit: UInt32(Limits.rowsPerReply)),
          timeout: .seconds(5))
      else { return 0 }
      return rows.count { $0.name.hasPrefix("load") }
    } catch {
      return 0
    }
  }

  /// Submits graphs of two empty operations until it is stopped.
  func probe(_ client: Int = 0, pause: Duration = .milliseconds(20)) async throws {
    let connection = try await connections()
    var number = 0
    while !isOver {
      number += 1
      try await submit(Self.probe("probe-\(client)-\(number)"), over: connection)
      try await Task.sleep(for: pause)
    }
    await connection.close()
  }

  /// Repeats one submission, with its key, until it is answered.
  @discardableResult
  func submit(
    _ submission: GraphSubmission, over connection: ClusterConnection
  ) async throws -> GraphID {
    state.withLock { $0.graphs[submission.key.text] = submission }
    while true {
      let sent = Moment.now
      var end: Call.End
      do throws(ClientError) {
        let reply = try await connection.request(.submit(submission), timeout: .seconds(10))
        guard case .accepted(let graph, let operations, let repeated) = reply else {
          throw ClientError(Refusal(.badRequest, "an odd reply: \(reply)"))
        }
        end = .accepted(graph, operations: operations, repeated: repeated)
      } catch {
        if case .refused(let refusal) = error.kind {
          end = .refused(refusal)
        } else {
          end = .unknown("\(error)")
        }
      }
      let call = Call(
        key: submission.key.text, operations: submission.operationCount, sent: sent,
        ended: .now, end: end)
      state.withLock { $0.calls.append(call) }
      switch end {
      case .accepted(let graph, _, _): return graph
      case .refused(let refusal) where refusal.code != .busy:
        throw Trouble("\(submission.key.text): \(refusal)")
      case .refused, .unknown: try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  // What is submitted

  /// Layers of ten; each operation waits for one or two of the layer before.
  func graph(_ number: Int) -> GraphSubmission {
    let name = "load-\(number)"
    var submission = GraphSubmission(key: SubmissionKey(name), name: name)
    for index in 0..<shape.operationsPerGraph {
      let time = Int(Double.random(in: 0...max(shape.longest, 0.001)) * 1000)
      submission.templates.append(operation("o\(index)", milliseconds: time))
      guard index >= 10 else { continue }
      let layer = (index / 10 - 1) * 10
      let ends = Set([Int.random(in: 0..<10), Int.random(in: 0..<10)]).sorted()
      for end in ends {
        submission.groupEdges.append(
          GroupEdge(
            from: UInt32(layer + end), to: UInt32(index),
            policy: index % 3 == 0 ? .finished : .succeeded))
      }
    }
    return submission
  }

  /// An operation that writes its two lines, so far apart.
  func operation(_ name: String, milliseconds: Int) -> OperationTemplate {
    Self.command(name, .arguments([program, witness, "\(milliseconds)"].map { CommandText($0) }))
  }

  /// An operation that runs a shell script; `$SAY` is the program that writes the witness lines.
  func shell(_ name: String, _ text: String) -> OperationTemplate {
    let preamble = "SAY='\(program)'; WITNESS='\(witness)'\n"
    return Self.command(
      name, .shell(interpreter: ["/bin/sh", "-c"], text: CommandText(preamble + text + "\n")))
  }

  static func command(_ name: String, _ form: CommandSpecification.Form) -> OperationTemplate {
    var template = OperationTemplate(name: name, work: .command)
    template.payload = Wire.encode(command: CommandSpecification(form: form))
    return template
  }

  static func probe(_ name: String) -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey(name), name: name)
    submission.templates = (1...2).map {
      OperationTemplate(name: "n\($0)", work: .call(OperationType(name: "noop")))
    }
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    return submission
  }
}
