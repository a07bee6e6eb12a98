// What a client does that takes all it can get (G29): one process of its own for each run, until it
// is killed. And a process that burns as much processor outside of the cluster, for comparison.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

/// A way of asking for too much.
enum Flood: String, CaseIterable, Sendable {
  /// Pings through the library, which obeys retry-after.
  case pings
  /// Pings that never stop, whatever is answered.
  case deaf
  /// Large graphs, one after the other, each cancelled when it was accepted.
  case graphs
  /// The largest pages of rows.
  case questions
  /// Questions whose answers nobody reads.
  case unread

  var title: String {
    switch self {
    case .pings: "pings, obeying retry-after"
    case .deaf: "pings, ignoring retry-after"
    case .graphs: "graphs of 5,000 templates, cancelled"
    case .questions: "pages of 1,000 rows"
    case .unread: "pages of 1,000 rows, not read"
    }
  }

  /// What no worker has: such an operation waits, and ends at once when it is cancelled.
  static let nowhere = [LabelRequirement(key: "worker", values: ["nowhere"])]

  /// What takes a worker, and no time of it.
  static let noop = Work.call(OperationType(name: "noop"))

  /// Goes on until it is killed.
  func run(at address: String) async throws {
    switch self {
    case .pings: try await obeying(at: address, requesters: 256) { _ in .ping }
    case .questions: try await obeying(at: address, requesters: 64) { _ in Self.page }
    case .graphs:
      try await Self.submitting(at: address)
    case .deaf: try Self.raw(at: address, .ping, reads: true)
    case .unread: try Self.raw(at: address, Self.page, reads: false)
    }
  }

  private static let page = ClientRequest.operations(
    Selection(graphs: .active), after: nil, limit: UInt32(Limits.rowsPerReply))

  private func obeying(
    at address: String, requesters: Int, _ next: @escaping @Sendable (Int) -> ClientRequest
  ) async throws {
    let connection = try await ClusterConnection.connect(to: address, deadline: .seconds(30))
    await withTaskGroup(of: Void.self) { group in
      for requester in 0..<requesters {
        group.addTask { while true { _ = try? await connection.request(next(requester)) } }
      }
    }
  }

  private static func submitting(at address: String) async throws {
    let connection = try await ClusterConnection.connect(to: address, deadline: .seconds(30))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          while true {
            guard
              case .accepted(let graph, _, _) = try? await connection.request(
                .submit(large(templates: 5_000)))
            else { continue }
            _ = try? await connection.request(
              .cancel(.selection(.graph(graph)), reason: "", grace: nil))
          }
        }
      }
    }
  }

  /// Each waits for the two before it; nothing of it ever runs.
  static func large(templates: Int) -> GraphSubmission {
    let name = "large-\(UInt64.random(in: 0 ... .max))"
    var graph = GraphSubmission(key: SubmissionKey(name), name: name)
    for number in 0..<templates {
      var template = OperationTemplate(
        name: "operation-number-\(number)", work: .call(OperationType(name: "noop")))
      template.requirements = nowhere
      graph.templates.append(template)
      for back in 1...2 where number >= back {
        graph.groupEdges.append(
          GroupEdge(from: UInt32(number - back), to: UInt32(number), policy: .succeeded))
      }
    }
    return graph
  }

  /// As fast as a socket takes it; comes again 0.1 s after it was cut off.
  private static func raw(at address: String, _ request: ClientRequest, reads: Bool) throws {
    let endpoint = try Endpoint(address)
    while true {
      usleep(100_000)
      let socket = try Socket(role: .dealer(maximumMessageBytes: Limits.messageBytes))
      var poller = SocketPoller()
      let item = poller.add(socket)
      try socket.connect(endpoint)
      var bytes = Wire.encode(ClientMessage.hello(ClientHello(build: "flood")))
      var number: UInt64 = 0
      var isOver = false
      while !isOver {
        poller.change(item, to: reads ? [.readable, .writable] : .writable)
        _ = try poller.wait(until: nil)
        if reads { while case .message = socket.receive() {} }
        while let event = socket.nextConnectionEvent() { if event.isEnd { isOver = true } }
        for _ in 0..<256 where !isOver {
          guard socket.send(bytes) == .sent else { break }
          number += 1
          bytes = Wire.encode(ClientMessage.request(RequestID(number), request))
        }
      }
    }
  }

  /// Uses such a share of a processor, in slices of 10 ms, until it is killed.
  static func burn(_ share: Double) {
    let slice = 0.010
    while true {
      let start = Moment.now
      while Moment.now.seconds(since: start) < slice * share {}
      usleep(UInt32(max(0, slice * (1 - share)) * 1_000_000))
    }
  }
}

extension ConnectionEvent {
  fileprivate var isEnd: Bool { if case .connected = self { false } else { true } }
}
