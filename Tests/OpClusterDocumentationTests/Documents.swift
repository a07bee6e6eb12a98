// The catalogues and the README as a test reads them: their blocks of Swift, the names of snippets
// above them, their links; and the snippets as they stand in the compiled files.

import FoundationEssentials

/// A block of Swift in a document.
struct Block: Sendable {
  var place: String
  /// The snippets that it shows, in order: `<!-- snippet: import first-queue -->`.
  var names: [String]
  var text: String
}

struct Document: Sendable {
  var path: String
  var lines: [String]

  /// Every block between ```` ```swift ```` and its end.
  var blocks: [Block] {
    var found: [Block] = []
    var at = 0
    while at < lines.count {
      defer { at += 1 }
      guard lines[at].hasPrefix("```swift") else { continue }
      let start = at + 1
      let end = lines[start...].firstIndex { $0.hasPrefix("```") } ?? lines.count
      let names = at > 0 ? Self.names(above: lines[at - 1]) : []
      found.append(
        Block(
          place: "\(path):\(at + 1)", names: names,
          text: lines[start..<end].joined(separator: "\n")))
      at = end
    }
    return found
  }

  private static func names(above line: String) -> [String] {
    let (head, tail) = ("<!-- snippet: ", " -->")
    guard line.hasPrefix(head), line.hasSuffix(tail) else { return [] }
    return line.dropFirst(head.count).dropLast(tail.count).split(separator: " ").map(String.init)
  }

  /// Every block between the fence of a language and its end.
  func fenced(_ language: String) -> [(place: String, text: String)] {
    var found: [(place: String, text: String)] = []
    var open: Int?
    for (at, line) in lines.enumerated() {
      if let start = open, line.hasPrefix("```") {
        found.append(("\(path):\(start)", lines[start..<at].joined(separator: "\n")))
        open = nil
      } else if open == nil, line == "```" + language {
        open = at + 1
      }
    }
    return found
  }

  /// The rows of a table: what its first two columns say, without the quotes around a key.
  struct Row: Sendable {
    var key: String
    var standard: String
  }

  /// The tables between `<!-- MARK NAME -->` and `<!-- end -->`, by their names.
  func tables(_ mark: String) -> [String: [Row]] {
    var found: [String: [Row]] = [:]
    var name: String?
    for line in lines {
      if line.hasPrefix("<!-- \(mark)"), line.hasSuffix(" -->") {
        let started = String(line.dropFirst("<!-- \(mark)".count).dropLast(" -->".count))
        found[started] = []
        name = started
      } else if line == "<!-- end -->" {
        name = nil
      } else if let name, line.hasPrefix("| `") {
        let cells = line.split(separator: "|").map { $0.trimming { $0 == " " } } + ["", ""]
        let key = cells[0].trimming { $0 == "`" }
        found[name]?.append(Row(key: String(key), standard: String(cells[1])))
      }
    }
    return found
  }

  /// What stands between `open` and `close`, on one line.
  func spans(_ open: String, _ close: String) -> [String] {
    lines.flatMap { line in
      line.split(separator: open, omittingEmptySubsequences: false).dropFirst().compactMap { rest in
        rest.firstRange(of: close).map { String(rest[..<$0.lowerBound]) }
      }
    }
  }
}

/// The text of every snippet. A name may mark several places of a file: they are one text.
enum Snippets {
  static func read(_ document: Document) -> [String: [String]] {
    var found: [String: [String]] = [:]
    var open: String?
    for line in document.lines {
      let word = line.drop { $0 == " " }
      if word.hasPrefix("// snippet: ") {
        open = String(word.dropFirst("// snippet: ".count))
      } else if word == "// end" {
        open = nil
      } else if let open {
        found[open, default: []].append(line)
      }
    }
    return found
  }

  /// Without the indentation that all its lines have, and without empty lines around it.
  static func text(_ lines: [String]) -> String {
    let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    var bare = lines.map { String($0.dropFirst(indent)) }
    while bare.last?.isEmpty == true { bare.removeLast() }
    while bare.first?.isEmpty == true { bare.removeFirst() }
    return bare.joined(separator: "\n")
  }
}

enum Package {
  struct Unreadable: Error {
    var path: String
  }

  /// The package's root, two folders above this one.
  static var root: String {
    let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return parts.dropLast(3).joined(separator: "/")
  }

  static func document(_ path: String) throws -> Document {
    guard let bytes = FileManager.default.contents(atPath: "\(root)/\(path)") else {
      throw Unreadable(path: path)
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    return Document(path: path, lines: lines.map(String.init))
  }

  static func files(in folder: String, suffix: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)").sorted()
      .filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
  }

  /// The README and every article.
  static func documents() throws -> [Document] {
    try (["README.md"] + files(in: "Sources", suffix: ".md")).map(document)
  }

  static func snippets() throws -> [String: String] {
    var all: [String: String] = [:]
    for folder in ["Tests/OpClusterDocumentationTests", "Tests/DocumentationWorker"] {
      for path in try files(in: folder, suffix: ".swift") {
        for (name, lines) in Snippets.read(try document(path)) { all[name] = Snippets.text(lines) }
      }
    }
    return all
  }
}

extension Substring {
  /// Without what `isOut` takes, at both ends.
  fileprivate func trimming(_ isOut: (Character) -> Bool) -> Substring {
    var rest = self
    while let first = rest.first, isOut(first) { rest.removeFirst() }
    while let last = rest.last, isOut(last) { rest.removeLast() }
    return rest
  }
}
