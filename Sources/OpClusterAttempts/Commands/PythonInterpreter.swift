// Which interpreter runs a function of Python: what a template, or an element's own argument, says
// of it. The rest of the argument is for `opcluster.interpreter`, the interpreter's side. Pure.

import FoundationEssentials
import Glibc
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// The program that runs functions of Python, and the variables that it needs.
///
/// Its child processes are kept and reused, each for functions of the same interpreter only.
struct PythonInterpreter: Hashable, Sendable {
  /// The name or the absolute path of the executable.
  let executable: String
  /// The folder of its virtual environment; nil: it has none of its own.
  let virtualEnvironment: String?
  /// Whose processes it has: functions of one pool share them, and with no others. nil: those of
  /// all functions that name none.
  let pool: String?

  /// The interpreter where none is named.
  private static let usual = "python3"

  /// What is read of an argument; its other keys are for the interpreter.
  private struct Argument: Decodable {
    var interpreter: String?
    var venv: String?
    var function: String?
    var pickle: String?
    var pool: String?
  }

  /// Reads an argument of the type ``OperationType/python``: an object in JSON.
  /// - Throws: A problem that says what is wrong with it, and what to write.
  init(argument: [UInt8]) throws(AttemptProblem) {
    guard let read = try? JSONDecoder().decode(Argument.self, from: Data(argument)) else {
      throw Self.problem(
        "its argument is not an object of 'function' and, if wanted, 'interpreter' or 'venv'")
    }
    guard read.function != nil || read.pickle != nil else {
      throw Self.problem("it names no function; write function: MODULE:NAME")
    }
    guard read.interpreter == nil || read.venv == nil else {
      throw Self.problem("it has 'interpreter' and 'venv'; keep one of them")
    }
    guard read.pool?.utf8.count ?? 0 <= Limits.nameBytes else {
      throw Self.problem("its 'pool' is a name of at most \(Limits.nameBytes) bytes")
    }
    pool = read.pool
    if let venv = read.venv {
      try Self.check(venv, "venv", mayBeName: false)
      virtualEnvironment = venv
      executable = venv + "/bin/python"
    } else {
      let named = read.interpreter ?? Self.usual
      try Self.check(named, "interpreter", mayBeName: true)
      virtualEnvironment = nil
      executable = named
    }
  }

  private static func check(
    _ path: String, _ key: String, mayBeName: Bool
  ) throws(AttemptProblem) {
    let isName = mayBeName && !path.contains("/") && !path.hasPrefix("-")
    guard !path.isEmpty, path.utf8.count <= Limits.interpreterPathBytes,
      !path.utf8.contains(0), isName || path.hasPrefix("/")
    else {
      throw problem(
        "its '\(key)' must be an absolute path"
          + (mayBeName ? ", or the name of a program" : "")
          + ", of at most \(Limits.interpreterPathBytes) bytes")
    }
  }

  private static func problem(_ message: String) -> AttemptProblem {
    AttemptProblem(cause: .badArgument, message: message)
  }

  /// The command of a child process, without the folders that end it.
  var command: [String] { [executable, "-m", "opcluster.interpreter"] }

  /// The environment of a child process: a clean one as a command's, and that of an activated
  /// virtual environment, if it has one.
  /// - Parameters:
  ///   - account: Whose the process is; nil: the worker's own.
  ///   - temporaryFolder: An absolute path.
  func environment(
    of account: LocalAccount?, temporaryFolder: String, _ further: [(name: String, value: String)]
  ) throws(AttemptProblem) -> [(name: String, value: String)] {
    var variables = further
    if let virtualEnvironment {
      variables.append(
        ("PATH", "\(virtualEnvironment)/bin:\(OperationEnvironment.standardPath)"))
      variables.append(("VIRTUAL_ENV", virtualEnvironment))
    }
    do throws(OperationEnvironment.Refusal) {
      return try OperationEnvironment.clean(
        given: variables, home: account?.home ?? OwnProcess.variable("HOME") ?? "/",
        user: account?.name ?? OwnProcess.variable("USER") ?? "\(getuid())",
        temporaryFolder: temporaryFolder)
    } catch {
      throw AttemptProblem(cause: .cannotStart, message: error.description)
    }
  }

  /// What to do about a process that has ended before it was ready, by its last words.
  func advice(on words: String) -> String? {
    guard words.contains("No module named") && words.contains("opcluster") else { return nil }
    return "install the package 'opcluster' for \(executable), or name another interpreter"
  }
}
