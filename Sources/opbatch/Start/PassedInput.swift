// Passes our stdin to a command on the cluster. Reads it to its end before the submission, since no
// stream leads to a worker. Runs on the main thread before anything else, so that Ctrl-C ends the
// process while it waits.

import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

enum PassedInput {
  /// The input for the command.
  typealias Result = Swift.Result<CommandSpecification.StandardInput, Failure>

  /// Milliseconds without a byte until a message says what is waited for.
  private static let patience: Int32 = 2_000

  /// The advice for input that exceeds the limit.
  static let advice =
    "write it into a file that the workers can read, and let the command read that: "
    + "sh -c 'CMD < FILE'; --no-stdin passes nothing on"

  /// - Parameter say: Prints the line about what is waited for.
  static func read(_ input: Descriptor = .input, say: (String) -> Void) -> Result {
    switch input.kind {
    // Nobody has redirected anything: the command gets an empty stdin rather than this terminal.
    case .nothing, .terminal, .device: return .success(.nothing)
    case .file(let path, let isAtItsBegin):
      let result = passed(input.readAll(limit: Limits.payloadBytes))
      // The file is too large or no text: the worker opens it by its path.
      if case .failure = result, isAtItsBegin, let path {
        return .success(.file(CommandText(path)))
      }
      return result
    case .stream:
      if !input.waitUntilReadable(milliseconds: patience) {
        say(
          "reading stdin to its end, which the command is given; '< /dev/null' or --no-stdin "
            + "gives it none")
      }
      return passed(input.readAll(limit: Limits.payloadBytes))
    }
  }

  private static func passed(_ content: Swift.Result<[UInt8], ErrorNumber>) -> Result {
    switch content {
    case .success(let bytes):
      guard !bytes.isEmpty else { return .success(.nothing) }
      // The command travels as text. Bytes that are no text go by a file.
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return .failure(
          Failure(
            .badInput, code: "bad_input",
            "stdin is not text in UTF-8, and nothing else is passed on",
            hint: advice))
      }
      return .success(.text(CommandText(text)))
    case .failure(let failure):
      let reason =
        failure.isTooLarge ? "it has more than \(Limits.payloadBytes / 1024) KiB" : failure.text
      return .failure(
        Failure(
          failure.isTooLarge ? .badInput : .inputOutput, code: "cannot_read",
          "cannot pass stdin on: \(reason)", hint: advice))
    }
  }
}
