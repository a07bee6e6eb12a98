// The table of invariants says the truth: each is looked at in the file that it names, and whatever
// the simulation complains about is in the table.

import FoundationEssentials
import OpClusterSimulation
import Testing

@Suite struct Invariants {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Sources/OpClusterSimulation").path

  @Test(arguments: Invariant.all.map(\.name))
  func isLookedAt(name: String) throws {
    let invariant = try #require(Invariant.all.first { $0.name == name })
    let text = try String(contentsOfFile: "\(Self.folder)/\(invariant.file)", encoding: .utf8)
    #expect(text.contains("\"\(name)\""), "\(invariant.file) does not look at \(name)")
  }

  @Test func allAreThere() {
    let names = Set(Invariant.all.map(\.name))
    for number in 1...19 { #expect(names.contains("I\(number)")) }
    #expect(names.count == Invariant.all.count)
  }
}
