// What is opaque to the coordinator, opened for people and programs: a row's outputs and command.

import OpClusterModel
import OpClusterPresentation
import OpClusterWire

extension OperationRow {
  /// The outputs of a command as `key=value` lines; what is something else stays as it is.
  func withReadableOutputs() -> OperationRow {
    var row = self
    row.result = result?.withReadableOutputs()
    for at in row.attempts.indices {
      row.attempts[at].result = row.attempts[at].result.withReadableOutputs()
    }
    return row
  }

  /// The command with this element's values; nil where the row does not have it.
  var shownCommand: String? {
    guard !command.isEmpty, let specification = try? Wire.decodeCommand(command) else {
      return nil
    }
    let keys = specification.elementKeys.count
    let values = ElementValues.decode(commandArgument, keyCount: keys) ?? []
    return OpClusterPresentation.shownCommand(
      specification, values: keys == 0 ? [] : values, index: index)
  }
}

extension AttemptResult {
  fileprivate func withReadableOutputs() -> AttemptResult {
    guard !output.isEmpty, let pairs = try? Wire.decodeOutputs(output), !pairs.isEmpty else {
      return self
    }
    var result = self
    result.output = Array(pairs.map { "\($0.key)=\($0.value)\n" }.joined().utf8)
    return result
  }
}
