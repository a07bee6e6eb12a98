// The protocol for a programmer's types of operations (S125). Code does not travel between machines
// (S124): the type's name and its properties do. Used by programs that submit and by those that
// run, on any thread.

public import OpClusterModel

/// A type of operation, the counterpart of a subclass of Foundation's `Operation`.
///
/// Its stored properties are the argument, encoded as JSON; `main` is the work, and its return
/// value is the result. `Operation` leaves a result in a property; here it is returned, so that it
/// can travel to dependents:
///
///     struct TiltShift: RegisteredOperation {
///       static let typeName = "image.tilt-shift"
///       var radius = 4.0
///       @Input var image: Image? = nil    // set here, or the output of a dependency
///
///       func main(_ context: OperationContext) async throws -> Image {
///         guard let image else { throw BadArgument("there is no image") }
///         return try image.tiltShifted(radius) { context.isCancelled }
///       }
///     }
///
/// Each attempt decodes a new value from the argument. `main` runs once per attempt on one of
/// Swift's own threads; it may wait there (`await`), but code that blocks a thread for long belongs
/// into an ``AsynchronousOperation`` or a child process (``OperationIsolation/child``). It need not
/// report executing or finished: the worker does that (S132).
public protocol RegisteredOperation: Codable, Sendable {
  /// The output of `main`: at most `Limits.outputBytes` as JSON; for larger data return a
  /// reference. ``NoOutput`` if there is none.
  associatedtype Output: Codable & Sendable
  /// The name that identifies it everywhere, such as `image.tilt-shift`: 1 to 128 of `A-Z`, `a-z`,
  /// `0-9`, `.`, `_` and `-`. Keep it when the Swift type is renamed.
  static var typeName: String { get }
  /// Another version of the same name is another type, so that both can be offered. Default: 1.
  static var version: UInt32 { get }
  /// The place where it runs. Default: ``OperationIsolation/shared``.
  static var isolation: OperationIsolation { get }
  /// Does the work. A thrown error ends the attempt as failed (S16): ``BadArgument`` is never
  /// retried (S129), ``MissingInput`` reports a missing input (S138).
  ///
  /// Cancellation is a flag and a cancelled `Task`, as with `Operation`: `main` may ignore both
  /// (S87), and it keeps its slot until it returns (S92).
  func main(_ context: OperationContext) async throws -> Output
}

extension RegisteredOperation {
  public static var version: UInt32 { 1 }
  public static var isolation: OperationIsolation { .shared }
  /// Its name, its version, and the shape of its argument and output: requested by submissions and
  /// offered by workers.
  public static var operationType: OperationType { KnownTypes.type(of: Self.self) }
}

/// The place where operations of a type run.
public enum OperationIsolation: Hashable, Sendable {
  /// In the worker's own process. An operation that ignores its cancellation keeps its slot until
  /// it returns (S92).
  case shared
  /// In a child process of the worker, which is reused for the type. An operation that ignores its
  /// cancellation is killed after the grace (forced, S92), and its crash affects no other.
  case child
}

/// The output of an operation that leaves nothing: Foundation's `Void` result (S126). Costs nothing
/// to send.
public struct NoOutput: Codable, Hashable, Sendable {
  public init() {}
}
