// A home and a runtime folder of their own, and the programs that look into them: for tests of what
// others put where our programs look for their own. For the task that makes it.

import FoundationEssentials
import Glibc

/// A home and a runtime folder for one test, and the programs that use them.
package final class Lodging {
  package let folder: String
  package var home: String { "\(folder)/home" }
  /// XDG_RUNTIME_DIR
  package var runtime: String { "\(folder)/run" }
  /// Where the programs look for the cluster of `up`.
  package var place: String { "\(runtime)/opcluster" }
  package var state: String { "\(home)/.local/state/opcluster" }
  private var programs: [ChildProgram] = []
  /// Those that nobody may end.
  package private(set) var bystanders: [ChildProgram] = []

  package init() throws {
    folder = "/tmp/off-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    for path in [folder, home, runtime] { try make(path) }
  }

  package func make(_ path: String, _ mode: UInt32 = 0o700) throws {
    guard unsafe mkdir(path, 0o700) == 0, unsafe chmod(path, mode) == 0 else {
      throw Trouble("cannot make \(path)")
    }
  }

  package func start(
    _ name: String, _ arguments: [String], through: [String] = [], input: String? = "/dev/null",
    variables: [String]? = nil
  ) throws -> ChildProgram {
    let words = through + [try Cluster.executable(name)] + arguments
    let program = try ChildProgram(
      "\(name)-\(programs.count)", words[0], Array(words.dropFirst()),
      environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"]
        + (variables ?? ["HOME=\(home)", "XDG_RUNTIME_DIR=\(runtime)"]),
      folder: folder, input: input)
    programs.append(program)
    return program
  }

  package func run(_ name: String, _ arguments: String...) async throws -> ChildProgram {
    let program = try start(name, arguments)
    try await program.ended()
    return program
  }

  /// A process of this user that is none of a cluster, and its line in a record of daemons.
  package func bystander(as name: String = "opcoord") throws -> (
    program: ChildProgram, line: String
  ) {
    let program = try ChildProgram(
      "bystander-\(programs.count)", "/bin/sleep", ["1000"], environment: [], folder: folder,
      input: "/dev/null")
    programs.append(program)
    bystanders.append(program)
    let bytes = FileManager.default.contents(atPath: "/proc/\(program.process)/stat") ?? Data()
    let text = String(decoding: bytes, as: UTF8.self)
    let fields = (text.split(separator: ")").last ?? "").split(separator: " ")
    guard fields.count > 19 else { throw Trouble("no start time in '\(text)'") }
    return (program, "\(name) \(program.process) \(fields[19])\n")
  }

  package func record(_ text: String) throws {
    let path = "\(place)/daemons"
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)),
      unsafe chmod(path, 0o600) == 0
    else { throw Trouble("cannot write \(path)") }
  }

  package func names(in path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  package func end() async {
    if FileManager.default.fileExists(atPath: "\(place)/daemons") {
      _ = try? await run("opbatch", "down")
    }
    for program in programs { program.signal(SIGKILL) }
    for program in programs { _ = try? await program.ended() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  package static func with(_ body: (Lodging) async throws -> Void) async throws {
    let lodging = try Lodging()
    do {
      try await body(lodging)
    } catch {
      await lodging.end()
      throw error
    }
    await lodging.end()
  }
}
