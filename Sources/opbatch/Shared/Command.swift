// What every command of opbatch is: options that all share, and one function that does the work
// and says how it ended. `Opbatch.main` runs it and turns whatever it throws into a message and a
// status; no command prints its own errors or calls `exit`.

import ArgumentParser

protocol Command: AsyncParsableCommand {
  var global: GlobalOptions { get }
  /// Whether Ctrl-C and TERM come through `Console.interrupts` instead of ending the process.
  static var handlesInterrupts: Bool { get }
  /// Whether our stdin goes to a command that runs elsewhere: it is read before anything starts.
  var passesInput: Bool { get }
  /// Does the work. Throws `Failure` or `ClientError`.
  func perform(_ console: Console) async throws -> ExitStatus
}

extension Command {
  static var handlesInterrupts: Bool { false }
  var passesInput: Bool { false }
}
