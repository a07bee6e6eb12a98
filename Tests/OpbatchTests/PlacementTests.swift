// What no worker that is there can run is told at once, with what is asked for and what there is
// (S61).

import OpClusterModel
import Testing

@testable import opbatch

@Suite struct PlacementTests {
  private func worker(
    _ capacity: Resources, labels: [Label] = [], types: [OperationType] = []
  ) -> WorkerRow {
    WorkerRow(
      worker: WorkerID(1), name: "w", state: .connected, capacity: capacity, free: capacity,
      executing: 0, held: 0, labels: labels, types: types, lastHeard: .zero)
  }

  private func objections(
    _ workers: [WorkerRow], _ change: (inout OperationTemplate) -> Void
  ) -> [String] {
    var template = OperationTemplate(name: "big", work: .command)
    change(&template)
    var submission = GraphSubmission(name: "g")
    submission.templates = [template]
    return Placement.objections(submission, workers)
  }

  private let workers: [Resources] = [
    Resources(cpus: ResourceAmount(2), memoryBytes: 4 << 30),
    Resources(
      cpus: ResourceAmount(1), memoryBytes: 8 << 30, gpus: ResourceAmount(1),
      custom: [Resources.NamedAmount(name: "disk", amount: ResourceAmount(1))]),
  ]

  @Test func theLargestWorkerIsNamedByWhatItHas() {
    let rows = workers.map { worker($0) }
    func said(_ demand: Resources) -> String {
      objections(rows) { $0.demand = demand }.joined()
    }
    #expect(said(Resources(cpus: ResourceAmount(2))).isEmpty)
    #expect(
      said(Resources(cpus: ResourceAmount(64)))
        .contains("it asks for 64 cpus, and the largest worker has 2"))
    #expect(said(Resources(memoryBytes: 8 << 30)).isEmpty)
    #expect(
      said(Resources(memoryBytes: 16 << 30)).contains("16 GiB of memory, and the largest"))
    #expect(said(Resources(gpus: ResourceAmount(2))).contains("2 gpus, and the largest"))
    let disk = Resources.NamedAmount(name: "disk", amount: ResourceAmount(3))
    #expect(said(Resources(custom: [disk])).contains("3 of 'disk', and the largest worker has 1"))
    // Each has one of the two.
    let both = Resources(cpus: ResourceAmount(2), memoryBytes: 6 << 30)
    #expect(said(both).contains("none has all at once"))
  }

  @Test func typesAndLabels() {
    let rows = workers.map {
      worker($0, labels: [Label(key: "zone", value: "a")], types: [OperationType(name: "tilt")])
    }
    func said(_ change: (inout OperationTemplate) -> Void) -> String {
      objections(rows, change).joined()
    }
    #expect(said { $0.requirements = [LabelRequirement(key: "zone", values: ["a"])] }.isEmpty)
    #expect(
      said { $0.requirements = [LabelRequirement(key: "zone", values: ["b"])] }
        .contains("none has the label zone=b"))
    #expect(said { $0.work = .call(OperationType(name: "tilt")) }.isEmpty)
    #expect(
      said { $0.work = .call(OperationType(name: "tilt", version: 2)) }
        .contains("none has the operation type 'tilt' version 2"))
    #expect(
      said {
        $0.work = .nothing
        $0.demand = Resources(cpus: ResourceAmount(64))
      }.isEmpty)
  }

  @Test func equalsAreOneSentenceAndManyAreCut() {
    var submission = GraphSubmission(name: "g")
    for number in 1...3 {
      var template = OperationTemplate(name: "big\(number)", work: .command)
      template.demand = Resources(cpus: ResourceAmount(64))
      submission.templates.append(template)
    }
    let rows = [worker(Resources())]
    #expect(Placement.objections(submission, rows).count == 1)
    #expect(Placement.objections(submission, rows)[0].contains("'big1' and 2 more"))
    for number in 1...300 {
      var template = OperationTemplate(name: "other\(number)", work: .command)
      template.demand = Resources(cpus: ResourceAmount(Int64(100 + number)))
      submission.templates.append(template)
    }
    let many = Placement.objections(submission, rows)
    #expect(many.count == 6 && many[5].hasPrefix("… and "))
    #expect(Placement.objections(submission, []).count == 1)
    #expect(Placement.objections(GraphSubmission(name: "empty"), []).isEmpty)
  }
}
