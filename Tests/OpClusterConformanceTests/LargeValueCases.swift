// Values of any size along dependencies, beyond the list: in one process, and between workers with
// folders of their own.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import Testing

extension Conformance {
  @Suite struct LargeValues {
    /// What fits no message arrives all the same, at dependents and at whoever submitted; its
    /// fields are texts for commands as ever.
    @Test(
      "a value of several megabytes", .checks("S136", "S137", "S140"),
      arguments: Setting.everywhere)
    func shared(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let leave = ClusterOperation(LeaveText(length: 5_000_000), name: "leave")
        let measures = (0..<6).map { ClusterOperation(MeasureText(), name: "measure\($0)") }
        for measure in measures { try measure.addDependency(leave, when: .succeeded) }
        try await stage.queue.addOperations([leave] + measures)
        for measure in measures { try await stage.ended(measure) }
        for measure in measures { #expect(try await measure.output(as: Int.self) == 5_000_000) }
        #expect(try await leave.output(of: LeaveText.self) == LongText(length: 5_000_000))
        #expect(try await leave.output(as: LongText.self).title == "long")
      }
    }

    /// The same between processes of their own: they leave and find files.
    @Test(
      "a value of several megabytes, apart", .checks("S137", "S140"), arguments: [Setting.cluster])
    func apart(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let leave = ClusterOperation(LeaveTextApart(length: 3_000_000), name: "leave")
        let apart = ClusterOperation(MeasureTextApart(), name: "apart")
        let shared = ClusterOperation(MeasureText(), name: "shared")
        for measure in [apart, shared] { try measure.addDependency(leave, when: .succeeded) }
        try await stage.queue.addOperations([leave, apart, shared])
        try await stage.ended(apart, shared)
        #expect(try await apart.output(as: Int.self) == 3_000_000)
        #expect(try await shared.output(as: Int.self) == 3_000_000)
        #expect(try await leave.output(as: LongText.self) == LongText(length: 3_000_000))
      }
    }

    /// A dependent that comes when the graph has ended reads it as long as somebody has it.
    @Test("a value of an ended graph", .checks("S27", "S140"), arguments: Setting.all)
    func ended(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let leave = ClusterOperation(LeaveText(length: 200_000), name: "leave")
        try await stage.queue.addOperation(leave)
        try await stage.ended(leave)
        let measure = ClusterOperation(MeasureText(), name: "measure")
        try measure.addDependency(leave, when: .succeeded)
        try await stage.queue.addOperation(measure)
        try await stage.ended(measure)
        #expect(try await measure.output(as: Int.self) == 200_000)
      }
    }
  }
}
