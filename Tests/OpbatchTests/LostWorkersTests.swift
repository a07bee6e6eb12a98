// Which of many lost workers are named: those that were lost last.

import OpClusterModel
import Testing

@testable import opbatch

@Suite struct LostWorkersTests {
  private func row(_ name: String, lostAt second: Int64) -> WorkerRow {
    var row = WorkerRow(
      worker: WorkerID(1), name: name, state: .down, capacity: Resources(), free: Resources(),
      executing: 0, held: 0, labels: [], types: [], lastHeard: nil)
    row.downSince = WallTime(milliseconds: second * 1_000)
    return row
  }

  @Test func thoseLostLastAreNamed() {
    let rows = [
      row("a", lostAt: 97), row("b", lostAt: 10), row("c", lostAt: 0), row("d", lostAt: 97),
      row("e", lostAt: 80), row("f", lostAt: 5),
    ]
    #expect(rows.lostLast(3).map(\.name) == ["e", "a", "d"])
    #expect(rows.lostLast(9).map(\.name) == ["c", "f", "b", "e", "a", "d"])
    #expect([WorkerRow]().lostLast(5).isEmpty)
  }
}
