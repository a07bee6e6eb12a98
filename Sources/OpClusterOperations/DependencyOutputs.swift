// The outputs of a running operation's direct dependencies (S135 to S140): by name, by operation,
// by type. Values are fixed when a dependency has finished; repeated calls give equal answers. Any
// thread.

public import OpClusterModel

/// One direct dependency, as its dependent sees it. Only direct ones are visible (S139).
public struct DependencyResult: Hashable, Sendable {
  public let operation: OperationID
  /// Its name; an element of an array has the name of the array.
  public let name: String
  /// The element number for people; nil for a plain operation.
  public let index: UInt32?
  public let outcome: Outcome
  /// The opaque output, for ``OutputValue``. nil for an operation that did not succeed, or that
  /// left nothing (S138).
  public let output: [UInt8]?

  init(_ input: DependencyInput) {
    operation = input.operation
    name = input.name
    index = input.index
    outcome = input.outcome
    output = input.usableOutput
  }

  /// `fetch`, or `tiles/3`.
  public var shownName: String { index.map { "\(name)/\($0)" } ?? name }
}

extension OperationContext {
  /// A file that the operation's graph names as an input: `reads` of the submitter, `align/bam` of
  /// a dependency; of an array `align/3/bam`, of a folder or a pattern `align/bam/NAME`. Nobody may
  /// write to it.
  /// - Throws: ``MissingInput`` if there is none.
  public func inputFile(_ path: String) throws -> OperationFile {
    guard let inputFiles else {
      throw MissingInput(
        "there is no input file '\(path)': its graph names no files for this operation "
          + "(inputs: {NAME: PATH}, or needs: {OPERATION: {files: [NAME]}})")
    }
    guard RelativePath.isValid(path) else {
      throw MissingInput("'\(path)' is no path of an input file; it is one like align/bam")
    }
    if let file = try inputFiles.find(path) { return file }
    throw MissingInput(
      "there is no input file '\(path)'; there are "
        + inputFiles.paths().sorted().prefix(20).joined(separator: ", "))
  }
}

extension OperationContext {
  /// The direct dependencies, in order of addition (S135).
  public var dependencies: [DependencyResult] { inputs.map(DependencyResult.init) }

  /// The output of the dependency of this name; of an array, the first existing one.
  /// - Returns: nil if it left nothing, or is not among the dependencies (S138, S139).
  /// - Throws: ``BadOutput`` if the output is of another type.
  public func output<Value: Decodable>(
    of name: String, as type: Value.Type = Value.self
  ) throws -> Value? {
    guard let input = inputs.first(where: { $0.name == name && $0.usableOutput != nil }) else {
      return nil
    }
    return try value(type, of: input)
  }

  /// The output of this dependency; otherwise like ``output(of:as:)-(String,_)``.
  public func output<Value: Decodable>(
    of operation: OperationID, as type: Value.Type = Value.self
  ) throws -> Value? {
    guard let input = inputs.first(where: { $0.operation == operation }) else { return nil }
    return try value(type, of: input)
  }

  /// The output of the first dependency that succeeded and left a value of this type (S136).
  public func output<Value: Decodable>(_ type: Value.Type = Value.self) -> Value? {
    for case let output? in openedInputs {
      if let value = OutputValue.value(type, of: output, contents: contents) { return value }
    }
    return nil
  }

  /// The outputs of an array's elements, in order of addition, without elements that left nothing.
  /// - Throws: ``BadOutput`` if one of them is of another type.
  public func outputs<Value: Decodable>(
    of name: String, as type: Value.Type = Value.self
  ) throws -> [Value] {
    try inputs.compactMap { $0.name == name ? try value(type, of: $0) : nil }
  }

  /// The form of ``output(of:as:)-(String,_)`` for a value that `main` requires.
  /// - Throws: ``MissingInput`` if it is absent, ``BadOutput`` if it is of another type.
  public func requireOutput<Value: Decodable>(
    of name: String, as type: Value.Type = Value.self
  ) throws -> Value {
    guard let value = try output(of: name, as: type) else {
      throw MissingInput("'\(name)' left no \(TypeName.of(type)); " + leftByDependencies)
    }
    return value
  }

  /// The form of ``output(of:as:)-(OperationID,_)`` for a value that `main` requires.
  /// - Throws: ``MissingInput`` if it is absent, ``BadOutput`` if it is of another type.
  public func requireOutput<Value: Decodable>(
    of operation: OperationID, as type: Value.Type = Value.self
  ) throws -> Value {
    guard let value = try output(of: operation, as: type) else {
      throw MissingInput(
        "operation \(operation.index) of graph \(operation.graph.number) left no "
          + "\(TypeName.of(type)); " + leftByDependencies)
    }
    return value
  }

  /// The form of ``output(_:)`` for a value that `main` requires.
  /// - Throws: ``MissingInput`` if there is none.
  public func requireOutput<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    guard let value = output(type) else {
      throw MissingInput("no dependency left a \(TypeName.of(type)); " + leftByDependencies)
    }
    return value
  }

  private func value<Value: Decodable>(
    _ type: Value.Type, of input: DependencyInput
  ) throws -> Value? {
    guard let bytes = input.usableOutput else { return nil }
    do {
      return try OutputValue.decode(type, from: bytes, contents: contents)
    } catch {
      throw BadOutput("'\(DependencyResult(input).shownName)': \(CodingText.describe(error))")
    }
  }

  /// A list of the existing outputs, for people who look for a missing one.
  var leftByDependencies: String {
    if inputs.isEmpty { return "it has no dependencies" }
    let shown = inputs.prefix(20).map { input in
      let name = DependencyResult(input).shownName
      guard let bytes = input.usableOutput else {
        return "\(name) (\(StateWord(input.outcome).rawValue)) left nothing"
      }
      return "\(name) left \(OutputValue.describe(bytes))"
    }
    let rest = inputs.count > 20 ? ", and \(inputs.count - 20) more" : ""
    return shown.joined(separator: ", ") + rest
  }
}

extension DependencyInput {
  /// The output of a success; no bytes count as no output.
  var usableOutput: [UInt8]? {
    guard outcome == .succeeded, let output, !output.isEmpty else { return nil }
    return output
  }
}
