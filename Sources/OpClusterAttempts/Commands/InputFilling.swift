// Fills in the places of a call's argument when an attempt starts: the values of its element and
// the outputs of its dependencies, as JSON. Pure; called on the loop thread.

import OpClusterModel
import OpClusterOperations
import OpClusterWire

extension AttemptValues {
  /// Decodes the element's values and the inputs of the job. A mismatch is the submission's fault
  /// and is not retried (S129).
  init(_ job: Job, _ input: CallInput, element: [UInt8]) throws(AttemptProblem) {
    guard let elements = ElementValues.decode(element, keyCount: input.elementKeys.count) else {
      throw AttemptProblem(
        cause: .badArgument,
        message: "the element's values do not fit its keys; submit the graph anew")
    }
    self.init(index: job.shownIndex, elements: elements, inputs: job.inputs)
  }

  /// The JSON text; at most `Limits.payloadBytes`. Checked after each segment, so that a huge
  /// output cannot fill the memory first.
  func argument(_ input: CallInput) throws(AttemptProblem) -> [UInt8] {
    var argument: [UInt8] = []
    for segment in input.segments {
      switch segment {
      case .json(let text): argument += text.utf8
      case .value(let text, let form): argument += try json(text, form).utf8
      }
      if argument.count > Limits.payloadBytes {
        throw AttemptProblem(
          cause: .badArgument,
          message: "with the outputs of its dependencies the input has more than "
            + "\(Limits.payloadBytes / 1024) KiB; pass large values by file")
      }
    }
    return argument
  }

  /// A list of outputs is a JSON list; `json` of a single one is the value itself.
  private func json(
    _ text: CommandText, _ form: CallInput.Form
  ) throws(AttemptProblem) -> String {
    switch form {
    case .string: return OutputField.string(try render(text))
    case .scalar: return OutputField.scalar(try render(text))
    case .json, .list:
      guard text.segments.count == 1,
        case .value(.output(let operation, let key), _) = text.segments[0]
      else { return OutputField.string(try render(text)) }
      var values: [String] = []
      for output in try outputs(of: operation, key) {
        guard let value = OutputField.json(key, of: output) else {
          throw missing(operation, key, "left only: \(Self.keys(of: output))")
        }
        values.append(value)
      }
      if form == .json, values.count == 1 { return values[0] }
      return "[" + values.joined(separator: ",") + "]"
    }
  }
}
