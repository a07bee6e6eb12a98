// What the log says about workers. Pure.

import OpClusterModel
import Testing

@testable import OpClusterCoordinator

@Suite struct WorkerLinesTests {
  private func run(_ kind: Event.Kind, _ subject: Event.Subject) -> EventRun {
    EventRun(
      first: Event(
        sequence: 1, commit: CommitIndex(1), time: .unknown, subject: subject, kind: kind),
      count: 1)
  }

  /// Names are known to the end, and not beyond it; those of a former life, too.
  @Test func comingsAndGoings() {
    var lines = WorkerLines([
      WorkerRow(
        worker: WorkerID(1), name: "old", state: .away, capacity: Resources(), free: Resources(),
        executing: 0, held: 0, labels: [], types: [], lastHeard: nil)
    ])
    let stage = StageName(graph: GraphID(3), name: "align")
    let told = lines.lines(of: [
      run(.workerLost, .worker(WorkerID(1))),
      run(.workerJoined(name: "new"), .worker(WorkerID(2))),
      run(.isReady(true), .operation(OperationID(graph: GraphID(1), index: 0), sequence: 1)),
      run(.workerSetAside(stage, reason: "no /data"), .worker(WorkerID(2))),
      run(.workerResumed(nil), .worker(WorkerID(2))),
      run(.workerDraining, .worker(WorkerID(2))),
      run(.workerLeft, .worker(WorkerID(2))),
    ])
    #expect(
      told.map(\.what) == [
        .lost, .joined, .setAside(stage, reason: "no /data"), .resumed(nil), .draining, .left,
      ])
    #expect(told.map(\.what.isWarning) == [true, false, true, false, false, false])
    #expect(told[2].what.text.contains("operations of 3/align, and others can"))
    #expect(told.map(\.name) == ["old", "new", "new", "new", "new", "new"])
    let later = lines.lines(of: [run(.workerLost, .worker(WorkerID(2)))])
    #expect(later == [WorkerLines.Line(what: .lost, worker: WorkerID(2), name: "")])
  }
}
