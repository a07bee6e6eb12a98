// What the coordinator makes of processes that KILL does not end at a worker: it says so where
// people look, and gives that worker nothing in their place.

import OpClusterModel
import Testing

@testable import OpClusterScheduling

extension World {
  /// A report that names them.
  fileprivate mutating func report(_ at: Int, unkillable: [AttemptID], cpus: Int64 = 0) {
    guard case .worker(let peer, .report(var report)) = nextReport(of: at) else { return }
    report.unkillable = unkillable
    report.unkillableDemand = Resources(cpus: ResourceAmount(cpus))
    input(.worker(peer, .report(report)))
  }

  fileprivate mutating func row(_ at: Int) -> WorkerRow? {
    guard case .workers(let rows) = ask(.workers) else { return nil }
    return rows.first { $0.name == workers[at].name }
  }

  fileprivate mutating func why(_ operation: OperationID) -> [String] {
    guard case .explanations(let all, more: _) = ask(.explain(Selection(graphs: .all))) else {
      return []
    }
    return all.first { $0.operation == operation }?.lines.map(\.text) ?? []
  }

  fileprivate mutating func submit(_ count: Int) {
    var submission = GraphSubmission(name: "g")
    for number in 0..<count {
      var template = OperationTemplate(
        name: "t\(number)", work: .call(OperationType(name: "noop")))
      template.demand = Resources(cpus: ResourceAmount(1))
      submission.templates.append(template)
    }
    ask(.submit(submission))
  }
}

@Suite struct UnkillableTests {
  @Test func aRunningOneIsNamed() throws {
    var world = World()
    world.join("a", cpus: 2)
    world.submit(1)
    let attempt = try #require(world.workers[0].assigned.first?.attempt)
    world.start(0, attempt.operation)
    world.report(0)
    let (healthy, before) = (world.row(0), world.why(attempt.operation))
    #expect(healthy?.unkillable == 0 && before.count == 1)
    world.report(0, unkillable: [attempt])
    let (sick, lines) = (world.row(0), world.why(attempt.operation))
    #expect(sick?.unkillable == 1 && sick?.free.cpus == ResourceAmount(1))
    #expect(lines.last?.contains("KILL does not end its processes on worker a") == true)
    // Only what the newest report says counts.
    world.report(0)
    let (again, after) = (world.row(0), world.why(attempt.operation))
    #expect(again?.unkillable == 0 && after == before)
    #expect(world.brokenInvariant == nil)
  }

  // What was left by one that is over takes room that the coordinator believed to be free.
  @Test func nothingIsGivenInItsPlace() throws {
    var world = World()
    world.join("a", cpus: 1)
    world.submit(1)
    let attempt = try #require(world.workers[0].assigned.first?.attempt)
    world.start(0, attempt.operation)
    world.end(0, attempt.operation)
    world.report(0, unkillable: [attempt], cpus: 1)
    world.submit(1)
    #expect(world.workers[0].assigned.isEmpty, "\(world.workers[0].assigned)")
    let row = world.row(0)
    #expect(row?.capacity.cpus == ResourceAmount(1) && row?.free.cpus == .zero)
    // Elsewhere it runs, and here as well once there is room again.
    world.join("b", cpus: 1)
    #expect(world.workers[1].assigned.count == 1)
    world.start(1, try #require(world.workers[1].assigned.first?.attempt.operation))
    world.report(1)
    world.submit(1)
    #expect(world.workers[0].assigned.isEmpty)
    world.report(0)
    #expect(world.workers[0].assigned.count == 1)
    #expect(world.brokenInvariant == nil)
  }

  // A worker that names more than it has, and amounts at the end of their type: it gets nothing.
  @Test func moreThanItHas() throws {
    var world = World()
    world.join("a", cpus: 1)
    for amount in [2, Int64.max / 10_000] {
      world.report(0, unkillable: [], cpus: amount)
      world.submit(1)
      #expect(world.workers[0].assigned.isEmpty)
    }
    world.report(0)
    #expect(!world.workers[0].assigned.isEmpty)
    #expect(world.brokenInvariant == nil)
  }
}
