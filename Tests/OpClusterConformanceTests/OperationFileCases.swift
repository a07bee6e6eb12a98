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
      try await stage.queue.addOperations([leave] + joins)
      for operation in joins { try await stage.ended(operation) }
      let left = try await leave.output(as: TwoFiles.self)
      let text = Data(LeaveFiles.text(0..<left.lines).utf8)
      #expect(try await left.text.data() == text)
      #expect(try await Data(contentsOf: URL(filePath: left.text.path())) == text)
      var parts = Data()
      for part in left.parts { parts += try await part.data() }
      #expect(parts == text)
      for join in joins {
        let joined = try await join.output(as: OperationFile.self)
        #expect(try await joined.data() == text)
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

    /// A command reads a file of a value, an operation one of a command, and so does whoever
    /// submitted.
    @Test("files between commands and operations", .checks("S140"), arguments: Setting.everywhere)
    func mixed(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let leave = ClusterOperation(LeaveFiles(lines: 3), name: "leave")
        var command = ClusterCommand(
          shell: "mkdir d; cat \"$OP_INPUTS/leave/parts.1\" > d/one; printf two > d/two")
        command.outputFiles = ["folder": "d", "one": "d/one"]
        let copy = ClusterOperation(command, name: "copy")
        copy.settings.inputFiles = ["leave": ["parts.1"]]
        let append = ClusterOperation(
          AppendFiles(paths: ["copy/folder/two", "copy/one"]), name: "append")
        append.settings.inputFiles = ["copy": ["folder", "one"]]
        let nothing = ClusterOperation(AppendFiles(paths: ["copy/other"]), name: "nothing")
        nothing.settings.inputFiles = ["copy": ["one"]]
        try copy.addDependency(leave, when: .succeeded)
        for reader in [append, nothing] { try reader.addDependency(copy, when: .succeeded) }
        try await stage.queue.addOperations([leave, copy, append, nothing])
        for operation in [append, nothing] { try await stage.ended(operation) }
        let all = Data("twoline 1\nline 2\n".utf8)
        #expect(try await append.output(as: AppendedFiles.self).all.data() == all)
        #expect(try await copy.filePaths() == ["folder/one", "folder/two", "one"])
        #expect(try await copy.file("folder/two").data() == Data("two".utf8))
        #expect(try await leave.file("parts.0").data() == Data("line 0\n".utf8))
        await #expect {
          _ = try await copy.file("two")
        } throws: { "\($0)".contains("it left folder/one, folder/two, one") }
        guard case .failed(let failure) = try await nothing.result() else {
          Issue.record("it did not fail")
          return
        }
        #expect(failure.cause == .missingInput)
        #expect(failure.message == "there is no input file 'copy/other'; there are copy/one")
      }
    }

    /// Files are found by names: it must be clear whose they are, and be said where it is not.
    @Test("files of dependencies that are not clear", .checks("S140"))
    func names() async throws {
      try await onStage(.local) { stage in
        func said(_ files: [String: [String]]) async -> String {
          let leaves = (0..<2).map { _ in ClusterOperation(LeaveFiles(lines: 3), name: "leave") }
          let read = ClusterOperation(AppendFiles(paths: []), name: "read")
          read.settings.inputFiles = files
          do {
            for leave in leaves { try read.addDependency(leave) }
            try await stage.queue.addOperations(leaves + [read])
            return ""
          } catch {
            return "\(error)"
          }
        }
        #expect(await said(["leaf": ["text"]]).contains("none of its dependencies has this name"))
        #expect(await said(["leave": ["text"]]).contains("2 of its dependencies have this name"))
      }
    }

    /// Who depends on an operation of a graph that has ended knows its value, and not its name.
    @Test("files of an ended graph", .checks("S138"), arguments: Setting.all)
    func ended(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let leave = ClusterOperation(LeaveFiles(lines: 3), name: "leave")
        try await stage.queue.addOperation(leave)
        try await stage.ended(leave)
        let join = ClusterOperation(JoinFiles(), name: "join")
        let append = ClusterOperation(AppendFiles(paths: ["leave/text"]), name: "append")
        append.settings.inputFiles = ["leave": ["text"]]
        for reader in [join, append] { try reader.addDependency(leave, when: .succeeded) }
        try await stage.queue.addOperations([join, append])
        for reader in [join, append] { try await stage.ended(reader) }
        #expect(try await join.output(as: OperationFile.self).data().count == 21)
        guard case .failed(let failure) = try await append.result() else {
          Issue.record("it did not fail")
          return
        }
        #expect(failure.cause == .missingInput)
        #expect(failure.message.contains("the graph that it belongs to has ended"))
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
