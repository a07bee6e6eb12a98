// Files between workers that share no folder: a real coordinator, real workers with stores of their
// own, real commands.

import Citations
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterWire
import Testing

@Suite(.serialized) struct FileTests {
  /// A command at a worker.
  private static func command(
    _ name: String, _ script: String, at worker: Int, of cluster: String, count: UInt32? = nil,
    leaves: [(String, String)] = [], reads: [InputFile] = []
  ) -> OperationTemplate {
    var command = CommandSpecification(
      form: .shell(interpreter: [], text: CommandText(script)))
    command.outputFiles = leaves.map { .init(name: $0, path: CommandText($1)) }
    var template = OperationTemplate(name: name, count: count ?? 1, work: .command)
    template.isArray = count != nil
    template.payload = Wire.encode(command: command)
    template.requirements = [LabelRequirement(key: "worker", values: ["w\(worker)-\(cluster)"])]
    template.inputFiles = reads
    template.wantsInputs = !reads.isEmpty
    return template
  }

  private static func graph(
    _ templates: [OperationTemplate], _ policy: EdgePolicy = .succeeded,
    match: GroupEdge.Match = .all
  ) -> GraphSubmission {
    var graph = GraphSubmission(name: "files")
    graph.templates = templates
    graph.groupEdges = (1..<templates.count).map {
      GroupEdge(from: UInt32($0 - 1), to: UInt32($0), policy: policy, match: match)
    }
    return graph
  }

  private static func file(
    _ operation: String, _ file: String, isByIndex: Bool = false
  ) -> InputFile {
    InputFile(operation: operation, file: file, folder: operation, isByIndex: isByIndex)
  }

  private static func expectSuccess(_ rows: [OperationRow]) {
    for row in rows where row.outcome != .succeeded {
      Issue.record("\(row.name): \(row.result.map { "\($0.cause) \($0.diagnostic)" } ?? "")")
    }
  }

  @Test("A file, a folder and a pattern are where their readers look for them", .checks("S137"))
  func kinds() async throws {
    try await InProcessCluster.with(workers: 2) { link, name in
      let make = Self.command(
        "make",
        """
        printf one > one.txt
        mkdir -p tree/inner out empty
        printf a > tree/a; printf b > tree/inner/b; ln -s ../a tree/inner/link; : > tree/nothing
        printf '1' > out/1.bam; printf '22' > out/2.bam; printf x > out/.3.bam; printf y > out/y
        printf '#!/bin/sh\\necho ran\\n' > tool; chmod +x tool
        head -c 3000000 /dev/urandom > large; sha256sum < large > large.sum
        """, at: 1, of: name,
        leaves: [
          ("one", "one.txt"), ("tree", "tree"), ("bam", "out/*.bam"), ("tool", "./tool"),
          ("large", "large"), ("sum", "large.sum"), ("unread", "one.txt"),
        ])
      let read = Self.command(
        "read",
        """
        cd "$OP_INPUTS/make"
        test "$(cat one)" = one
        test "$(cat tree/a)" = a; test "$(cat tree/inner/b)" = b; test "$(cat tree/inner/link)" = a
        test ! -s tree/nothing; test -f tree/nothing
        test "$(ls -A bam)" = "1.bam
        2.bam"
        test "$(cat bam/2.bam)" = 22
        test "$(tool/../tool 2>/dev/null || ./tool)" = ran
        test "$(sha256sum < large)" = "$(cat sum)"
        test ! -e unread
        test "$(stat -c %a one)" = 444
        """, at: 2, of: name,
        reads: ["one", "tree", "bam", "tool", "large", "sum"].map { Self.file("make", $0) })
      let rows = try await link.ended(Self.graph([make, read]))
      Self.expectSuccess(rows)
      let output = try #require(rows.first?.result?.output)
      let files = try Wire.decodeOutput(output).files
      #expect(
        files.map { "\($0.name) \($0.path)" } == [
          "one ", "tree a", "tree inner/b", "tree inner/link", "tree nothing", "bam 1.bam",
          "bam 2.bam", "tool ", "large ", "sum ", "unread ",
        ])
      #expect(files.filter(\.isExecutable).map(\.name) == ["tool"])
      // Whoever submitted gets them as well.
      let folder = try TemporaryTestFolder()
      let large = try #require(files.first { $0.name == "large" })
      try await link.write(large.content, to: "\(folder.path)/large")
      let size = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/large")[.size]
      #expect(size as? Int ?? (size as? UInt64).map(Int.init) == 3_000_000)
      await #expect(throws: ClientError.self) {
        try await link.write(large.content, to: "\(folder.path)/large")
      }
      let holders = try await link.holders(of: [large.content.digest])
      #expect(Set(holders[large.content.digest] ?? []) == ["w1-\(name)", "w2-\(name)"])
    }
  }

  @Test("Each element of an array has a folder; of the same index there is one")
  func arrays() async throws {
    try await InProcessCluster.with(workers: 2) { link, name in
      let make = Self.command(
        "make", "echo $OP_INDEX > n", at: 1, of: name, count: 3, leaves: [("n", "n")])
      let all = Self.command(
        "all", "test \"$(cat $OP_INPUTS/make/*/n | tr '\\n' ' ')\" = '1 2 3 '", at: 2, of: name,
        reads: [Self.file("make", "n", isByIndex: true)])
      Self.expectSuccess(try await link.ended(Self.graph([make, all])))
      let each = Self.command(
        "each", "test $(cat $OP_INPUTS/make/n) = $OP_INDEX", at: 2, of: name, count: 3,
        reads: [Self.file("make", "n")])
      Self.expectSuccess(try await link.ended(Self.graph([make, each], match: .sameIndex)))
    }
  }

  @Test("What was promised and is not there fails its operation, with its name",
    arguments: [
      ("true", "gone", "gone"), ("true", "*.bam", "*.bam"), ("mkfifo f", "f", "neither"),
      ("mkdir d", "d", "d"), ("mkdir d; ln -s .. d/up", "d", "neither"),
      ("ln -s nowhere l", "l", "l"),
      ("mkdir d; for i in $(seq 1001); do : > d/$i; done", "d", "\(Limits.contentsPerOutput)"),
    ])
  func missing(script: String, path: String, word: String) async throws {
    try await InProcessCluster.with(workers: 1) { link, name in
      let make = Self.command("make", script, at: 1, of: name, leaves: [("f", path)])
      let row = try #require(try await link.ended(Self.graph([make])).first)
      #expect(row.outcome == .failed)
      #expect(row.result?.cause == .badOutput)
      #expect(row.result?.exitStatus == 0)
      #expect(row.result?.diagnostic.contains(word) == true, "\(row.result?.diagnostic ?? "")")
    }
  }

  @Test("Of a dependency that failed there are no files")
  func failedDependencies() async throws {
    try await InProcessCluster.with(workers: 2) { link, name in
      let make = Self.command(
        "make", "echo x > f; exit 1", at: 1, of: name, leaves: [("f", "f")])
      let read = Self.command(
        "read", "test ! -e $OP_INPUTS/make; test -d $OP_INPUTS", at: 2, of: name,
        reads: [Self.file("make", "f")])
      let rows = try await link.ended(Self.graph([make, read], .finished))
      #expect(rows.map(\.outcome) == [.failed, .succeeded])
    }
  }

  @Test("Values of OP_OUTPUT and files stand side by side")
  func valuesToo() async throws {
    try await InProcessCluster.with(workers: 1) { link, name in
      let make = Self.command(
        "make", "echo k=v >> $OP_OUTPUT; echo x > f", at: 1, of: name, leaves: [("f", "f")])
      let row = try #require(try await link.ended(Self.graph([make])).first)
      let output = try Wire.decodeOutput(try #require(row.result?.output))
      #expect(output.pairs == [.init(key: "k", value: "v")])
      #expect(output.files.map(\.name) == ["f"])
    }
  }
}

/// A folder that goes with the object.
private final class TemporaryTestFolder {
  let path: String

  init() throws {
    path = "/tmp/opcluster-files-test-\(UInt64.random(in: 0...UInt64.max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
