// The work of an operation: nothing (a join point), a process, a value of a registered type,
// blocks, or a closure. Made by ClusterOperation's initialisers, converted to a template by
// GraphBuilder.

import OpClusterLocal
import OpClusterModel
public import OpClusterOperations
import OpClusterWire

/// A closure that runs as an operation; local clusters only (S124).
public typealias OperationClosure = @Sendable (OperationContext) async throws -> Void

/// A closure without a context that runs as an operation; local clusters only (S124).
public typealias PlainClosure = @Sendable () async throws -> Void

/// The closure of an operation.
enum ClosureWork: Sendable {
  case plain(OperationClosure)
  /// Returns an encoded value.
  case returning(@Sendable (OperationContext) async throws -> [UInt8])

  var encoding: @Sendable (OperationContext) async throws -> [UInt8] {
    switch self {
    case .plain(let body):
      { context in
        try await body(context)
        return []
      }
    case .returning(let body): body
    }
  }
}

/// One kind of work, with everything needed to run it.
enum OperationWork: Sendable {
  case nothing
  case command(CommandSpecification)
  case call(Invocation)
  case blocks([OperationBlockWork])
  case closure(ClosureWork)
  /// Closures that have run and were released.
  case spent

  /// An encoded value of a registered type, and the registration of the type with a local cluster.
  struct Invocation: Sendable {
    var type: OperationType
    var argument: Result<[UInt8], ClusterError>
    var isAsynchronous: Bool
    var register: @Sendable (LocalCluster) -> Void
  }

  /// The part that is kept after the operation has finished.
  var remains: OperationWork {
    switch self {
    // Released, since closures may hold the operation itself.
    case .closure: .spent
    case .blocks(let blocks): blocks.allSatisfy(\.isPortable) ? self : .spent
    case .nothing, .command, .call, .spent: self
    }
  }

  /// The name for people if the operation has none.
  var defaultName: String {
    switch self {
    case .nothing: "operation"
    case .command(let command): command.shortName
    case .call(let invocation): invocation.type.name
    case .blocks: "blocks"
    case .closure, .spent: "block operation"
    }
  }

  /// Whether it can leave this process.
  var isPortable: Bool {
    switch self {
    case .nothing, .command, .call: true
    case .blocks(let blocks): blocks.allSatisfy(\.isPortable)
    case .closure, .spent: false
    }
  }
}

/// One block of a block operation.
enum OperationBlockWork: Sendable {
  case command(CommandSpecification)
  case call(OperationWork.Invocation)
  case closure(OperationClosure)

  var isPortable: Bool {
    if case .closure = self { false } else { true }
  }

  /// The block for a worker; closures become numbers that `local` knows.
  func lowered(
    for local: LocalCluster?, of name: String
  ) throws(ClusterError) -> OperationBlock {
    switch self {
    case .command(let command): return .command(try command.checked())
    case .call(let invocation):
      if let local { invocation.register(local) }
      return .call(invocation.type, argument: try invocation.argument.get())
    case .closure(let body):
      guard let local else { throw .localOnly(name) }
      let number = local.register(closure: ClosureWork.plain(body).encoding)
      return .call(OperationRegistry.closureType, argument: ClosureNumber.argument(number))
    }
  }
}

extension CommandSpecification {
  /// Checks before the submission that workers will run the command (G38).
  func checked() throws(ClusterError) -> CommandSpecification {
    guard let objection = objectionToEnvironment else { return self }
    throw ClusterError(.badRequest, objection.message, hint: objection.hint)
  }
}

/// The encoding of a closure's number as an argument.
enum ClosureNumber {
  /// Decimal digits.
  static func argument(_ number: UInt64) -> [UInt8] {
    var digits = 1
    var rest = number / 10
    while rest > 0 {
      digits += 1
      rest /= 10
    }
    var argument = [UInt8](repeating: 0, count: digits)
    rest = number
    for at in argument.indices.reversed() {
      argument[at] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    return argument
  }
}

extension ClusterError {
  static func localOnly(_ name: String) -> ClusterError {
    ClusterError(
      .localOnly, "'\(name)' is made of a closure, which cannot run in another process",
      hint: "make it a RegisteredOperation and give its type to a worker, or use a local cluster")
  }

  static func spent(_ name: String) -> ClusterError {
    ClusterError(
      .alreadyFinished,
      "'\(name)' has no closure any more: it is a clone of an operation that had finished",
      hint: "make a clone() before you add the first one, or give the closure again")
  }
}

extension OperationWork.Invocation {
  init<Body: RegisteredOperation>(_ body: Body) {
    type = Body.operationType
    isAsynchronous = body is any AsynchronousOperation
    register = { $0.register(Body.self) }
    do {
      argument = .success(try OperationArgument.encode(body))
    } catch {
      argument = .failure(
        ClusterError(.badRequest, "the value of \(Body.typeName) cannot be encoded: \(error)"))
    }
  }
}

extension CommandSpecification {
  /// The program's file name, or the first word of the shell text.
  fileprivate var shortName: String {
    let first: String
    switch form {
    case .arguments(let arguments): first = arguments.first?.literalText ?? "command"
    case .shell(_, let text):
      first = text.literalText.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? "sh"
    }
    return first.split(separator: "/").last.map(String.init) ?? "command"
  }
}

extension CommandText {
  fileprivate var literalText: String {
    segments.reduce(into: "") { if case .literal(let text) = $1 { $0 += text } }
  }
}
