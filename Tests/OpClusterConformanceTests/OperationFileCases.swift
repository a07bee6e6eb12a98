// Files as outputs of registered operations: in one process, and between workers with folders of
// their own.

import Citations
import ConformanceOperations
import FoundationEssentials
import OpCluster
import OpClusterModel
import Testing

extension Conformance {
  @Suite struct OperationFiles {
    /// Files of several megabytes arrive at dependents, at a command, and at whoever submitted.
    @Test("files as parts of a value", .checks("S137", "S140"), arguments: Setting.everywhere)
    func shared(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        try await arrive(
          stage, ClusterOperation(LeaveFiles(lines: 200_000), name: "leave"),
          (0..<3).map { ClusterOperation(JoinFiles(), name: "join\($0)") })
      }
    }

    /// The same between processes of their own.
    @Test("files as parts of a value, apart", .checks("S137", "S140"), arguments: [Setting.cluster])
    func apart(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        try await arrive(
          stage, ClusterOperation(LeaveFilesApart(lines: 100_000), name: "leave"),
          [ClusterOperation(JoinFilesApart(), name: "apart"),
            ClusterOperation(JoinFiles(), name: "shared")])
      }
    }

    private func arrive(
      _ stage: Stage, _ leave: ClusterOperation, _ joins: [ClusterOperation]
    ) async throws {
      for join in joins { try join.addDependency(leave, when: .succeeded) }
      let command = ClusterOperation(
        ClusterCommand(shell: "echo \"lines=${{ needs.leave.outputs.lines }}\" > \"$OP_OUTPUT\""),
        name: "command")
      try command.addDependency(leave, when: .succeeded)
      try await stage.queue.addOperations([leave] + joins + [command])
      for operation in joins + [command] { try await stage.ended(operation) }
      let left = try await leave.output(as: TwoFiles.self)
      let text = Data(LeaveFiles.text(0..<left.lines).utf8)
      #expect(try left.text.data() == text)
      #expect(try Data(contentsOf: URL(filePath: left.text.path)) == text)
      #expect(try left.parts.map { try $0.data() }.reduce(Data(), +) == text)
      for join in joins {
        let joined = try await join.output(as: OperationFile.self)
        #expect(try joined.data() == text)
      }
    }

    @Test("a file that is not there", .checks("S140"), arguments: Setting.everywhere)
    func missing(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let leave = ClusterOperation(LeaveNoFile(), name: "leave")
        try await stage.queue.addOperation(leave)
        try await leave.waitUntilFinished()
        guard case .failed(let failure) = try await leave.result() else {
          Issue.record("it did not fail")
          return
        }
        #expect(failure.cause == .badOutput)
        #expect(failure.message.contains("the file '1' was not kept: there is no file"))
      }
    }

    /// Whoever holds a file where no operation leaves it is told what to do.
    @Test("a file in an argument", .checks("S129"))
    func argument() async throws {
      struct Reads: RegisteredOperation {
        static let typeName = "test.reads"
        var file: OperationFile
        func main(_ context: OperationContext) async throws -> Int { 0 }
      }
      #expect {
        _ = try OperationArgument.encode(Reads(file: OperationFile(path: "/etc/hostname")))
      } throws: { error in
        "\(error)".contains("let an operation leave it")
      }
    }
  }
}
