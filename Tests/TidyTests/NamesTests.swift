// Names: a file is called after what it holds, and a function's name means one thing in a target.
// The list of exceptions may only shrink.

import Testing

@Suite struct NamesTests {
  /// Words on -ing that name a thing in the field.
  private static let nouns: Set<String> = [
    "CommandRendering", "GPUSetting", "InputFilling", "JSONListing", "Layering", "LogSweeping",
    "Lowering", "Ping", "Scheduling",
  ]

  @Test func filesAreNouns() throws {
    let found = try Tree.swiftFiles().filter { $0.isSource }.map { $0.path }.filter { path in
      let name = path.split(separator: "/").last?.dropLast(".swift".count) ?? ""
      return name.hasSuffix("ing") && !name.hasSuffix("String")
        && !Self.nouns.contains(String(name))
    }
    #expect(found.isEmpty)
  }

  /// A loop that owns everything by itself is nobody's to read.
  @Test func loopsHaveFewParts() throws {
    for path in [
      "Sources/OpClusterCoordinator/Loop/CoordinatorLoop.swift",
      "Sources/OpClusterWorker/Loop/WorkerLoop.swift",
    ] {
      let lines = try Tree.lines(of: path).drop { !$0.hasPrefix("final class ") }
      let stored = lines.prefix { $0 != "}" }.filter { line in
        line.firstMatch(of: /^  (?:[a-z]+(?:\([a-z]+\))? )*(?:var|let) \w+/) != nil
          && !line.contains("static ") && !line.hasSuffix("}") && !line.hasSuffix("{")
      }
      #expect((1...15).contains(stored.count), "\(path): \(stored)")
    }
  }

  private static let declarers = [
    "func ", "struct ", "class ", "enum ", "actor ", "extension ", "protocol ",
  ]

  /// In how many types of a target one function may be declared; overloads in one type count once.
  private static let mostTypes = 8
  /// What more types than that declare, by target: decoding in Wire and Manifest, rows in opbatch.
  private static let repeated: Set<String> = [
    "OpClusterManifest decode", "OpClusterWire append", "OpClusterWire words", "opbatch show",
  ]
  /// What a protocol of a library asks for.
  private static let requirements: Set<String> = ["run", "validate"]

  @Test func functionsMeanOneThing() throws {
    var owners: [String: Set<String>] = [:]
    var required: Set<String> = []
    for file in try Tree.swiftFiles() where file.isSource {
      let target = String(file.path.split(separator: "/")[1])
      // Types around the line, the innermost last, with the indentation of each.
      var around: [(indentation: Int, name: String, isProtocol: Bool)] = []
      for (_, line) in file.indentedCodeLines where !line.isEmpty {
        let indentation = line.prefix { $0 == " " }.count
        while let last = around.last, last.indentation >= indentation { around.removeLast() }
        // Few lines declare anything, and an expression costs far more than a look for its word.
        if !Self.declarers.contains(where: line.contains) { continue }
        if let type = line.firstMatch(
          of: /^ *(?:[a-z@(),_]+ )*(struct|class|enum|actor|extension|protocol) ([A-Za-z0-9_.]+)/)
        {
          around.append((indentation, String(type.2), type.1 == "protocol"))
        } else if let function = line.firstMatch(of: /^ *(?:[a-zA-Z@(),_]+ )*func `?(\w+)/) {
          let name = "\(target) \(function.1)"
          if around.last?.isProtocol == true { required.insert(name) }
          owners[name, default: []].insert(around.last?.name ?? file.path)
        }
      }
    }
    #expect(owners.count > 1000, "the functions were not found")
    let found = owners.filter { name, types in
      types.count > Self.mostTypes && !required.contains(name)
        && !Self.requirements.contains(String(name.split(separator: " ")[1]))
    }
    #expect(Set(found.keys) == Self.repeated)
  }
}
