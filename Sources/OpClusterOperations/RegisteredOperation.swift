// What a programmer writes: a type of operation (S125). Code does not travel between machines
// (S124): the type's name and its properties do. Used by programs that submit and by those that
// run, on any thread.

public import OpClusterModel

/// A type of operation, the counterpart of a subclass of Foundation's `Operation`.
///
/// Its stored properties are the argument, encoded as JSON; `main` is the work, and what it returns
/// is the result. Where `Operation` leaves a result in a property, here it is returned, so that it
/// can travel to the operations that depend on this one:
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
/// A value is made anew from the argument for each attempt. `main` runs once per attempt on one of
/// Swift's own threads; it may wait there (`await`), but what blocks a thread for long belongs into
/// an ``AsynchronousOperation`` or a child process (``OperationIsolation/child``). Nothing has to
/// be said about executing or finished: the worker does all of that (S132).
public protocol RegisteredOperation: Codable, Sendable {
  /// What `main` leaves: at most `Limits.outputBytes` as JSON; larger data is left elsewhere, and a
  /// reference to it returned. ``NoOutput`` if there is nothing to say.
  associatedtype Output: Codable & Sendable
  /// The name by which it is known everywhere, such as `image.tilt-shift`: 1 to 128 of `A-Z`,
  /// `a-z`, `0-9`, `.`, `_` and `-`. Keep it when the Swift type is renamed.
  static var typeName: String { get }
  /// Another version of the same name is another type, so that both can be on offer. Default: 1.
  static var version: UInt32 { get }
  /// Where it runs. Default: ``OperationIsolation/shared``.
  static var isolation: OperationIsolation { get }
  /// Does the work. What it throws ends the attempt as failed (S16): ``BadArgument`` as one that is
  /// never retried (S129), ``MissingInput`` as one without its input (S138).
  ///
  /// Cancellation is a flag and a cancelled `Task`, as with `Operation`: whether `main` heeds
  /// either is its own affair (S87), and until it returns it keeps its slot (S92).
  func main(_ context: OperationContext) async throws -> Output
}

extension RegisteredOperation {
  public static var version: UInt32 { 1 }
  public static var isolation: OperationIsolation { .shared }
  /// Its name, its version, and what its argument and its output look like: what a submission asks
  /// for and what a worker offers.
  public static var operationType: OperationType { KnownTypes.type(of: Self.self) }
}

/// Where operations of a type run.
public enum OperationIsolation: Hashable, Sendable {
  /// In the worker's own process. One that does not heed its cancellation keeps its slot until it
  /// returns (S92).
  case shared
  /// In a child process of the worker, which is used again by others of the type. One that does not
  /// heed its cancellation is killed after the grace (forced, S92), and a crash is its own only.
  case child
}

/// The output of an operation that leaves nothing: Foundation's `Void` result (S126). Costs nothing
/// to send.
public struct NoOutput: Codable, Hashable, Sendable {
  public init() {}
}
