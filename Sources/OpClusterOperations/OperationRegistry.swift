// The operation types that a program has: what it offers, and how one of them is run. Made before
// anything runs and not changed afterwards; the closures of local queues alone come and go.

public import OpClusterModel

/// The operation types of one program. `noop` and `sleep` are always among them (S128).
public struct OperationRegistry: Sendable {
  /// What runs the closures of local queues (S124): it never leaves the process and is on no list.
  public static let closureType = OperationType(name: "closure")

  /// Decodes the argument, does the work, encodes the output.
  typealias Work = @Sendable ([UInt8], OperationContext) async throws -> [UInt8]

  private struct Name: Hashable {
    var name: String
    var version: UInt32
  }
  private struct Entry: Sendable {
    var type: OperationType
    var isolation: OperationIsolation
    /// nil: there is nothing to do (`noop`).
    var work: Work?
  }

  private var entries: [Name: Entry] = [:]
  let closures = ClosureTable()
  /// What is offered, in the order in which it was added.
  public private(set) var types: [OperationType] = []

  public init() {
    insert(Entry(type: OperationType(name: "noop"), isolation: .shared, work: nil))
    add(SleepOperation.self)
  }

  /// Adds a type; one of the same name and version takes the place of the earlier one.
  ///
  /// A name that is not 1 to 128 of `A-Z a-z 0-9 . _ -`, or is `closure`, is a programmer's error.
  public mutating func add<Operation: RegisteredOperation>(_ type: Operation.Type) {
    precondition(
      Self.isFitting(Operation.typeName),
      "the type name '\(Operation.typeName)' of \(TypeName.of(type)) is not 1 to 128 of A-Z a-z 0-9 "
        + ". _ -, or is the reserved 'closure'; give it another")
    insert(
      Entry(type: Operation.operationType, isolation: Operation.isolation) { argument, context in
        let operation = try OperationArgument.decode(type, from: argument, for: context)
        return try OutputValue.encode(await operation.main(context))
      })
  }

  private mutating func insert(_ entry: Entry) {
    let name = Name(name: entry.type.name, version: entry.type.version)
    if entries.updateValue(entry, forKey: name) == nil {
      types.append(entry.type)
    } else if let at = types.firstIndex(where: {
      $0.name == entry.type.name && $0.version == entry.type.version
    }) {
      types[at] = entry.type
    }
  }

  static func isFitting(_ name: String) -> Bool {
    (1...Limits.nameBytes).contains(name.utf8.count) && name != closureType.name
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

  /// Where operations of a type run; nil for one that is not here.
  public func isolation(of type: OperationType) -> OperationIsolation? {
    type == Self.closureType ? .shared : entry(type)?.isolation
  }

  private func entry(_ type: OperationType) -> Entry? {
    guard let entry = entries[Name(name: type.name, version: type.version)],
      type.isServed(by: entry.type)
    else { return nil }
    return entry
  }

  // MARK: - Closures of local queues

  /// Keeps a closure for one start of ``closureType`` with its number as the argument
  /// (`OperationArgument.encode(number)`). Copies of the registry share their closures.
  /// - Parameter isRepeatable: it may be started again (a retry) until it is removed.
  public func add<Output: Encodable & Sendable>(
    isRepeatable: Bool = false,
    closure: @escaping @Sendable (OperationContext) async throws -> Output
  ) -> UInt64 {
    closures.add(isRepeatable: isRepeatable) { _, context in
      try OutputValue.encode(await closure(context))
    }
  }

  /// Lets go of a closure that will not be started (again).
  public func remove(closure number: UInt64) { closures.remove(number) }

  // MARK: - Running

  /// Starts an attempt.
  ///
  /// No code of the operation runs on the calling thread: decoding its argument, its work and the
  /// removal of its folder are a task of their own.
  /// - Parameters:
  ///   - argument: the operation as JSON; empty stands for an object without keys.
  ///   - context: made only if the type needs one; `noop` does not.
  ///   - qos: sets the priority of its task (S55).
  ///   - onEnd: called exactly once, on any thread, if `running` was returned; perhaps before that.
  /// - Returns: `ended` for what ends at once: `noop`, a type that is not here (S128), a closure
  ///   that has been started before.
  public func start(
    _ type: OperationType, argument: [UInt8], context: @autoclosure () -> OperationContext,
    qos: QualityOfService, onEnd: @escaping @Sendable (AttemptResult) -> Void
  ) -> StartedAttempt {
    switch work(type, argument: argument) {
    case .failure(let reason): return .ended(reason.result)
    case .success(nil): return .ended(.success)
    case .success(let work?):
      return .running(RunningAttempt(context(), qos: qos, argument: argument, work, onEnd))
    }
  }

  /// Why an attempt ends without having begun.
  struct Reason: Error { var result: AttemptResult }

  /// What does the work of a type; nil: there is nothing to do.
  func work(_ type: OperationType, argument: [UInt8]) -> Result<Work?, Reason> {
    if type == Self.closureType {
      if let closure = closures.take(argument) { return .success(closure) }
      return .failure(
        Reason(
          result: AttemptResult(
            .badArgument, "there is no such closure here; each is started once (S120)")))
    }
    guard let entry = entry(type) else { return .failure(Reason(result: unknown(type))) }
    return .success(entry.work)
  }

  /// Why a type cannot be run, for people.
  private func unknown(_ type: OperationType) -> AttemptResult {
    let others = types.filter { $0.name == type.name }.map { String($0.version) }
    let reason =
      if others.isEmpty {
        "there is no operation type '\(type.name)' here; register it with the worker"
      } else if others.contains(String(type.version)) {
        "'\(type.name)' version \(type.version) has another argument or output here; build those who "
          + "submit and those who run from the same source, or give it another version"
      } else {
        "'\(type.name)' is here in version \(others.joined(separator: ", ")), not \(type.version)"
      }
    return AttemptResult(.unknownType, reason)
  }
}
