// The values of a Ninja file: texts with variables, scopes, rules and build edges.

/// A text before its variables are put in.
struct NinjaText {
  enum Piece {
    case literal(String)
    case variable(String)
  }
  var pieces: [Piece] = []
}

struct NinjaRule {
  var name: String
  var place: SourcePlace
  var bindings: [String: NinjaText] = [:]
}

/// A file with what it includes; `subninja` opens one below another.
struct NinjaScope {
  var parent: Int?
  var variables: [String: String] = [:]
  var rules: [String: Int] = [:]
}

struct NinjaEdge {
  /// nil: phony.
  var rule: Int?
  var scope: Int
  var bindings: [String: String] = [:]
  /// Those that `$out` names, and all.
  var explicitOutputs: [String] = []
  var outputs: [String] = []
  /// Those that `$in` names.
  var explicitInputs: [String] = []
  var implicitInputs: [String] = []
  var orderOnlyInputs: [String] = []
  var validations: [String] = []
  var place: SourcePlace

  var inputs: [String] { explicitInputs + implicitInputs }
}

/// All that a Ninja file and those that it includes say.
struct NinjaFile {
  var scopes: [NinjaScope] = [NinjaScope()]
  var rules: [NinjaRule] = []
  var edges: [NinjaEdge] = []
  /// The edge that makes a path.
  var makers: [String: Int] = [:]
  var pools: [String: Int] = ["console": 1]
  var defaults: [String] = []

  func rule(_ name: String, in scope: Int) -> Int? {
    var at: Int? = scope
    while let here = at {
      if let rule = scopes[here].rules[name] { return rule }
      at = scopes[here].parent
    }
    return nil
  }

  func variable(_ name: String, in scope: Int) -> String {
    var at: Int? = scope
    while let here = at {
      if let value = scopes[here].variables[name] { return value }
      at = scopes[here].parent
    }
    return ""
  }

  /// Puts variables of a scope in, behind those of an edge.
  func expand(_ text: NinjaText, in scope: Int, edge: [String: String] = [:]) -> String {
    var result = ""
    for piece in text.pieces {
      switch piece {
      case .literal(let literal): result += literal
      case .variable(let name): result += edge[name] ?? variable(name, in: scope)
      }
    }
    return result
  }

  /// The shortest form of a path: without `.`, and without a folder and its `..`.
  static func canonical(_ path: String) -> String {
    var parts: [Substring] = []
    let isAbsolute = path.utf8.first == UInt8(ascii: "/")
    for part in path.utf8.split(separator: UInt8(ascii: "/")).map({ Substring($0) }) {
      if part == "." { continue }
      if part == "..", let last = parts.last, last != ".." {
        parts.removeLast()
      } else if part == "..", isAbsolute {
        continue
      } else {
        parts.append(part)
      }
    }
    let text = parts.joined(separator: "/")
    return isAbsolute ? "/" + text : text.isEmpty ? "." : text
  }
}
