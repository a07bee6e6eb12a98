// Converts requests that steer operations, and their targets, ⇄ their messages.
// Requests split into groups so that no switch grows without bounds: `ClientRequestCodec.swift`
// begins, then comes this file, then the reading requests. A case stands in exactly one group.

import OpClusterModel

/// Each function of a group has a default that passes on to the next. A case that none of them
/// takes ends in the last one, which lists every case.
extension ClientRequest {
  /// nil for a request of another group.
  /// The body of a request about operations one by one, or about what a target means.
  var operationBody: ProtoRequest.OneOf_Body? {
    switch self {
    case .enqueue(let operations, let queue):
      var proto = ProtoEnqueue()
      proto.operations = ProtoOperations(operations)
      proto.queue = queue
      return .enqueue(proto)
    case .addDependency(let from, let to, let policy, let allowsCycle):
      var proto = ProtoDependency(from, to, policy)
      proto.allowsCycle = allowsCycle
      return .addDependency(proto)
    case .removeDependency(let from, let to):
      // The message has a policy, and the coordinator ignores it: any one fills the field.
      return .removeDependency(ProtoDependency(from, to, .finished))
    case .addBlocks(let operation, let blocks):
      var proto = ProtoAddBlocks()
      proto.operation = operation.proto
      proto.blocks = data(blocks)
      return .addBlocks(proto)
    case .beginWait(let operation, let target):
      var proto = ProtoBeginWait()
      proto.operation = operation.proto
      proto.target = target.proto
      return .beginWait(proto)
    case .endWait(let operation): return .endWait(operation.proto)
    default: return targetBody
    }
  }

  /// Requests with a target: a selection, a list, or the dependents of one operation.
  private var targetBody: ProtoRequest.OneOf_Body? {
    switch self {
    case .cancel(let target, let reason, let grace):
      var proto = ProtoCancel()
      proto.target = target.proto
      proto.reason = clipped(reason, to: Limits.reasonBytes)
      // Absent means the operation's own grace; 0 would kill at once.
      if let grace { proto.graceNanoseconds = grace.nanoseconds }
      return .cancel(proto)
    case .setPriority(let target, let priority):
      var proto = ProtoSetPriority()
      proto.target = target.proto
      proto.priority = priority.proto
      return .setPriority(proto)
    case .hold(let target, let isHeld):
      var proto = ProtoHold()
      proto.target = target.proto
      proto.isHeld = isHeld
      return .hold(proto)
    case .setQueue(let target, let queue):
      var proto = ProtoSetQueue()
      proto.target = target.proto
      proto.queue = queue
      return .setQueue(proto)
    default: return nil
    }
  }

  /// Returns nil for a request of another group.
  /// Limits of lists are checked here; whether the operations exist, and the sender may steer them,
  /// is decided by the coordinator.
  init?(operations body: ProtoRequest.OneOf_Body) throws(WireError) {
    switch body {
    case .enqueue(let proto):
      self = .enqueue(
        try proto.operations.words(Limits.operationsPerGraph, "enqueue.operations"),
        queue: try text(proto.queue, WireLimits.queueNameBytes, "enqueue.queue"))
    case .addDependency(let proto):
      self = .addDependency(
        from: try OperationID(proto: proto.from), to: try OperationID(proto: proto.to),
        try EdgePolicy(proto: proto.policy, "add_dependency.policy"),
        allowsCycle: proto.allowsCycle)
    case .removeDependency(let proto):
      self = .removeDependency(
        from: try OperationID(proto: proto.from), to: try OperationID(proto: proto.to))
    case .addBlocks(let proto):
      self = .addBlocks(
        // Decoded to bytes alone: the coordinator never looks into blocks, the worker does.
        try OperationID(proto: proto.operation),
        try opaque(proto.blocks, Limits.payloadBytes, "add_blocks.blocks"))
    case .beginWait(let proto):
      self = .beginWait(try OperationID(proto: proto.operation), try WaitTarget(proto.target))
    case .endWait(let operation): self = .endWait(try OperationID(proto: operation))
    default: try self.init(targets: body)
    }
  }

  /// The last group of steering requests; nil leads on to the reading ones.
  private init?(targets body: ProtoRequest.OneOf_Body) throws(WireError) {
    switch body {
    case .cancel(let proto):
      self = .cancel(
        try OperationTarget(proto: proto.target),
        reason: try text(proto.reason, Limits.reasonBytes, "cancel.reason"),
        grace: proto.hasGraceNanoseconds
          ? try span(proto.graceNanoseconds, "cancel.grace") : nil)
    case .setPriority(let proto):
      self = .setPriority(
        try OperationTarget(proto: proto.target),
        try Priority(proto: proto.priority, "set_priority.priority"))
    case .hold(let proto):
      self = .hold(try OperationTarget(proto: proto.target), proto.isHeld)
    case .setQueue(let proto):
      self = .setQueue(
        try OperationTarget(proto: proto.target),
        queue: try text(proto.queue, WireLimits.queueNameBytes, "set_queue.queue"))
    default: return nil
    }
  }
}

/// The meaning is fixed when the coordinator takes the request: operations that are submitted later
/// do not belong to it.
extension OperationTarget: WireConvertible {
  var proto: ProtoOperationTarget {
    var proto = ProtoOperationTarget()
    switch self {
    case .selection(let selection): proto.selection = selection.proto
    case .operations(let operations): proto.operations = ProtoOperations(operations)
    case .dependents(let operation): proto.dependentsOf = operation.proto
    }
    return proto
  }

  init(proto: ProtoOperationTarget) throws(WireError) {
    switch proto.target {
    case .selection(let selection): self = .selection(try Selection(proto: selection))
    case .operations(let operations):
      // Named one by one, a target costs memory for each, so its limit is lower than that of a
      // graph.
      self = .operations(try operations.words(Limits.operationsPerTarget, "target.operations"))
    case .dependentsOf(let operation): self = .dependents(of: try OperationID(proto: operation))
    case nil: throw WireError("target", .missing)
    }
  }
}

/// An operation waits for others, or until a queue is empty. The coordinator needs to know it, to
/// refuse waits that cannot end (S142).
extension WaitTarget {
  fileprivate var proto: ProtoBeginWait.OneOf_Target {
    switch self {
    case .operations(let operations): .operations(ProtoOperations(operations))
    case .queue(let name): .queue(name)
    }
  }

  /// A queue is named as people name it, with its graph before it where it belongs to one.
  fileprivate init(_ proto: ProtoBeginWait.OneOf_Target?) throws(WireError) {
    switch proto {
    case .operations(let operations):
      self = .operations(
        try operations.words(Limits.operationsPerTarget, "begin_wait.operations"))
    case .queue(let name):
      self = .queue(try text(name, WireLimits.queueNameBytes, "begin_wait.queue"))
    case nil: throw WireError("begin_wait.target", .missing)
    }
  }
}

extension ProtoDependency {
  /// - Parameter from: The dependency, which finishes first.
  /// - Parameter to: The dependent.
  fileprivate init(_ from: OperationID, _ to: OperationID, _ policy: EdgePolicy) {
    self.init()
    self.from = from.proto
    self.to = to.proto
    self.policy = policy.proto
  }
}
