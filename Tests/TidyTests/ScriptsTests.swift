// A test that writes a program and runs it fails now and then: a child that another test starts
// just then holds the file open for writing, and the kernel says "Text file busy".

import Testing

@Suite struct ScriptsTests {
  /// Scripts that no process of a test writes where they are run.
  private static let exceptions = [
    // A text that is compared.
    "Tests/OpClusterAllocationTests/SlurmJobsTests.swift",
    // Written by an operation, which is a process of its own.
    "Tests/OpClusterInProcessTests/FileTests.swift",
    // An input: a worker runs its own copy.
    "Tests/OpClusterTests/FileCommandTests.swift",
  ]

  @Test func aProgramIsWrittenByAProcessOfItsOwn() throws {
    for file in try Tree.swiftFiles() where file.path.hasPrefix("Tests/") {
      if file.path.hasPrefix("Tests/TidyTests/") || Self.exceptions.contains(file.path) { continue }
      guard let line = file.codeLines.first(where: { $0.text.contains("#!/") }) else { continue }
      #expect(
        file.codeLines.contains { $0.text.contains("makeExecutable(") },
        "\(file.path):\(line.number): keep the script as a file, or call makeExecutable")
    }
  }
}
