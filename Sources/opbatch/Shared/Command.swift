// The form of every command: the common options, and one function that does the work and returns a
// status. `Opbatch.main` runs it and turns an error into a message and a status. No command prints
// its own errors or calls `exit`.

import ArgumentParser

protocol Command: AsyncParsableCommand {
  var global: GlobalOptions { get }
  /// Whether Ctrl-C and TERM arrive through `Console.interrupts` instead of ending the process.
  static var handlesInterrupts: Bool { get }
  /// Whether our stdin goes to a command on the cluster. It is then read before anything starts.
  var passesInput: Bool { get }
  /// Does the work. Throws `Failure` or `ClientError`.
  func perform(_ console: Console) async throws -> ExitStatus
}

extension Command {
  static var handlesInterrupts: Bool { false }
  var passesInput: Bool { false }
}
