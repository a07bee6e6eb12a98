// Files that operations hand on: what a manifest says of them, and what becomes of it.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite(.checks("S137")) struct FileTests {
  private static func manifest(_ make: String, _ read: String) -> String {
    """
    version: 1
    operations:
      make: {run: "x", \(make)}
      read: {run: "y", \(read)}
    """
  }

  @Test func namesAndPaths() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        make:
          array: {items: [p, q]}
          run: x
          outputs: {values: [size], files: {bam: "out/${{ item }}.bam", all: out}}
        one: {run: y, needs: {make: {files: [bam, all], match: same-index}}, array: {items: [a, b]}}
        many: {run: z, needs: [{op: make, files: [bam], when: finished}], workdir: /data}
        plain: {run: w, needs: make}
      """)
    let make = try compiled.command("make")
    #expect(make.outputs == ["size"])
    #expect(make.outputFiles.map(\.name) == ["bam", "all"])
    #expect(
      make.outputFiles[0].path.segments
        == [.literal("out/"), .value(.element(0), quoting: .none), .literal(".bam")])
    #expect(
      try compiled.template("one").inputFiles == [
        InputFile(operation: "make", file: "bam", folder: "make", isByIndex: false),
        InputFile(operation: "make", file: "all", folder: "make", isByIndex: false),
      ])
    #expect(
      try compiled.template("many").inputFiles
        == [InputFile(operation: "make", file: "bam", folder: "make", isByIndex: true)])
    // Who hands files on has a folder of its own, unless it says another.
    #expect(try ["make", "one", "many"].map { try compiled.command($0).workingDirectory }
      == ["", "", "/data"])
    #expect(try !compiled.command("plain").workingDirectory.isEmpty)
    #expect(try compiled.template("one").wantsInputs)
    // Declared values are sent along in any case.
    #expect(try compiled.template("plain").wantsInputs)
    #expect(try compiled.template("plain").inputFiles.isEmpty)
  }

  @Test func membersOfGroupsHaveTheirShortNames() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        g:
          group:
            operations:
              make: {run: x, outputs: {files: {f: f}}}
              read: {run: y, needs: {make: {files: [f]}}}
        after: {run: z, needs: {g.make: {files: [f]}}}
      """)
    #expect(try compiled.template("g.read").inputFiles.map(\.folder) == ["make"])
    #expect(try compiled.template("g.read").inputFiles.map(\.operation) == ["g.make"])
    #expect(try compiled.template("after").inputFiles.map(\.folder) == ["g.make"])
  }

  @Test(arguments: [
    ("outputs: {files: {f: x}}", "needs: {make: {files: [g]}}", "'make' has no output file 'g'"),
    ("outputs: [f]", "needs: {make: {files: [f]}}", "'make' has no output file 'f'"),
    ("outputs: {files: [f]}", "needs: make", "'files' of outputs is a mapping of names to paths"),
    ("outputs: {files: {../f: x}}", "needs: make", "'../f' cannot name a file"),
    ("outputs: {file: {f: x}}", "needs: make", "unknown key 'file' in 'outputs'"),
    ("outputs: {files: {f: [x]}}", "needs: make", "the file 'f' must be a text"),
  ])
  func mistakes(make: String, read: String, message: String) {
    #expect(compile(Self.manifest(make, read)).errors.contains { $0.hasPrefix(message) },
      "\(compile(Self.manifest(make, read)).errors)")
  }

  @Test func callsReadValues() {
    let compiled = compile(
      """
      version: 1
      operations:
        make: {run: x, outputs: {files: {f: f}}}
        read: {call: {type: t}, needs: {make: {files: [f]}}}
      """)
    #expect(compiled.errors == ["'files' of a need has no meaning for a call"])
  }

  @Test func theMostFiles() {
    let names = { (count: Int) in
      (0..<count).map { "f\($0): x" }.joined(separator: ", ")
    }
    let most = Limits.outputFilesPerOperation
    let fine = compile(Self.manifest("outputs: {files: {\(names(most))}}", "needs: make"))
    #expect(fine.errors == [])
    #expect(
      compile(Self.manifest("outputs: {files: {\(names(most + 1))}}", "needs: make")).errors
        == ["an operation has at most \(most) output files"])
  }
}
