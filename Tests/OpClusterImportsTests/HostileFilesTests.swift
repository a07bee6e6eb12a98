// Files by chance: every reader ends with a graph or an error, and a graph is a valid manifest.
// Bounds: what stands beyond one is an error that names it.

import OpClusterModel
import Testing

@testable import OpClusterImports

/// The same numbers for the same seed.
private struct Chance {
  var state: UInt64
  mutating func below(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(max(bound, 1)))
  }
}

@Suite struct HostileFilesTests {
  private static let seeds: [ImportFormat: String] = [
    .dagman: """
    JOB A a.sub DIR d
    VARS A x="1" y="\\"2\\""
    SPLICE S in.dag DIR .
    SUBDAG EXTERNAL E in.dag
    FINAL F a.sub NOOP
    SCRIPT PRE A x.sh $JOB $RETRY
    PARENT A CHILD S E
    RETRY ALL_NODES 3 UNLESS-EXIT 2
    CATEGORY A c
    MAXJOBS c 4
    """,
    .ninja: """
    v = a b
    rule r
      command = c $in ${out} $v $$x
      rspfile = $out.rsp
      rspfile_content = $in_newline
    pool p
      depth = 3
    build a | b: r c | d || e |@ f
      pool = p
    build c d e f: phony
    default a
    """,
    .hyperQueue: """
    name = "x"
    [[task]]
    id = 1
    command = ["a", 'b', \"\"\"c\"\"\"]
    env = { A = "1", "B" = "\\u00e9" }
    [[task.request]]
    resources = { cpus = 1.5 }
    [[task]]
    deps = [1]
    command = ["x"]
    """,
    .makeflow: """
    A = "x y"
    export A
    .MAKEFLOW CORES 2
    b: a.sub
    @B=$(A)
    \tLOCAL echo $A '${B}' \\$C > b
    c: b
    \tcat b > c
    """,
  ]
  private static let further = [
    "a.sub": "executable = /bin/$(x)\narguments = \"a 'b' $(Process)\"\nqueue 2\n",
    "in.dag": "JOB X a.sub\nJOB Y a.sub\nPARENT X CHILD Y\n",
    "d/a.sub": "executable = x\nqueue i in (a b)\n",
  ]
  private static let pieces = [
    "$", "$(", "${", "\"", "'", "\\", "\n", "\r\n", " ", "\t", ":", "|", "=", "[", "]]", "{", "}",
    "(", "#", "99999999999999999999", "-1", "é", "\u{301}", "\u{0}", "${{ item }}", "$$(", ",",
    "queue 4294967296 x in (", "PARENT A CHILD A", "include main", "SPLICE Z main",
  ]

  @Test(arguments: ImportFormat.allCases) func mutatedFiles(format: ImportFormat) {
    let seed = Array((Self.seeds[format] ?? "").utf8)
    var chance = Chance(state: 7)
    var graphs = 0
    for _ in 0..<1_500 {
      var bytes = seed
      for _ in 0...chance.below(4) {
        let at = chance.below(bytes.count + 1)
        switch chance.below(4) {
        case 0: bytes.insert(contentsOf: Self.pieces[chance.below(Self.pieces.count)].utf8, at: at)
        case 1: bytes.removeSubrange(at..<min(bytes.count, at + chance.below(9)))
        case 2:
          let from = chance.below(bytes.count)
          bytes.insert(contentsOf: bytes[from..<min(bytes.count, from + chance.below(40))], at: at)
        default: if at < bytes.count { bytes[at] = UInt8(chance.below(256)) }
        }
      }
      graphs += check(bytes, format)
    }
    #expect(graphs > 20)
  }

  @Test(arguments: ImportFormat.allCases) func randomBytes(format: ImportFormat) {
    var chance = Chance(state: 11)
    for _ in 0..<500 {
      let isText = chance.below(2) == 0
      let bytes = (0..<chance.below(300)).map { _ in
        isText ? UInt8(0x20 + chance.below(0x5F)) : UInt8(chance.below(256))
      }
      _ = check(bytes, format)
    }
  }

  /// Returns 1 for a graph.
  private func check(_ bytes: [UInt8], _ format: ImportFormat) -> Int {
    let table = Self.further
    let files = SourceFiles(
      contents: { path, _ in
        if path == "/w/main" { return .success(bytes) }
        guard let text = table[String(path.dropFirst(3))] else { return .failure(.absent) }
        return .success(Array(text.utf8))
      }, age: { path in table[String(path.dropFirst(3))] == nil ? nil : 1 })
    let result =
      switch format {
      case .dagman: DagmanImport(folder: "/w").read("main", files)
      case .ninja: NinjaImport(folder: "/w").read("main", files)
      case .hyperQueue: HyperQueueImport(folder: "/w").read("main", files)
      case .makeflow: MakeflowImport(folder: "/w").read("main", files)
      }
    guard let graph = result.graph else {
      #expect(result.remarks.contains { $0.weight == .error })
      return 0
    }
    let problems = problems(of: graph)
    // Not a text that YAML or the manifest's grammar does not take; bounds are its own matter.
    #expect(problems.isEmpty, "\(problems.prefix(2)) of \(String(decoding: bytes, as: UTF8.self))")
    return 1
  }

  @Test func boundsAreErrors() {
    let tooLong = String(repeating: "x", count: Limits.importTextBytes + 1)
    let ninja = ImportFormat.ninja.read("v = \(tooLong)\nrule r\n  command = $v\nbuild a: r\n")
    #expect(ninja.said.contains { $0.contains("longer than") })
    var macros = "a0 = xxxxxxxxxx\n"
    for at in 1...12 {
      macros += "a\(at) = " + String(repeating: "$(a\(at - 1))", count: 10) + "\n"
    }
    let dag = ImportFormat.dagman.read(
      "JOB A b.sub\n", ["b.sub": macros + "executable = $(a12)\nqueue\n"])
    #expect(dag.said.contains { $0.contains("longer than") })
    let many = ImportFormat.dagman.read(
      "JOB A b.sub\n", ["b.sub": "executable = /x\nqueue \(Limits.operationsPerGraph + 1)\n"])
    #expect(many.graph == nil)
  }

  @Test func bytesFilesAndRemarksAreBounded() {
    let session = ImportSession(
      SourceFiles(
        contents: { _, limit in
          limit < 0 ? .failure(.unreadable("too large")) : .success([0x61])
        }, age: { _ in nil }))
    let place = SourcePlace("f", 1)
    #expect(throws: ImportStop.self) {
      for _ in 0...Limits.importFiles { _ = try session.lines(of: "x", for: place) }
    }
    #expect(throws: ImportStop.self) {
      try session.spend(operations: Limits.importOperations, place)
      try session.spend(operations: 1, place)
    }
    #expect(throws: ImportStop.self) {
      try session.spend(edges: .max, place)
    }
    #expect(throws: ImportStop.self) {
      for _ in 0...(Limits.importBytes / Limits.importTextBytes) {
        try session.spend(text: Limits.importTextBytes, place)
      }
    }
    #expect(Limits.importEdges < .max)
    let noisy = ImportFormat.dagman.read(
      "JOB A a.sub\n" + String(repeating: "DOT x\n", count: Limits.importRemarks + 5),
      ["a.sub": "executable = /x\nqueue\n"])
    #expect(noisy.remarks.count == Limits.importRemarks && noisy.furtherRemarks == 5)
  }
}
