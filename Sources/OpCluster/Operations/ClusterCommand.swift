// A command of a program. Converted to the CommandSpecification that workers read.

import OpClusterModel

/// A command: a program with its arguments, or a shell text.
///
/// It gets a small clean environment, the variables of `environment`, and the `OP_…` variables of
/// the manifest's operations; this program's own environment is not copied.
public struct ClusterCommand: Hashable, Sendable {
  var specification: CommandSpecification

  /// Runs a program directly; the first argument is its name or path.
  public init(_ arguments: [String]) {
    specification = CommandSpecification(form: .arguments(arguments.map { CommandText($0) }))
  }

  /// Runs a text by `/bin/sh -e -c`: it ends, and the command fails, at the first part that fails;
  /// in a pipe only the last part counts. External values must be quoted.
  public init(shell text: String) {
    specification = CommandSpecification(
      form: .shell(interpreter: CommandSpecification.standardShell, text: CommandText(text)))
  }

  /// Variables in addition to the clean environment.
  public var environment: [String: String] {
    get {
      var all: [String: String] = [:]
      for variable in specification.environment { all[variable.name] = Self.text(variable.value) }
      return all
    }
    set {
      specification.environment = newValue.sorted { $0.key < $1.key }.map {
        CommandSpecification.Variable(name: $0.key, value: CommandText($0.value))
      }
    }
  }

  /// Absolute; empty: a scratch folder of its own.
  public var workingDirectory: String {
    get { specification.workingDirectory }
    set { specification.workingDirectory = newValue }
  }

  /// The standard input; nil: nothing.
  public var standardInput: String? {
    get { if case .text(let text) = specification.standardInput { Self.text(text) } else { nil } }
    set { specification.standardInput = newValue.map { .text(CommandText($0)) } ?? .nothing }
  }

  /// Files that it leaves for others: a name for each, and a path, a folder or a pattern, from its
  /// working folder. They go to the store of its worker when it has succeeded. One that is not
  /// there fails it.
  public var outputFiles: [String: String] {
    get {
      var all: [String: String] = [:]
      for file in specification.outputFiles { all[file.name] = Self.text(file.path) }
      return all
    }
    set {
      specification.outputFiles = newValue.sorted { $0.key < $1.key }.map {
        CommandSpecification.OutputFile(name: $0.key, path: CommandText($0.value))
      }
    }
  }

  /// Exit statuses that count as success; empty means only 0.
  public var successStatuses: [UInt8] {
    get { specification.successStatuses }
    set { specification.successStatuses = newValue }
  }

  /// The signal that asks it to stop; TERM by default.
  public var stopSignal: Int32 {
    get { specification.stopSignal }
    set { specification.stopSignal = newValue }
  }

  private static func text(_ text: CommandText) -> String {
    text.segments.reduce(into: "") { if case .literal(let part) = $1 { $0 += part } }
  }
}
