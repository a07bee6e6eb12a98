// Brains advise by codes: whoever shows the advice puts it into words of its own.

import Testing

@Suite struct AdviceTests {
  private static let brains = [
    "OpClusterCoordinator", "OpClusterExecution", "OpClusterLocal", "OpClusterQueries",
    "OpClusterScheduling",
  ]

  @Test func brainsNameNoCommands() throws {
    for file in try Tree.swiftFiles()
    where Self.brains.contains(where: { file.path.hasPrefix("Sources/\($0)/") }) {
      for (number, line) in file.codeLines where line.contains("opbatch") {
        Issue.record("\(file.path):\(number) names a command; make it a case of Advice")
      }
    }
  }

  /// Texts of the library, and of the client below it, in which a command is meant as it stands.
  private static let exceptions = [
    // The origin of an address: "from opbatch up".
    "Sources/OpClusterClient/ClusterAddress.swift": #"case .up: "opbatch up""#
  ]

  @Test func theLibraryNamesNoCommands() throws {
    for file in try Tree.swiftFiles()
    where file.path.hasPrefix("Sources/OpCluster/")
      || file.path.hasPrefix("Sources/OpClusterClient/")
    {
      for (number, line) in file.codeLines where line.contains("opbatch") {
        #expect(
          line == Self.exceptions[file.path],
          "\(file.path):\(number) names a command; make it a case of Advice")
      }
    }
  }
}
