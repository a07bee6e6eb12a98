// Those who do nothing wrong while others do: a client whose small graphs the workers run, timed
// from the submission to the end; and what the coordinator says of itself when it stops. Any task.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization

extension Trial {
  /// Runs `body` while a client submits and is served; judges its times, that the coordinator is
  /// the same process afterwards, and how far its memory grew.
  ///
  /// - Parameters:
  ///   - limit: Seconds that one graph may take from its submission to its end.
  ///   - growth: MiB that the coordinator may keep in memory more than before.
  ///   - resource: What the client's operations need, where others serve as workers, too: who is
  ///     let in as a worker may keep what it is given, which no guarantee forbids.
  func withBystanders(
    _ cluster: Cluster, limit: Double, growth: Int = 64, resource: String? = nil,
    _ body: @Sendable () async throws -> Void
  ) async throws {
    let process = try cluster.process("opcoord")
    let bystander = try await Bystander(on: cluster, resource: resource)
    for _ in 0..<3 { _ = try await bystander.isServed() }
    let before = Surroundings.residentBytes(process)
    let times = Stopwatch()
    let isOver = Switch()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        while !isOver.isOn {
          let (time, why) = try await bystander.isServed()
          times.add(time)
          if time > limit / 2 { self.note(why) }
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      defer { isOver.turnOn() }
      try await body()
      isOver.turnOn()
      try await group.waitForAll()
    }
    await bystander.end()
    let after = Surroundings.residentBytes(process)
    let series = times.series
    note("meanwhile a good client and worker needed \(series.text) for a graph")
    note(
      "opcoord kept \(before >> 20) MiB in memory before, \(after >> 20) MiB after")
    expect(series.largest < limit, "G33: a good client waited \(Moment.text(series.largest)) s")
    expect(cluster.daemon("opcoord")?.end == nil, "G33: opcoord ended")
    expect((after - before) >> 20 <= growth, "G33: opcoord grew by \((after - before) >> 20) MiB")
  }
}

/// One client with a connection of its own.
struct Bystander: Sendable {
  private let connection: ClusterConnection
  private let number = Counter()
  private let name: String
  private let resource: String?

  init(on cluster: Cluster, resource: String? = nil) async throws {
    self.resource = resource
    connection = try await cluster.reach()
    name = "bystander-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
  }

  /// Submits two calls, one after the other, and waits for their end; seconds, and where they went
  /// if they were many.
  func isServed() async throws -> (seconds: Double, why: String) {
    let start = Moment.now
    var submission = Load.probe("\(name)-\(number.next())")
    if let resource {
      let demand = Resources.NamedAmount(name: resource, amount: ResourceAmount(1))
      for at in submission.templates.indices {
        submission.templates[at].demand.custom = [demand]
      }
    }
    let reply = try await connection.request(.submit(submission), timeout: .seconds(60))
    guard case .accepted(let graph, _, _) = reply else { throw Trouble("\(reply)") }
    let accepted = Moment.now
    var why =
      "graph \(graph.number) was accepted after \(Moment.text(accepted.seconds(since: start))) s"
    try await eventually("a bystander's graph has ended", within: .seconds(120)) {
      let rows = try await connection.graphs(.graph(graph))
      if Moment.now.seconds(since: accepted) > 1, !why.contains(";") {
        why += "; after a second: " + (try await explanation(of: graph))
      }
      return rows.first.map { $0.state != .running } ?? false
    }
    return (Moment.now.seconds(since: start), why)
  }

  /// What its operations wait for, in the coordinator's words.
  private func explanation(of graph: GraphID) async throws -> String {
    let reply = try await connection.request(.explain(.graph(graph)))
    guard case .explanations(let all, _) = reply else { return "\(reply)" }
    return all.map { "\($0)" }.joined(separator: ", ")
  }

  func end() async { await connection.close() }
}

/// Measurements of several tasks.
final class Stopwatch: Sendable {
  private let all = Mutex(Series())
  func add(_ seconds: Double) { all.withLock { $0.add(seconds) } }
  var series: Series { all.withLock { $0 } }
}

/// Turned on once, for all who look.
final class Switch: Sendable {
  private let value = Atomic<Bool>(false)
  var isOn: Bool { value.load(ordering: .relaxed) }
  func turnOn() { value.store(true, ordering: .relaxed) }
}

/// Counts, from 1.
final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  func next() -> Int { value.add(1, ordering: .relaxed).newValue }
  var count: Int { value.load(ordering: .relaxed) }
}

extension Cluster {
  /// Stops the coordinator in good order and reads what it counted: messages that were not
  /// understood.
  func malformedCount() async throws -> Int {
    guard let daemon = daemon("opcoord") else { throw Trouble("there is no opcoord") }
    daemon.signal(SIGTERM)
    let status = try await daemon.ended()
    guard status == 0 else { throw Trouble("opcoord ended with \(status): \(daemon.error)") }
    let log = daemon.error
    guard let range = log.ranges(of: "malformed=").last,
      let count = Int(log[range.upperBound...].prefix { $0.isNumber })
    else { throw Trouble("opcoord does not say what it counted: \(log.suffix(500))") }
    return count
  }
}
