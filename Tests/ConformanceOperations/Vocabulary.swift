// The registered types of the conformance cases: what they do is as little as a case can see.
// Shared by the worker program, by clients and by the tests; `sink` is the path of the test's own
// socket.

import Glibc
public import OpClusterOperations
import Synchronization

/// Writes its text to the trace.
public protocol Marking: RegisteredOperation {
  var sink: String { get }
  var text: String { get }
}

extension Marking {
  public func main(_ context: OperationContext) async throws -> NoOutput {
    try leaveMark(context)
    return NoOutput()
  }

  func leaveMark(_ context: OperationContext) throws {
    try SinkConversation(sink, context).say(text)
  }
}

/// Writes its text to the trace, and nothing else.
public struct Mark: Marking {
  public static let typeName = "conformance.mark"
  public var sink: String
  public var text: String
  public init(sink: String, text: String) {
    self.sink = sink
    self.text = text
  }
}

/// Writes `name+`, waits until the test opens the gate, writes `name-`. Deaf to cancellation.
public struct Gate: RegisteredOperation {
  public static let typeName = "conformance.gate"
  public var sink: String
  public var name: String
  /// What it returns.
  public var value: Int
  public init(sink: String, name: String, value: Int = 0) {
    self.sink = sink
    self.name = name
    self.value = value
  }

  public func main(_ context: OperationContext) async throws -> Int {
    let sink = try SinkConversation(sink, context)
    try sink.say("\(name)+")
    try await sink.pass(name)
    try sink.say("\(name)-")
    return value
  }
}

/// As `Gate`, but returns as soon as it is cancelled, and then writes `name!` in place of `name-`.
public struct Poll: RegisteredOperation {
  public static let typeName = "conformance.poll"
  public var sink: String
  public var name: String
  public init(sink: String, name: String) {
    self.sink = sink
    self.name = name
  }

  public func main(_ context: OperationContext) async throws -> NoOutput {
    let sink = try SinkConversation(self.sink, context)
    try sink.say("\(name)+")
    context.onCancel { sink.giveUp() }
    do {
      try await sink.pass(name)
      try sink.say("\(name)-")
    } catch {
      guard context.isCancelled else { throw error }
      try SinkConversation(self.sink, context).say("\(name)!")
    }
    return NoOutput()
  }
}

/// Returns a value, and says nothing.
public struct Return: RegisteredOperation {
  public static let typeName = "conformance.return"
  public var value: Int
  public init(value: Int) { self.value = value }
  public func main(_ context: OperationContext) async throws -> Int { value }
}

/// What `Fail` throws.
public struct Failure: Error, CustomStringConvertible {
  public var description: String
}

/// Throws.
public struct Fail: RegisteredOperation {
  public static let typeName = "conformance.fail"
  public var message: String
  public init(message: String) { self.message = message }

  public func main(_ context: OperationContext) async throws -> NoOutput {
    throw Failure(description: message)
  }
}

/// Throws on its first runs, then writes its text.
public struct Flaky: RegisteredOperation {
  public static let typeName = "conformance.flaky"
  public var sink: String
  public var text: String
  /// How many runs throw.
  public var failures: UInt32
  public init(sink: String, text: String, failures: UInt32) {
    self.sink = sink
    self.text = text
    self.failures = failures
  }

  public func main(_ context: OperationContext) async throws -> NoOutput {
    if context.run <= failures { throw Failure(description: "run \(context.run)") }
    try SinkConversation(sink, context).say(text)
    return NoOutput()
  }
}

/// Ends its own worker process with SIGKILL on some runs. Never for a local cluster: the worker
/// process is the test itself there.
public struct Kill: RegisteredOperation {
  public static let typeName = "conformance.kill"
  public var sink: String
  /// What it writes at the beginning of every run.
  public var text: String
  /// On which runs it kills, counted from 1.
  public var runs: [UInt32]
  /// What it returns on others.
  public var value: Int
  public init(sink: String, text: String, runs: [UInt32], value: Int = 0) {
    self.sink = sink
    self.text = text
    self.runs = runs
    self.value = value
  }

  public func main(_ context: OperationContext) async throws -> Int {
    try SinkConversation(sink, context).say(text)
    if runs.contains(context.run) { kill(getpid(), SIGKILL) }
    return value
  }
}

/// Writes `name+`, returns from its start, and ends when the gate opens (S131).
public struct AsyncGate: AsynchronousOperation {
  public static let typeName = "conformance.async-gate"
  public var sink: String
  public var name: String
  public var value: Int
  public init(sink: String, name: String, value: Int = 0) {
    self.sink = sink
    self.name = name
    self.value = value
  }

  public func start(_ context: OperationContext, _ completion: CompletionToken<Int>) throws {
    let sink = try SinkConversation(sink, context)
    try sink.say("\(name)+")
    let value = value
    // The conversation lives as long as somebody waits in it.
    try sink.whenOpen(name) { [sink] error in
      withExtendedLifetime(sink) {
        if let error { completion.fail(error) } else { completion.finish(value) }
      }
    }
  }
}

/// All types of the conformance cases: what the worker program offers.
public let conformanceTypes: [any RegisteredOperation.Type] = [
  Mark.self, Gate.self, Poll.self, Return.self, Fail.self, Kill.self, AsyncGate.self, Look.self,
  Steer.self, Urgency.self, Needy.self, Flaky.self, LeaveText.self, MeasureText.self,
  LeaveFiles.self, JoinFiles.self, LeaveFilesApart.self, JoinFilesApart.self, LeaveNoFile.self,
  AppendFiles.self, AppendFilesApart.self,
  LeaveTextApart.self, MeasureTextApart.self,
]
