// Fills in the places of a command that are known only when the attempt starts: the index, the
// element's values, outputs of dependencies. Never puts a value into a shell text: the shell reads
// it from its environment. Pure; called on the loop thread at each start.

package import OpClusterModel
import OpClusterWire

/// The reason why an attempt cannot begin, in the form of its result.
package struct AttemptProblem: Error {
  var cause: FailureCause
  var message: String
  /// The status that a shell would give: 126, 127, or 0.
  var exitStatus: Int32 = 0

  package init(cause: FailureCause, message: String, exitStatus: Int32 = 0) {
    self.cause = cause
    self.message = message
    self.exitStatus = exitStatus
  }

  package var result: AttemptResult {
    var result = AttemptResult()
    result.cause = cause
    result.exitStatus = exitStatus
    result.diagnostic = String(decoding: message.utf8.prefix(Limits.diagnosticBytes), as: UTF8.self)
    return result
  }
}

/// The values of one attempt's places.
struct AttemptValues {
  var index: UInt32
  var elements: [String]
  var inputs: [DependencyInput]
  /// `TemplateAnnouncement.secrets`.
  var secrets: [String] = []

  /// Returns the text with every place filled in.
  func render(_ text: CommandText) throws(AttemptProblem) -> String {
    if text.segments.count == 1, case .literal(let whole) = text.segments[0] { return whole }
    var result = ""
    for segment in text.segments {
      switch segment {
      case .literal(let piece): result += piece
      case .value(let value, _): result += try words(value).joined(separator: " ")
      }
    }
    return result
  }

  /// Returns the shell text and its variables: each quoted value becomes a variable.
  func renderForShell(_ text: CommandText) throws(AttemptProblem) -> ShellRendering {
    var rendering = ShellRendering()
    for segment in text.segments {
      switch segment {
      case .literal(let piece): rendering.text += piece
      case .value(let value, .none):
        rendering.text += try words(value).joined(separator: " ")
      case .value(let value, .shell): rendering.append(try words(value))
      }
    }
    return rendering
  }

  /// Returns one value, or the values of an array's elements in order.
  private func words(_ value: CommandText.Value) throws(AttemptProblem) -> [String] {
    switch value {
    case .known(let text): return [text]
    case .secret(let position):
      guard secrets.indices.contains(position) else {
        throw AttemptProblem(
          cause: .badArgument, message: "a secret of the command is missing; submit the graph anew")
      }
      return [secrets[position]]
    case .index: return [String(index)]
    case .element(let position):
      guard elements.indices.contains(position) else {
        throw AttemptProblem(
          cause: .badArgument,
          message: "the command names value \(position) of its element, "
            + "which has \(elements.count); submit the graph anew")
      }
      return [elements[position]]
    case .output(let operation, let key):
      var values: [String] = []
      for output in try outputs(of: operation, key) {
        guard let value = output.pairs.last(where: { $0.key == key })?.value else {
          throw missing(operation, key, "left only: \(Self.keys(of: output))")
        }
        values.append(value)
      }
      return values
    }
  }

  static func keys(of output: OperationOutput) -> String {
    output.pairs.map(\.key).joined(separator: ", ")
  }

  /// Returns the operation's output, or that of each element of the array; at least one.
  func outputs(
    of operation: String, _ key: String
  ) throws(AttemptProblem) -> [OperationOutput] {
    var sources = inputs.filter { $0.name == operation }
    guard !sources.isEmpty else {
      throw missing(operation, key, "did not leave anything")
    }
    sources.sort { ($0.index ?? 0, $0.operation) < ($1.index ?? 0, $1.operation) }
    var outputs: [OperationOutput] = []
    for source in sources {
      guard let bytes = source.output else {
        throw missing(operation, key, "ended as \(StateWord(source.outcome).rawValue) without it")
      }
      guard let output = try? Wire.decodeOutput(bytes) else {
        throw missing(operation, key, "left something that is no list of values")
      }
      outputs.append(output)
    }
    return outputs
  }

  func missing(_ operation: String, _ key: String, _ what: String) -> AttemptProblem {
    AttemptProblem(
      cause: .missingInput,
      message: "needs.\(operation).outputs.\(key) is not there: '\(operation)' \(what); "
        + "it must write \(key)=VALUE to the file that OP_OUTPUT names")
  }
}

/// A shell text with variables in place of values.
struct ShellRendering {
  var text = ""
  /// The values of the variables `OP_VALUE_1` and so on, each value once.
  private(set) var values: [String] = []
  private var numbers: [String: Int] = [:]

  /// Appends each value as one word. The place must be outside of quotes.
  mutating func append(_ words: [String]) {
    var isFirst = true
    for word in words {
      if !isFirst { text += " " }
      isFirst = false
      // In lists, words that mean nothing to any shell need no variables.
      if words.count > 1, Self.isInert(word) {
        text += "\"\(word)\""
      } else {
        text += "\"${\(Self.name(number(word)))?}\""
      }
    }
  }

  var variables: [(name: String, value: String)] {
    values.enumerated().map { (Self.name($0.offset + 1), $0.element) }
  }

  private mutating func number(_ value: String) -> Int {
    if let known = numbers[value] { return known }
    values.append(value)
    numbers[value] = values.count
    return values.count
  }

  private static func name(_ number: Int) -> String { "OP_VALUE_\(number)" }

  private static func isInert(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "_.-/:@%+".utf8.contains(byte)
        }
      }
  }
}
