// The short selection of the fault table as tests: the command runs each row in a process of its
// own, as `deploy/faults` does.

import FoundationEssentials
import Glibc
import RealCluster
import Testing

@Suite(.serialized) struct ShortRowsTests {
  static let numbers = [
    "F1", "F2", "F5", "F6", "F7", "F8", "F12", "F13", "F16", "F17", "F22", "F24", "F31", "F34",
    "F44", "F46", "F47", "F49", "F52", "F53", "F58", "F59", "F61", "F62", "F63", "G23",
    "X1", "X2", "X3", "X4", "X5", "X6",
  ]

  /// As root, mounts of a row vanish with its process.
  private static let ownNamespaces: [String] =
    geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare")
    ? ["/usr/bin/unshare", "--mount"] : []

  private static func makeFolder() throws -> String {
    let folder = "/tmp/oft-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    return folder
  }

  /// Every row that has a short form is run here, by its number.
  @Test func noRowIsLeftOut() async throws {
    let folder = try Self.makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let command = try ChildProgram(
      "list", try Cluster.executable("FaultRows"), ["--list"], environment: [], folder: folder)
    #expect(try await command.ended() == 0, "\(command.error)")
    let marked = command.output.split(separator: "\n").compactMap { line -> String? in
      let number = line.prefix { $0 != " " }
      // The line that explains the mark has no number.
      return number.count > 1 && number.hasSuffix("*") ? String(number.dropLast()) : nil
    }
    #expect(marked.sorted() == Self.numbers.sorted())
  }

  /// What the short forms promise holds.
  @Test(arguments: numbers) func theShortFormHolds(_ number: String) async throws {
    let folder = try Self.makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let words = Self.ownNamespaces + [try Cluster.executable("FaultRows"), "--short", number]
    let command = try ChildProgram(
      "faults", words[0], Array(words.dropFirst()),
      environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        + (Self.ownNamespaces.isEmpty ? [] : ["FAULT_ROWS_NAMESPACES=own"]),
      folder: folder)
    let status = try await command.ended(within: .seconds(240))
    #expect(status == 0, "\(command.output)\(command.error)")
    print(command.output)
  }
}
