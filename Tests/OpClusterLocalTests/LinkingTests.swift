// What a program links that runs operations in its own process alone.

import FoundationEssentials
import RealCluster
import Testing

@Suite struct LinkingTests {
  /// Runs a program to its end; returns what it printed.
  private func output(of path: String, _ arguments: [String] = []) async throws -> String {
    let folder = "/tmp/ocl-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = try ChildProgram(
      "program", path, arguments,
      environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" },
      folder: folder)
    #expect(try await program.ended() == 0, "\(program.error)")
    return program.output
  }

  @Test("a program of local operations runs them, without libzmq and what comes with it")
  func local() async throws {
    let program = try Cluster.executable("LocalProgram")
    #expect(try await output(of: program) == "product: 42\nended: succeeded\n")
    let libraries = try await output(of: "/usr/bin/ldd", [program])
    #expect(libraries.contains("libc.so"), "\(libraries)")
    for library in ["zmq", "sodium"] {
      #expect(!libraries.contains("lib\(library)"), "\(libraries)")
    }
  }
}
