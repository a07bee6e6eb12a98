// Fills in the places of a command that are known only when the attempt starts: the index, the
// element's values, outputs of dependencies. Pure; called on the loop thread at each start.

import OpClusterModel
import OpClusterWire

/// Why an attempt cannot begin, as its result.
struct AttemptProblem: Error {
  var cause: FailureCause
  var message: String
  /// What a shell would say of it: 126, 127, or 0.
  var exitStatus: Int32 = 0

  var result: AttemptResult {
    var result = AttemptResult()
    result.cause = cause
    result.exitStatus = exitStatus
    result.diagnostic = String(decoding: message.utf8.prefix(Limits.diagnosticBytes), as: UTF8.self)
    return result
  }
}

/// What the places of one attempt's texts stand for.
struct AttemptValues {
  var index: UInt32
  var elements: [String]
  var inputs: [DependencyInput]

  /// The text with every place filled in.
  func render(_ text: CommandText) throws(AttemptProblem) -> String {
    if text.segments.count == 1, case .literal(let whole) = text.segments[0] { return whole }
    var result = ""
    for segment in text.segments {
      switch segment {
      case .literal(let piece): result += piece
      case .value(let value, let quoting): result += try render(value, quoting)
      }
    }
    return result
  }

  private func render(
    _ value: CommandText.Value, _ quoting: CommandText.Quoting
  ) throws(AttemptProblem) -> String {
    switch value {
    case .index: return String(index)
    case .element(let position):
      guard elements.indices.contains(position) else {
        throw AttemptProblem(
          cause: .badArgument,
          message: "the command names value \(position) of its element, "
            + "which has \(elements.count); submit the graph anew")
      }
      return Self.quote(elements[position], quoting)
    case .output(let operation, let key): return try output(operation, key, quoting)
    }
  }

  /// `${{ needs.OPERATION.outputs.KEY }}`: one value, or those of an array's elements in order.
  private func output(
    _ operation: String, _ key: String, _ quoting: CommandText.Quoting
  ) throws(AttemptProblem) -> String {
    var values: [String] = []
    for output in try outputs(of: operation, key) {
      guard let value = output.pairs.last(where: { $0.key == key })?.value else {
        throw missing(operation, key, "left only: \(Self.keys(of: output))")
      }
      values.append(Self.quote(value, quoting))
    }
    return values.joined(separator: " ")
  }

  static func keys(of output: OperationOutput) -> String {
    output.pairs.map(\.key).joined(separator: ", ")
  }

  /// What the operation left, or each element of the array; at least one.
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

  /// For the shell: one word whatever is in it.
  static func quote(_ text: String, _ quoting: CommandText.Quoting) -> String {
    switch quoting {
    case .none: return text
    case .shell:
      var result = "'"
      for scalar in text.unicodeScalars {
        if scalar == "'" { result += "'\\''" } else { result.unicodeScalars.append(scalar) }
      }
      return result + "'"
    }
  }
}
