// The short selection of the fault table as tests: the command runs each row in a process of its
// own, as `deploy/faults` does.

import FoundationEssentials
import Glibc
import RealCluster
import Testing

@Suite(.serialized) struct ShortRowsTests {
  static let numbers = [
    "F1", "F2", "F5", "F6", "F7", "F8", "F12", "F13", "F16", "F17", "F22", "F24", "F31", "F34",
    "F44", "F46", "F47", "F49", "F52", "F53", "F58", "F59", "F61", "F62", "F63", "F64", "F65",
    "F66", "F67", "F68", "F69", "F70", "G23", "X1", "X2", "X3", "X4", "X5", "X6",
  ]

  /// As root, mounts of a row vanish with its process.
  private static let ownNamespaces: [String] =
    geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare")
    ? ["/usr/bin/unshare", "--mount"] : []

  /// F1…: what the short forms promise holds.
  @Test(arguments: numbers) func theShortFormHolds(_ number: String) async throws {
    let (status, output) = try await Self.faults(["--short", number])
    #expect(status == 0, "\(output)")
    print(output)
  }

  /// Every row that says that it belongs to the test command is in it.
  @Test func noShortFormIsLeftOut() async throws {
    let (_, output) = try await Self.faults(["--list"])
    let short = output.split(separator: "\n").compactMap { $0.firstMatch(of: /^([A-Z0-9-]+)\*/)?.1 }
    #expect(short.map { String($0) }.sorted() == Self.numbers.sorted())
  }

  private static func faults(_ arguments: [String]) async throws -> (Int32, String) {
    let folder = "/tmp/oft-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let words = ownNamespaces + [try Cluster.executable("FaultRows")] + arguments
    let command = try ChildProgram(
      "faults", words[0], Array(words.dropFirst()),
      environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        + (ownNamespaces.isEmpty ? [] : ["FAULT_ROWS_NAMESPACES=own"]),
      folder: folder)
    let status = try await command.ended(within: .seconds(240))
    return (status, command.output + command.error)
  }
}
