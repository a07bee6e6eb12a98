// `deploy/install` and `deploy/package` into a folder of the test, with stand-ins for the programs,
// and what systemd says about the units that come out of it (G40).

import Citations
import FoundationEssentials
import Glibc
import RealCluster
import Testing

@Suite(.serialized) struct InstallTests {
  private static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast(3).joined(separator: "/")

  private static let programs = ["opcoord", "oprelay", "opworker", "opbatch", "opweb"]

  /// The pages of the manual, by their names as files.
  private static func pages() throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: "\(root)/Sources/OpCluster/OpCluster.docc"
    ).filter { $0.hasSuffix(".md") }
  }

  private static func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = "/tmp/oci-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try #require(unsafe mkdir(folder, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: "\(folder)/bin", withIntermediateDirectories: false)
    for program in programs {
      let text = "\(folder)/\(program).text"
      try RealCluster.write("#!/bin/sh\necho \(program) \"$@\"\n", to: text)
      try await makeExecutable("\(folder)/bin/\(program)", from: text)
    }
    try await body(folder)
  }

  private static func run(
    _ program: String, _ arguments: [String], in folder: String
  ) async throws -> (status: Int32, output: String, error: String) {
    let child = try ChildProgram(
      "run-\(UInt32.random(in: 0 ... .max))", program, arguments,
      environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(folder)"], folder: folder,
      input: "/dev/null")
    return (try await child.ended(), child.output, child.error)
  }

  private static func install(
    _ arguments: [String], in folder: String
  ) async throws -> (status: Int32, output: String, error: String) {
    try await run(
      "\(root)/deploy/install",
      ["--destdir", "\(folder)/root", "--bin", "\(folder)/bin"] + arguments,
      in: folder)
  }

  @Test func everythingIsInItsPlace() async throws {
    try await Self.withFolder { folder in
      let dry = try await Self.install(["--dry-run"], in: folder)
      #expect(dry.status == 0, "\(dry.error)")
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/root"))
      let done = try await Self.install([], in: folder)
      #expect(done.status == 0, "\(done.error)")
      // A dry run names exactly the files that are then made.
      #expect(done.output == dry.output)
      let paths = done.output.split(separator: "\n").map(String.init)
      #expect(try paths.count == 17 + Self.pages().count)
      for path in paths {
        #expect(FileManager.default.fileExists(atPath: "\(folder)/root\(path)"), "\(path)")
        let content = text(of: "\(folder)/root\(path)")
        #expect(!content.contains("@PREFIX@") && !content.contains("@SYSCONFDIR@"), "\(path)")
      }
      let unit = text(of: "\(folder)/root/usr/local/lib/systemd/system/opcoord.service")
      #expect(unit.contains("ExecStart=/usr/local/bin/opcoord serve\n"))
      #expect(unit.contains("EnvironmentFile=-/etc/opcluster/opcoord.env\n"))
      // Behind the refusals: libzmq aborts without it.
      let filter = unit.split(separator: "\n").filter { $0.hasPrefix("SystemCallFilter=") }
      #expect(filter.last == "SystemCallFilter=sched_setscheduler")
    }
  }

  /// Every page, and links between them that lead to the files beside.
  @Test func theManualIsWhole() async throws {
    try await Self.withFolder { folder in
      #expect(try await Self.install([], in: folder).status == 0)
      let pages = try Self.pages()
      #expect(pages.contains("Operating.md") && pages.contains("Manifest.md"))
      var links = 0
      for page in pages {
        let content = text(of: "\(folder)/root/usr/local/share/doc/opcluster/\(page)")
        #expect(content.split(separator: "\n").count > 10, "\(page)")
        #expect(!content.contains("<doc:"), "\(page)")
        for part in content.split(separator: "](").dropFirst() {
          let target = part.prefix { $0 != ")" }
          guard target.hasSuffix(".md"), !target.contains("/") else { continue }
          #expect(pages.contains(String(target)), "\(page): \(target)")
          links += 1
        }
      }
      #expect(links > 20)
    }
  }

  /// Settings belong to the administrator; a second installation replaces everything else.
  @Test func settingsAreKept() async throws {
    try await Self.withFolder { folder in
      let places = ["--prefix", "/opt/op-1", "--sysconfdir", "/opt/op-1/etc"]
      #expect(try await Self.install(places, in: folder).status == 0)
      let settings = "\(folder)/root/opt/op-1/etc/opcluster/opworker.env"
      try RealCluster.write("OPWORKER_CPUS=3\n", to: settings)
      let program = "\(folder)/root/opt/op-1/bin/opcoord"
      try RealCluster.write("old", to: program)
      let again = try await Self.install(places, in: folder)
      #expect(again.status == 0)
      #expect(again.output.contains("opworker.env (kept)"))
      #expect(text(of: settings) == "OPWORKER_CPUS=3\n")
      #expect(text(of: program).contains("echo opcoord"))
      let unit = text(of: "\(folder)/root/opt/op-1/etc/systemd/system/opworker.service")
      #expect(unit.contains("ExecStart=/opt/op-1/bin/opworker serve\n"))
    }
  }

  @Test func nonsenseIsRefused() async throws {
    try await Self.withFolder { folder in
      for arguments in [
        ["--prefix", "usr"], ["--prefix", "/a b"], ["--what"], ["--bin"],
        ["--package", "\(folder)/none.tar.gz"],
      ] {
        let refused = try await Self.install(arguments, in: folder)
        #expect(refused.status == 64, "\(arguments)")
        #expect(refused.error.contains("hint: "), "\(refused.error)")
      }
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/root"))
    }
  }

  private static let analyze = "/usr/bin/systemd-analyze"

  /// 3.0 for the coordinator; the worker's is what running others' commands leaves.
  @Test(
    .checks("G40"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: analyze)),
    arguments: [("opcoord", "20"), ("oprelay", "20"), ("opworker", "25"), ("opweb", "20")])
  func unitsAreHardened(unit: String, threshold: String) async throws {
    try await Self.withFolder { folder in
      #expect(try await Self.install([], in: folder).status == 0)
      let path = "\(folder)/root/usr/local/lib/systemd/system/\(unit).service"
      let judged = try await Self.run(
        Self.analyze, ["security", "--offline=yes", "--threshold=\(threshold)", path], in: folder)
      #expect(judged.status == 0, "\(judged.output.suffix(3_000)) \(judged.error)")
      #expect(judged.output.contains("Overall exposure level"))
      // Every line means something to systemd.
      let verified = try await Self.run(Self.analyze, ["verify", path], in: folder)
      let complaints = verified.error.split(separator: "\n").filter {
        !$0.contains("is not executable") && !$0.contains("Failed to open /dev/kmsg")
      }
      #expect(complaints.isEmpty, "\(complaints)")
    }
  }
}
