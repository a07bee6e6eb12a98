// Requests for the results of an operation (S126): its value, its error, its attempts.

public import OpClusterModel
public import OpClusterOperations
import FoundationEssentials
import OpClusterWire
import Synchronization

/// The result of an operation (S126).
public enum OperationResult: Sendable {
  /// It has not finished.
  case pending
  /// It succeeded with an output.
  case value(OperationOutput)
  /// It succeeded without an output.
  case void
  /// It was cancelled or skipped, in any circumstances (S100).
  case cancelled(CancelReason?)
  case failed(OperationFailure)
  case lost
}

/// The encoded output of an operation.
public struct OperationOutput: Hashable, Sendable {
  public var bytes: [UInt8]

  /// - Throws: `wrongType` if it is a value of another type, or one that is too large for a
  ///   message: `ClusterOperation.output` brings that here.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self
  ) throws(ClusterError) -> Value {
    try decode(type, contents: .none)
  }

  fileprivate func decode<Value: Decodable>(
    _ type: Value.Type, contents: OperationContents
  ) throws(ClusterError) -> Value {
    do {
      return try OutputValue.decode(type, from: bytes, contents: contents)
    } catch {
      throw ClusterError(.wrongType, "\(error)")
    }
  }
}

/// The reason why an operation failed.
public struct OperationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public var cause: FailureCause
  /// The thrown error, or the end of the command's standard error.
  public var message: String
  /// The status of a command; 0 otherwise.
  public var exitStatus: Int32
  /// The signal that ended a command; 0 for none.
  public var signal: Int32
  /// The thrown error as a value if it was thrown in this process; ignored by `==`.
  public var underlyingError: (any Error)?
  public static func == (a: OperationFailure, b: OperationFailure) -> Bool {
    a.cause == b.cause && a.message == b.message && a.exitStatus == b.exitStatus
      && a.signal == b.signal
  }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(cause)
    hasher.combine(message)
    hasher.combine(exitStatus)
    hasher.combine(signal)
  }
  public var description: String { message.isEmpty ? "\(cause)" : message }
}

extension ClusterOperation {
  /// The present result; does not wait for the end.
  public func result() async throws(ClusterError) -> OperationResult {
    guard let row = try await row() else {
      return isCancelled ? .cancelled(cancelReason) : .pending
    }
    let result = OperationResult(row)
    guard case .failed(var failure) = result else { return result }
    failure.underlyingError = error
    return .failed(failure)
  }

  /// The output of an operation of this type; waits for its end.
  ///
  /// - Throws: `noOutput` if it was cancelled, failed, was lost or left nothing (S126, S138).
  public func output<Body: RegisteredOperation>(
    of type: Body.Type
  ) async throws(ClusterError) -> Body.Output {
    try await output(as: Body.Output.self)
  }

  /// The output; waits for the end. Files that are parts of it are brought here when their bytes
  /// are asked for.
  public func output<Value: Decodable>(
    as type: Value.Type = Value.self
  ) async throws(ClusterError) -> Value {
    try await waitUntilFinished()
    switch try await result() {
    case .value(let output): return try output.decode(type, contents: await contents(of: output))
    case .void:
      if let nothing = NoOutput() as? Value { return nothing }
      throw noOutput("it left nothing")
    case .pending: throw noOutput("it has not finished")
    case .cancelled: throw noOutput("it was cancelled")
    case .lost: throw noOutput("it was lost with its worker")
    case .failed(let failure): throw noOutput("it failed: \(failure)")
    }
  }

  /// The value of an output if it lies in a store, brought here, and the ways to its files.
  private func contents(
    of output: OperationOutput
  ) async throws(ClusterError) -> OperationContents {
    // The files of a command are not its output for a program.
    guard let (cluster, _) = place, OpClusterModel.OperationOutput.isTyped(output.bytes) else {
      return .none
    }
    var found: [ContentDigest: Data] = [:]
    if let opened = try? Wire.decodeOutput(output.bytes), let at = opened.valueContent,
      at < opened.contents.count
    {
      found[opened.contents[at].digest] = try await cluster.backend.data(of: opened.contents[at])
    }
    return OperationContents({ [found] in found[$0] }, file: { cluster.file($0) })
  }

  /// The paths of the files that it has left, in their order: `bam`, of a folder or a pattern
  /// `bam/NAME`, of a value the names of its properties. Waits for its end.
  public func filePaths() async throws(ClusterError) -> [String] {
    try await leftFiles().map(\.shownPath)
  }

  /// A file that it has left; its bytes are brought here when they are asked for. Waits for its
  /// end.
  ///
  /// - Parameter path: One of ``filePaths()``.
  /// - Throws: `noOutput` if there is none.
  public func file(_ path: String) async throws(ClusterError) -> OperationFile {
    let files = try await leftFiles()
    guard let file = files.first(where: { $0.shownPath == path }), let (cluster, _) = place else {
      let others = files.prefix(20).map(\.shownPath).joined(separator: ", ")
      throw noOutput(
        "it left no file '\(path)'" + (others.isEmpty ? "" : "; it left \(others)"))
    }
    return cluster.file(file.content)
  }

  private func leftFiles() async throws(ClusterError) -> [StoredFile] {
    try await waitUntilFinished()
    guard case .value(let output) = try await result(),
      let opened = try? Wire.decodeOutput(output.bytes)
    else { return [] }
    return opened.files
  }

  private func noOutput(_ why: String) -> ClusterError {
    ClusterError(.noOutput, "'\(self)' has no output: \(why)", operations: id.map { [$0] } ?? [])
  }

  /// The results of the blocks of a block operation, by position (S123); empty before its end.
  public func blockResults() async throws(ClusterError) -> [BlockResult] {
    guard let bytes = try await row()?.result?.output, !bytes.isEmpty else { return [] }
    do throws(WireError) {
      return try Wire.decodeBlockResults(bytes)
    } catch {
      throw ClusterError(.wrongType, "'\(self)' left no block results: \(error)")
    }
  }

  /// All data of the cluster about it: attempts, times, worker, obstacles (S39).
  public func details() async throws(ClusterError) -> OperationRow? { try await row() }

  /// Explains its state in sentences, the most decisive first.
  public func explanation() async throws(ClusterError) -> [String] {
    guard let (cluster, id) = place, let row = try await row() else { return [] }
    var selection = Selection.graph(id.graph)
    selection.operation = row.name
    if let index = row.index { selection.elements = [IndexRun(first: index, count: 1)] }
    guard case .explanations(let all, more: _) = try await cluster.request(.explain(selection))
    else { return [] }
    return (all.first { $0.operation == id }?.lines ?? []).map(\.forPrograms)
  }

  private func row() async throws(ClusterError) -> OperationRow? {
    guard let (cluster, id) = place else { return nil }
    return try await cluster.row(of: id)
  }
}

extension StoredFile {
  fileprivate var shownPath: String { path.isEmpty ? name : "\(name)/\(path)" }
}

extension OperationCluster {
  /// A file in a store: fetched once, when somebody asks for its bytes.
  func file(_ content: StoredContent) -> OperationFile {
    OperationFile { [self] in
      let data = try await backend.data(of: content)
      return (backend.path(of: content) ?? "", data)
    }
  }

  func row(of id: OperationID) async throws(ClusterError) -> OperationRow? {
    try await awaited { done in row(of: id, done) }
  }

  /// Asks for the row of an operation. It describes the end of a turn: `done` is called between the
  /// events up to then and the later ones.
  func row(
    of id: OperationID, _ done: @escaping @Sendable (Result<OperationRow?, ClusterError>) -> Void
  ) {
    let before = id.index == 0 ? nil : OperationID(graph: id.graph, index: id.index - 1)
    backend.send(.operations(.graph(id.graph), after: before, limit: 1)) { result in
      done(
        result.refused.flatMap { reply in
          guard case .operations(let rows, more: _) = reply else {
            return .failure(.unexpected(reply))
          }
          return .success(rows.first { $0.id == id })
        })
    }
  }

}

extension OperationResult {
  init(_ row: OperationRow) {
    guard let outcome = row.outcome else {
      self = .pending
      return
    }
    let output = row.result?.output ?? []
    switch outcome {
    case .succeeded: self = output.isEmpty ? .void : .value(OperationOutput(bytes: output))
    case .cancelled, .skipped: self = .cancelled(row.reason)
    case .lost: self = .lost
    case .failed, .timedOut:
      self = .failed(
        OperationFailure(
          cause: row.result?.cause ?? .failed, message: row.result?.diagnostic ?? "",
          exitStatus: row.result?.exitStatus ?? 0, signal: row.result?.signal ?? 0))
    }
  }
}
