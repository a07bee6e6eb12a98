// The sources of this package as a test reads them: paths relative to the root, lines, functions.

import FoundationEssentials

struct SourceFile {
  let path: String
  let lines: [String]
  /// Lines that are not comments, with their numbers, without their indentation.
  let codeLines: [(number: Int, text: String)]
  /// Lines that are not comments, with their numbers.
  let indentedCodeLines: [(number: Int, text: String)]

  init(path: String, lines: [String]) {
    self.path = path
    self.lines = lines
    var (code, indented): ([(number: Int, text: String)], [(number: Int, text: String)]) = ([], [])
    for (at, line) in lines.enumerated() {
      let text = line.utf8.drop { $0 == UInt8(ascii: " ") }
      if text.starts(with: "//".utf8) { continue }
      code.append((at + 1, String(Substring(text))))
      indented.append((at + 1, line))
    }
    codeLines = code
    indentedCodeLines = indented
  }

  var isSource: Bool { path.hasPrefix("Sources/") }

  struct Function {
    var line: Int
    var length: Int
  }

  /// Functions as the formatter lays them out: from `func` or `init` to the closing brace at the
  /// same indentation.
  var functions: [Function] {
    var found: [Function] = []
    for (at, line) in lines.enumerated() where line.startsFunction && !line.hasSuffix("}") {
      let indent = line.prefix { $0 == " " }
      let close = String(indent) + "}"
      guard let end = lines[at...].firstIndex(of: close) else { continue }
      found.append(Function(line: at + 1, length: end - at + 1))
    }
    return found
  }
}

extension String {
  fileprivate var startsFunction: Bool {
    let words = split(separator: " ")
    guard let at = words.firstIndex(where: { $0 == "func" || $0.hasPrefix("init(") }) else {
      return false
    }
    return words[..<at].allSatisfy { word in
      word.allSatisfy { $0.isLetter || $0 == "(" || $0 == ")" || $0 == "@" || $0 == "_" }
    }
  }
}

enum Tree {
  struct Unreadable: Error {
    var path: String
  }

  /// The package's root, two folders above this one.
  static var root: String {
    let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return parts.dropLast(3).joined(separator: "/")
  }

  /// Every Swift file under Sources and Tests that people wrote, and the manifest; read once for
  /// all tests.
  static func swiftFiles() throws -> [SourceFile] { try read.get() }

  private static let read = Result { try readFiles() }

  private static func readFiles() throws -> [SourceFile] {
    let paths = try files(in: "Sources") + files(in: "Tests") + ["Package.swift"]
    return try paths.filter { $0.hasSuffix(".swift") && !$0.hasSuffix(".pb.swift") }
      .map { SourceFile(path: $0, lines: try lines(of: $0)) }
  }

  /// The names at the top level.
  static var entries: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: root).sorted() }
  }

  static func files(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)").sorted()
      .map { "\(folder)/\($0)" }
  }

  static func lines(of path: String) throws -> [String] {
    guard let bytes = FileManager.default.contents(atPath: "\(root)/\(path)") else {
      throw Unreadable(path: path)
    }
    return String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
  }
}
