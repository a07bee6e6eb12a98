// What a programmer writes to add an operation type to a worker (S125, S128). Code does not travel
// (S124): the name and the argument do.

public import OpClusterModel

/// A type of operation that runs inside the worker's process. Made anew for each attempt, on any
/// thread; runs on Swift's own threads, so it may wait but should not block one for long.
public protocol RegisteredOperation: Sendable {
  /// The name that submissions use, such as `image.denoise`.
  static var typeName: String { get }
  /// Other versions of the same name are other types. Default: 1.
  static var version: UInt32 { get }
  /// Decodes the argument. What it throws becomes `badArgument`, which is never retried (S129).
  init(argument: [UInt8]) throws
  /// Does the work and returns the output, at most `Limits.outputBytes`. What it throws becomes
  /// `failed`. When it is asked to stop, its task is cancelled and `context.isCancelled` turns
  /// true; whether it heeds that is its own affair (S87).
  func run(_ context: OperationContext) async throws -> [UInt8]
}

extension RegisteredOperation {
  public static var version: UInt32 { 1 }
}

/// A type that never waits and takes microseconds: it runs on the worker's own thread, in the turn
/// that chose it, and costs no task. Anything slower holds up everything else.
public protocol InlineOperation: Sendable {
  static var typeName: String { get }
  static var version: UInt32 { get }
  /// Does the work and returns the output. A thrown error becomes `failed`, a `BadArgument`
  /// becomes `badArgument`.
  static func run(argument: [UInt8], inputs: [DependencyInput]) throws -> [UInt8]
}

extension InlineOperation {
  public static var version: UInt32 { 1 }
}

/// The argument of an operation is not what its type expects (S129).
public struct BadArgument: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong and what would be right.
  public var description: String
  public init(_ description: String) { self.description = description }
}
