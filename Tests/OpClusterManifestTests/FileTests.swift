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

  /// Which files a value has is known when it is there; those of a command are declared.
  @Test func callsReadAndLeaveFiles() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        make: {run: x, outputs: {files: {f: f}}}
        read: {call: {type: t}, needs: {make: {files: [f]}}, inputs: {raw: raw.csv}}
        show: {run: y, needs: {read: {files: [any.0]}}}
      """)
    #expect(compiled.errors == [])
    let read = try compiled.template("read")
    #expect(
      read.inputFiles.contains(
        .init(operation: "make", file: "f", folder: "make", isByIndex: false)))
    #expect(read.wantsInputs && read.contentNeeds.values)
    #expect(compiled.result.ownFiles.map(\.operation) == ["read"])
    #expect(try compiled.template("show").inputFiles.map(\.file) == ["any.0"])
    let undeclared = compile(
      """
      version: 1
      operations:
        make: {run: x, outputs: {files: {f: f}}}
        read: {call: {type: t}, needs: {make: {files: [g]}}}
      """)
    #expect(undeclared.errors == ["'make' has no output file 'g'"])
  }

  /// A function of Python is a call: it declares no files, and may leave any.
  @Test func functionsReadAndLeaveFiles() throws {
    let compiled = compile(
      """
      version: 1
      files: [all.txt]
      operations:
        make: {run: x, outputs: {files: {f: f}}}
        read: {python: {function: "m:f"}, needs: {make: {files: [f]}}}
        own: {python: {function: "m:f"}, inputs: {a: b}}
        take: {run: x, needs: {own: {files: [left]}}}
      """)
    #expect(compiled.errors == [])
    let read = try compiled.template("read")
    #expect(
      read.inputFiles == [.init(operation: "make", file: "f", folder: "make", isByIndex: false)])
    #expect(read.wantsInputs)
    #expect(try compiled.template("take").inputFiles.map(\.file) == ["left"])
    // What all commands read is none of theirs.
    #expect(
      compiled.result.ownFiles.map { $0.lists[0].map(\.path) } == [
        ["all.txt"], ["b"], ["all.txt"],
      ])
  }

  /// Files of the whole graph are for commands: a type does not expect them.
  @Test func callsDoNotReadWhatAllRead() {
    let compiled = compile(
      """
      version: 1
      files: [all.txt]
      operations:
        call: {call: {type: t}, inputs: {raw: raw.csv}}
        run: {run: x}
      """)
    #expect(compiled.errors == [])
    #expect(compiled.result.ownFiles.map { $0.lists[0].map(\.path) } == [["raw.csv"], ["all.txt"]])
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
        == ["'files' of outputs has more than \(most) names"])
  }

  // MARK: - Files of the submitter

  @Test func ownFilesOfElements() throws {
    let compiled = compile(
      """
      version: 1
      params: {base: {type: string, default: data}}
      files: [common.txt]
      operations:
        one: {run: x, inputs: {ref: ref.fa, all: "reads/*.fq"}}
        each:
          matrix: {sample: [a, b], lane: [1, 2]}
          run: x
          inputs:
            reads: "${{ params.base }}/${{ matrix.sample }}.${{ matrix.lane }}.${{ index }}.fq"
            ref: ref.fa
        joined: {barrier: true, needs: one}
      """)
    #expect(compiled.errors == [])
    let common = OwnFileWishes.Wish(path: "common.txt", in: "/base")
    let reference = OwnFileWishes.Wish(name: "ref", path: "ref.fa", in: "/base")
    #expect(compiled.result.ownFiles.map(\.operation) == ["one", "each"])
    #expect(
      compiled.result.ownFiles[0].lists == [
        [common, reference, OwnFileWishes.Wish(name: "all", path: "reads/*.fq", in: "/base")]
      ])
    let each = ["a.1.1", "a.2.2", "b.1.3", "b.2.4"].map { name in
      [
        common, OwnFileWishes.Wish(name: "reads", path: "data/\(name).fq", in: "/base"), reference,
      ]
    }
    #expect(compiled.result.ownFiles[1].lists == each)
    #expect(compiled.result.ownFiles[1].template == 1)
    // What its needs left is read only where it says so.
    #expect(try !compiled.template("each").wantsInputs)
    #expect(try compiled.command("one").workingDirectory == "")
  }

  @Test(arguments: [
    ("inputs: [a]", "'inputs' is a mapping of names to paths"),
    ("inputs: {../a: x}", "'../a' cannot name a file"),
    ("inputs: {a: ''}", "a file needs a path"),
    ("inputs: {a: '${{ needs.make.outputs.x }}'}", "the path of a file must be known when"),
    ("inputs: {a: [x]}", "the input 'a' must be a text"),
  ])
  func mistakesOfInputs(read: String, message: String) {
    let errors = compile(
      Self.manifest("outputs: [x]", "needs: make, \(read)")).errors
    #expect(errors.contains { $0.hasPrefix(message) }, "\(errors)")
  }

  @Test func onlyCommandsAndCallsReadOwnFiles() {
    let compiled = compile(
      """
      version: 1
      operations:
        join: {barrier: true, inputs: {a: b}}
        blocks: {blocks: [x], inputs: {a: b}}
        plain: {run: x}
      """)
    #expect(
      compiled.errors == [
        "'inputs' has no meaning for a barrier", "'inputs' has no meaning for blocks",
      ])
  }

  @Test func filesOfTheWholeGraphDoNotDiffer() {
    let compiled = compile(
      """
      version: 1
      files: ["${{ item }}.fq"]
      operations:
        read: {run: x, array: {items: [a]}}
      """)
    #expect(compiled.errors == ["the path of a file must be known when the graph is submitted"])
  }
}
