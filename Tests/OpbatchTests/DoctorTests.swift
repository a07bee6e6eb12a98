// How the doctor judges figures: at each bound and past it.

import OpClusterModel
import Testing

@testable import opbatch

@Suite struct DoctorTests {
  private func state(_ body: (inout DoctorReport) -> Void) -> DoctorReport.Finding.State? {
    var report = DoctorReport()
    body(&report)
    return report.findings.first?.state
  }

  // The clock is for display, so that a wrong one is never bad, only worth a word.
  @Test func clocks() {
    func judged(_ theirs: Int64, _ here: Int64, _ trip: Duration = .zero)
      -> DoctorReport.Finding.State?
    {
      state {
        $0.addClock(
          WallTime(milliseconds: theirs), here: WallTime(milliseconds: here), roundTrip: trip)
      }
    }
    #expect(judged(1_000_000, 1_002_000) == .good)
    #expect(judged(1_000_000, 1_002_001) == .notice)
    #expect(judged(1_002_001, 1_000_000) == .notice)
    #expect(judged(1_000_000, 1_002_400, .milliseconds(400)) == .good)
    #expect(judged(1, .max) == .notice)
    #expect(judged(.max, 1) == .notice)
    #expect(judged(0, 5) == nil)
  }

  @Test func disks() {
    func judged(_ free: UInt64?, reserve: UInt64 = 64) -> DoctorReport.Finding.State? {
      var values = ConfigurationValues(
        timing: Timing(), clientEndpoint: "", workerEndpoint: "", stateFolder: "/s")
      values.diskFreeBytes = free
      values.diskReserveBytes = reserve
      return state { $0.addDisk(values) }
    }
    #expect(judged(nil) == nil)
    #expect(judged(63) == .bad)
    #expect(judged(64) == .notice)
    #expect(judged(64 * 8 - 1) == .notice)
    #expect(judged(64 * 8) == .good)
    #expect(judged(.max, reserve: .max) == .notice)
  }

  // Who is down is told, with the reason, and is none of those that take work.
  @Test func workersThatAreDown() throws {
    func row(_ name: String, _ state: WorkerRow.State) -> WorkerRow {
      var row = WorkerRow(
        worker: WorkerID(1), name: name, state: state, capacity: .none, free: .none, executing: 0,
        held: 0, labels: [], types: [], lastHeard: .seconds(90))
      row.downReason = "it was not heard of for 15 s"
      return row
    }
    var report = DoctorReport()
    report.addWorkers([row("w1", .connected), row("w2", .down)], Timing())
    #expect(report.isWell)
    #expect(report.findings[0].message == "1 of 1 take work")
    let down = try #require(report.findings.last)
    #expect(down.subject == "worker w2" && down.state == .notice)
    #expect(down.message == "down for 1m 30s: it was not heard of for 15 s")
    #expect(down.advice.contains("opbatch worker forget w2"))
    var alone = DoctorReport()
    alone.addWorkers([row("w2", .down)], Timing())
    #expect(!alone.isWell && alone.findings[0].message == "none is there: nothing can run")
    var many = DoctorReport()
    many.addWorkers((1...8).map { row("w\($0)", .down) }, Timing())
    #expect(many.findings.count == 7 && many.findings[6].message == "3 more are down")
  }

  @Test func damagedHistories() {
    var values = ConfigurationValues(
      timing: Timing(), clientEndpoint: "", workerEndpoint: "", stateFolder: "/s")
    #expect(state { $0.addHistory(values) } == nil)
    values.historyProblem = "journal is damaged at stream: events 4 to 7 are missing"
    var report = DoctorReport()
    report.addHistory(values)
    #expect(!report.isWell)
    #expect(report.findings.map(\.message) == values.historyProblem.map { [$0] })
    #expect(report.findings.allSatisfy { $0.advice.contains("journal verify") })
  }

  @Test func workers() {
    func row(_ state: WorkerRow.State, heard: Span? = .seconds(3)) -> WorkerRow {
      WorkerRow(
        worker: WorkerID(1), name: "w", state: state, capacity: Resources(), free: Resources(),
        executing: 0, held: 0, labels: [], types: [], lastHeard: heard)
    }
    func report(_ rows: [WorkerRow]) -> DoctorReport {
      var report = DoctorReport()
      report.addWorkers(rows, Timing())
      return report
    }
    #expect(!report([]).isWell)
    #expect(!report([row(.away)]).isWell)
    #expect(!report([row(.draining)]).isWell)
    let mixed = report([row(.connected), row(.suspect), row(.draining)])
    #expect(mixed.isWell)
    #expect(mixed.findings.map(\.state) == [.good, .notice, .notice])
    #expect(mixed.findings.dropFirst().allSatisfy { !$0.advice.isEmpty })
    let findings = report([row(.away), row(.away, heard: nil)]).findings.suffix(2)
    let away = findings.map(\.message)
    #expect(away[0].contains("last heard 3") && away[1].contains("not heard since the coordinator"))
    // G24: the coordinator waits longer for one that it has not heard since its start.
    let advice = findings.map(\.advice)
    #expect(advice[0].contains("given up after 15s") && advice[1].contains("given up after 30s"))
  }
}
