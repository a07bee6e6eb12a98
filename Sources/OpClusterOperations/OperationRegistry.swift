// The operation types of a program: registers them and runs attempts. Made before anything runs and
// not changed afterwards, except for the closures of local queues.

public import OpClusterModel

/// The operation types of one program. `noop` and `sleep` are always among them (S128).
public struct OperationRegistry: Sendable {
  /// The type that runs the closures of local queues (S124): never sent elsewhere, and in no list.
  public static let closureType = OperationType(name: "closure")

  /// Does nothing and leaves nothing: measures the costs of running an operation (S4).
  private static let noop = OperationType(name: "noop")

  /// Decodes the argument, does the work, encodes the output.
  typealias Work = @Sendable ([UInt8], OperationContext) async throws -> [UInt8]

  private struct Name: Hashable {
    var name: String
    var version: UInt32
  }
  private struct Entry: Sendable {
    var type: OperationType
    var isolation: OperationIsolation
    /// nil: nothing to run (`noop`).
    var work: Work?
  }

  private var entries: [Name: Entry] = [:]
  private let closures = ClosureTable()
  /// The offered types, in the order of their addition.
  public private(set) var types: [OperationType] = []
  /// Whether any type needs a process of its own.
  public private(set) var hasIsolated = false

  public init() {
    insert(Entry(type: Self.noop, isolation: .shared, work: nil))
    add(SleepOperation.self)
  }

  /// Adds a type; it replaces an earlier one with the same name and version.
  ///
  /// A name that is not 1 to 128 of `A-Z a-z 0-9 . _ -`, or is `closure`, `noop` or `python`, is a
  /// programming error.
  public mutating func add<Operation: RegisteredOperation>(_ type: Operation.Type) {
    precondition(
      Self.isFitting(Operation.typeName),
      "the type name '\(Operation.typeName)' of \(TypeName.of(type)) is not 1 to 128 of A-Z a-z "
        + "0-9 . _ -, or is the reserved 'closure', 'noop' or 'python'; give it another")
    insert(
      Entry(type: Operation.operationType, isolation: Operation.isolation) { argument, context in
        let operation = try OperationArgument.decode(type, from: argument, for: context)
        return try await OutputValue.encode(operation.main(context), leftBy: context)
      })
  }

  private mutating func insert(_ entry: Entry) {
    let name = Name(name: entry.type.name, version: entry.type.version)
    if entry.isolation == .child { hasIsolated = true }
    if entries.updateValue(entry, forKey: name) == nil {
      types.append(entry.type)
    } else if let at = types.firstIndex(where: {
      $0.name == entry.type.name && $0.version == entry.type.version
    }) {
      types[at] = entry.type
    }
  }

  static func isFitting(_ name: String) -> Bool {
    (1...Limits.nameBytes).contains(name.utf8.count)
      && ![closureType.name, noop.name, OperationType.python.name].contains(name)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// Where operations of a type run; nil for an unknown type.
  public func isolation(of type: OperationType) -> OperationIsolation? {
    // No look-up for the cheapest types.
    if type == Self.noop || type == Self.closureType { return .shared }
    return entry(type)?.isolation
  }

  private func entry(_ type: OperationType) -> Entry? {
    guard let entry = entries[Name(name: type.name, version: type.version)],
      type.isServed(by: entry.type)
    else { return nil }
    return entry
  }

  // MARK: - Closures of local queues

  /// Keeps a closure until it is removed. Operations of ``closureType`` run it, with its number in
  /// decimal digits as their argument. Copies of the registry share their closures.
  public func add<Output: Encodable & Sendable>(
    closure: @escaping @Sendable (OperationContext) async throws -> Output
  ) -> UInt64 {
    add(encodingClosure: { try await OutputValue.encode(closure($0), leftBy: $0) })
  }

  /// Keeps a closure that encodes its output itself (`OutputValue.encode`).
  public func add(
    encodingClosure closure: @escaping @Sendable (OperationContext) async throws -> [UInt8]
  ) -> UInt64 {
    closures.add { _, context in try await closure(context) }
  }

  /// Releases closures that will not be started (again).
  public func remove(closures numbers: [UInt64]) { closures.remove(numbers) }

  // MARK: - Running

  /// Starts an attempt.
  ///
  /// None of the operation's code runs on the calling thread: decoding its argument, its work and
  /// the removal of its folder run in a separate task.
  /// - Parameters:
  ///   - argument: The operation as JSON; empty stands for an object without keys.
  ///   - context: Made only if the type needs one; `noop` does not.
  ///   - qos: Sets the priority of its task (S55).
  ///   - onEnd: Called exactly once, on any thread, if `running` was returned; possibly before
  ///     that.
  /// - Returns: `ended` for an attempt that ends at once: `noop`, an unknown type (S128), or a
  ///   removed closure.
  public func start(
    _ type: OperationType, argument: [UInt8], context: @autoclosure () -> OperationContext,
    qos: QualityOfService,
    onEnd: @escaping @Sendable (AttemptResult, OperationContext) -> Void
  ) -> StartedAttempt {
    if type == Self.noop { return .ended(.success) }
    switch work(of: type, argument) {
    case .none(let result): return .ended(result)
    case .some(let work):
      return .running(RunningAttempt(context(), qos: qos, argument, work, onEnd))
    }
  }

  /// Runs an attempt to its end in the caller's task, for callers that run one operation after the
  /// other and do not want a task for each. Cancel it with `OperationContext.deliverCancellation`
  /// and by cancelling that task.
  ///
  /// A success without an output has no times: it is `AttemptResult.success`, which needs no memory
  /// to keep.
  public func run(
    _ type: OperationType, argument: [UInt8], context: OperationContext
  ) async -> AttemptResult {
    switch work(of: type, argument) {
    case .none(let result): return result
    case .some(let work):
      let result = await RunningAttempt.run(work, argument, context)
      return result.isSuccess && result.output.isEmpty ? .success : result
    }
  }

  /// The work of an attempt.
  private enum Found {
    case some(Work)
    /// No work; the attempt ends with this result.
    case none(AttemptResult)
  }

  private func work(of type: OperationType, _ argument: [UInt8]) -> Found {
    if type == Self.closureType {
      if let closure = closures.closure(argument) { return .some(closure) }
      return .none(
        AttemptResult(.badArgument, "there is no such closure here (any more); add it anew"))
    }
    guard let entry = entry(type) else { return .none(unknown(type)) }
    return entry.work.map { .some($0) } ?? .none(.success)
  }

  /// The reason why a type cannot be run, for people.
  private func unknown(_ type: OperationType) -> AttemptResult {
    let others = types.filter { $0.name == type.name }.map { String($0.version) }
    let reason =
      if others.isEmpty {
        "there is no operation type '\(type.name)' here; register it with the worker"
      } else if others.contains(String(type.version)) {
        "'\(type.name)' version \(type.version) has another argument or output here; build those "
          + "who submit and those who run from the same source, or give it another version"
      } else {
        "'\(type.name)' is here in version \(others.joined(separator: ", ")), not \(type.version)"
      }
    return AttemptResult(.unknownType, reason)
  }
}
