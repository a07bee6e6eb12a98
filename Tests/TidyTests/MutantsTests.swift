// Deliberate bugs in the brains are a patch, so that no product file holds a line of them. Its
// lines must fit, or the command that hunts them is the first to say so.

import Testing

@Suite struct MutantsTests {
  @Test func noProductHasABug() throws {
    for file in try Tree.swiftFiles() where file.isSource {
      for (number, text) in file.codeLines where text.contains("isPlanted") {
        Issue.record("\(file.path):\(number) asks for a deliberate bug")
      }
    }
  }

  /// The lines that the patch expects stand where it expects them, in one place.
  @Test func thePatchFits() throws {
    var hunks = 0
    var path = ""
    var expected: [String] = []
    var rest = try Tree.lines(of: "Tests/Mutants/brains.patch")[...]
    func check() throws {
      defer { expected = [] }
      if expected.isEmpty { return }
      hunks += 1
      let lines = try Tree.lines(of: path)
      let places = lines.indices.filter { lines[$0...].starts(with: expected) }
      #expect(places.count == 1, "\(path): \(expected)")
    }
    while let line = rest.popFirst() {
      if line.hasPrefix("--- ") || line.hasPrefix("@@ ") || line.isEmpty { try check() }
      if line.hasPrefix("--- a/") {
        path = String(line.dropFirst("--- a/".count))
        rest = rest.dropFirst()
      } else if line.hasPrefix(" ") || line.hasPrefix("-") {
        expected.append(String(line.dropFirst()))
      }
    }
    #expect(hunks >= 20)
  }
}
