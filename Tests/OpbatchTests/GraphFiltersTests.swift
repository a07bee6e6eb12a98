// Which graphs `ls` and `rm` keep, by name, user and time.

import ArgumentParser
import OpClusterModel
import Testing

@testable import opbatch

@Suite struct GraphFiltersTests {
  private static let now = WallTime(milliseconds: 1_000_000_000)

  private func row(_ number: UInt32, _ name: String, _ user: String, ago seconds: Int64) -> GraphRow
  {
    GraphRow(
      graph: GraphID(number), name: name, state: .running, counts: StateCounts(),
      submittedAt: Self.now - .seconds(seconds), finishedAt: .unknown,
      labels: [Label(key: GraphSubmission.submitterLabel, value: user)], allowedFailures: 0)
  }

  private func kept(_ arguments: String...) throws -> [UInt32] {
    let command = try #require(try Opbatch.parseAsRoot(["ls"] + arguments) as? List)
    var rows = [
      row(1, "align", "anna", ago: 7_200), row(2, "align-2", "bert", ago: 3_600),
      row(3, "render", "anna", ago: 60),
    ]
    command.graphFilters.keep(&rows, now: Self.now)
    return rows.map(\.graph.number)
  }

  @Test func each() throws {
    #expect(try kept() == [1, 2, 3])
    #expect(try kept("--name", "align") == [1])
    #expect(try kept("--name", "align*") == [1, 2])
    #expect(try kept("--user", "anna") == [1, 3])
    #expect(try kept("--since", "1h") == [2, 3])
    #expect(try kept("--since", "59m") == [3])
  }

  @Test func together() throws {
    #expect(try kept("--user", "anna", "--since", "3h", "--name", "a*") == [1])
    #expect(try kept("--user", "carl") == [])
  }
}
