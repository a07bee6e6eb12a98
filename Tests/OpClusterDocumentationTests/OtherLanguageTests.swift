// Programs in other languages that the manual shows: each is a file of the repository, and the
// names that it takes from the protocol are those of the protocol.

import Testing

@Suite struct OtherLanguages {
  /// Files by the blocks that show them: `<!-- file: deploy/examples/client.py -->`.
  private func shown() throws -> [(place: String, path: String, text: String)] {
    var found: [(place: String, path: String, text: String)] = []
    let head = "<!-- file: "
    for document in try Package.documents() {
      for (at, line) in document.lines.enumerated() where line.hasPrefix(head) {
        let path = String(line.dropFirst(head.count).dropLast(" -->".count))
        let behind = document.lines.dropFirst(at + 2)
        let text = behind.prefix { !$0.hasPrefix("```") }.joined(separator: "\n")
        found.append(("\(document.path):\(at + 1)", path, text))
      }
    }
    return found
  }

  @Test func filesAreShownAsTheyAre() throws {
    let shown = try shown()
    #expect(!shown.isEmpty)
    for (place, path, text) in shown {
      let file = try Package.document(path).lines.joined(separator: "\n")
      #expect(file == text + "\n", "\(place) does not show \(path) as it is")
    }
  }

  /// `FORM_ARGUMENTS`, `WORK_KIND_COMMAND`: a name that the protocol does not have would be found
  /// by whoever runs the program.
  @Test func namesAreThoseOfTheProtocol() throws {
    var known: Set<Substring> = []
    for path in try Package.files(in: "proto", suffix: ".proto") {
      for line in try Package.document(path).lines {
        known.formUnion(line.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
      }
    }
    for (place, _, text) in try shown() {
      let words = text.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "." }
      let names = words.compactMap { $0.split(separator: ".").last }.filter { name in
        name.contains("_") && name.allSatisfy { $0.isUppercase || $0 == "_" }
      }
      #expect(names.count > 3)
      for name in names { #expect(known.contains(name), "\(place): \(name)") }
    }
  }
}
