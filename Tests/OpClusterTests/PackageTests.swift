// `deploy/package` with stand-ins for the programs: what it packs, what it refuses to pack, and
// that what comes out of it installs itself.

import FoundationEssentials
import Glibc
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized) struct PackageTests {
  private static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast(3).joined(separator: "/")
  private static let programs = ["opcoord", "oprelay", "opworker", "opbatch", "opweb"]

  private static func run(
    _ program: String, _ arguments: [String], in folder: String
  ) async throws -> (status: Int32, output: String, error: String) {
    let child = try ChildProgram(
      "run-\(UInt32.random(in: 0 ... .max))", program, arguments,
      environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(folder)"], folder: folder,
      input: "/dev/null")
    return (try await child.ended(), child.output, child.error)
  }

  /// A folder in which `bin` has the program under the three names.
  private static func withFolder(
    of program: String, _ body: (String) async throws -> Void
  ) async throws {
    let folder = "/tmp/ocp-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try #require(unsafe mkdir(folder, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: "\(folder)/bin", withIntermediateDirectories: false)
    for name in programs {
      try await makeExecutable("\(folder)/bin/\(name)", from: program)
    }
    try await body(folder)
  }

  private static func package(
    in folder: String
  ) async throws -> (status: Int32, output: String, error: String) {
    try await run(
      "\(root)/deploy/package", ["--bin", "\(folder)/bin", "--output", "\(folder)/out"],
      in: folder)
  }

  /// `/usr/bin/true` needs the C library alone, as the programs should.
  @Test func itInstallsWhatTheSourcesInstall() async throws {
    try await Self.withFolder(of: "/usr/bin/true") { folder in
      let made = try await Self.package(in: folder)
      #expect(made.status == 0, "\(made.error)")
      let machine = try await Self.run("/usr/bin/uname", ["-m"], in: folder).output.dropLast()
      let name = "opcluster-\(Build.version)-\(machine)"
      let told = try await Self.run("\(Self.root)/deploy/package", ["--name"], in: folder).output
      #expect(told == name + "\n")
      let sum = try await Self.run(
        "/bin/sh", ["-c", "cd \(folder)/out && sha256sum --check \(name).tar.gz.sha256"], in: folder
      )
      #expect(sum.status == 0, "\(sum.error)")

      let source = try await Self.run(
        "\(Self.root)/deploy/install", ["--bin", "\(folder)/bin", "--destdir", "\(folder)/one"],
        in: folder)
      #expect(source.status == 0, "\(source.error)")
      let packaged = try await Self.run(
        "\(Self.root)/deploy/install",
        ["--package", "\(folder)/out/\(name).tar.gz", "--destdir", "\(folder)/two"], in: folder)
      #expect(packaged.status == 0, "\(packaged.error)")
      #expect(packaged.output == source.output)
      let unpacked = try await Self.run(
        "/bin/sh",
        [
          "-c",
          "cd \(folder) && tar -xzf out/\(name).tar.gz && DESTDIR=\(folder)/three \(name)/install",
        ], in: folder
      )
      #expect(unpacked.status == 0, "\(unpacked.error)")
      #expect(unpacked.output == source.output)
      for other in ["two", "three"] {
        let compared = try await Self.run(
          "/usr/bin/diff", ["-r", "\(folder)/one", "\(folder)/\(other)"], in: folder)
        #expect(compared.status == 0, "\(compared.output)")
      }
      #expect(text(of: "\(folder)/\(name)/README.md").contains("bin/opbatch demo"))
    }
  }

  /// What a fresh system does not have is found when packing, not by whoever unpacks.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash")))
  func aSharedLibraryIsRefused() async throws {
    try await Self.withFolder(of: "/bin/bash") { folder in
      let refused = try await Self.package(in: folder)
      #expect(refused.status == 65, "\(refused.output)")
      #expect(refused.error.contains("what a fresh system does not have: libtinfo.so"))
      #expect(refused.error.contains("hint: "))
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/out/"))
    }
  }

  /// A program that asks for a function of a C library later than that of Ubuntu 22.04.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/cc")))
  func aNewerCLibraryIsRefused() async throws {
    try await Self.withFolder(of: "/usr/bin/true") { folder in
      let compiled = try await Self.run(
        "/bin/sh",
        [
          "-c",
          """
          cd \(folder)
          echo '#include <stdlib.h>\nint main(void) { return arc4random() == 0; }' > newer.c
          cc newer.c -o bin/opworker
          """,
        ], in: folder)
      #expect(compiled.status == 0, "\(compiled.error)")
      let refused = try await Self.package(in: folder)
      #expect(refused.status == 65, "\(refused.output)")
      #expect(refused.error.contains("opworker needs GLIBC_2.36"), "\(refused.error)")
      #expect(refused.error.contains("arc4random"), "\(refused.error)")
    }
  }

  /// What people paste from the pages unpacks what `deploy/package` makes.
  @Test(arguments: ["README.md", "Sources/OpCluster/OpCluster.docc/Operating.md"])
  func thePagesNameThisVersion(page: String) {
    let words = text(of: "\(Self.root)/\(page)").split { " /\n".contains($0) }
      .filter { $0.hasPrefix("opcluster-") && $0.contains("x86_64") }
    #expect(words.count >= 3)
    for word in words { #expect(word.hasPrefix("opcluster-\(Build.version)-x86_64"), "\(page)") }
  }

  @Test func nonsenseIsRefused() async throws {
    try await Self.withFolder(of: "/usr/bin/true") { folder in
      for arguments in [["--what"], ["--output"], ["--bin", "\(folder)/none"]] {
        let refused = try await Self.run("\(Self.root)/deploy/package", arguments, in: folder)
        #expect(refused.status == 64, "\(arguments)")
        #expect(refused.error.contains("hint: "), "\(refused.error)")
      }
      try RealCluster.write("no archive", to: "\(folder)/none.tar.gz")
      let refused = try await Self.run(
        "\(Self.root)/deploy/install",
        ["--package", "\(folder)/none.tar.gz", "--destdir", "\(folder)/root"], in: folder)
      #expect(refused.status == 64)
      #expect(refused.error.contains("is no package of OpCluster"), "\(refused.error)")
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/root"))
    }
  }
}
