// A coordinator over TCP with keys, and the programs of several people on one machine, each with a
// home folder of its own.

import FoundationEssentials
import Glibc
import RealCluster

/// A coordinator of one home folder, and programs of others.
final class KeySite {
  let folder: String
  private var programs: [ChildProgram] = []
  private(set) var clients = ""
  private(set) var workers = ""

  init() async throws {
    folder = "/tmp/okt-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let coordinator = try start(
      "opcoord", home: "main",
      ["serve", "--allow-root", "--client", "tcp://127.0.0.1:*", "--worker", "tcp://127.0.0.1:*"])
    let line = try await eventually("opcoord is ready", details: { coordinator.error }) {
      coordinator.output.split(separator: "\n").first.map(String.init)
    }
    for word in line.split(separator: " ") {
      if word.hasPrefix("clients=") { clients = String(word.dropFirst(8)) }
      if word.hasPrefix("workers=") { workers = String(word.dropFirst(8)) }
    }
  }

  func end() async {
    for program in programs { program.signal(SIGKILL) }
    for program in programs { _ = try? await program.ended() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Everything that a program keeps by itself is in its own home.
  func start(
    _ name: String, home: String, _ arguments: [String], variables: [String] = []
  ) throws -> ChildProgram {
    let path = "\(folder)/\(home)"
    if !FileManager.default.fileExists(atPath: path) {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    let program = try ChildProgram(
      "\(name)-\(programs.count)", Cluster.executable(name), arguments,
      environment: [
        "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(path)", "XDG_RUNTIME_DIR=\(path)",
        "USER=\(home)",
      ] + variables, folder: folder, input: name == "opbatch" ? "/dev/null" : nil)
    programs.append(program)
    return program
  }

  func run(
    _ name: String, home: String, _ arguments: [String], variables: [String] = []
  ) async throws -> (status: Int32, output: String, error: String, time: Duration) {
    let start = ContinuousClock.now
    let program = try self.start(name, home: home, arguments, variables: variables)
    let status = try await program.ended()
    return (status, program.output, program.error, ContinuousClock.now - start)
  }

  /// `opbatch` against this coordinator.
  func opbatch(
    _ home: String, _ arguments: String...
  ) async throws -> (status: Int32, output: String, error: String, time: Duration) {
    try await run(
      "opbatch", home: home, arguments, variables: ["OPBATCH_COORDINATOR=\(clients)"])
  }

  func opcoord(_ arguments: String...) async throws -> (status: Int32, output: String) {
    let program = try start("opcoord", home: "main", arguments)
    let status = try await program.ended()
    return (status, program.output.split(separator: "\n").last.map(String.init) ?? "")
  }

  func keys(of home: String) -> String { "\(folder)/\(home)/.config/opcluster/keys" }

  /// Ends whatever runs there, however the body ends.
  static func with(_ body: (KeySite) async throws -> Void) async throws {
    let site = try await KeySite()
    do {
      try await body(site)
    } catch {
      await site.end()
      throw error
    }
    await site.end()
  }
}
