// Converts dispatches ⇄ columns. A plain dispatch costs an index and a position; arguments, inputs
// and local dependencies are sparse.
// One message may hand a worker 65,536 operations of one array: they differ in their index and
// little else. Template, priority, queue and service are runs for that reason.

import OpClusterModel

extension ProtoDispatches {
  /// - Parameter dispatches: In the order of sending, which is not the order of starting: that
  /// follows from queue, priority and place (S47).
  init(_ dispatches: [Dispatch]) {
    self.init()
    var attempts = AttemptColumns(capacity: dispatches.count)
    var templates = ValueRuns<UInt32>()
    var priorities = ValueRuns<Priority>()
    var queues = ValueRuns<UInt32>()
    var services = ValueRuns<QualityOfService>()
    var places: [Int64] = []
    places.reserveCapacity(dispatches.count)
    var runsAreFirst = true
    // Places of neighbours in line are neighbours too, so the differences are small.
    var last: UInt64 = 0
    var sparse = SparseParts()
    for at in dispatches.indices {
      let dispatch = dispatches[at]
      attempts.append(dispatch.attempt)
      templates.append(dispatch.template)
      priorities.append(dispatch.priority)
      queues.append(dispatch.queue.number)
      services.append(dispatch.service)
      runsAreFirst = runsAreFirst && dispatch.run == 1
      places.append(Int64(bitPattern: dispatch.place &- last))
      last = dispatch.place
      sparse.append(dispatch, at: at)
    }
    self.attempts = attempts.finish()
    template = templates.values
    templateCount = templates.counts
    // The three comparisons with one value leave out the columns of a usual message. An empty
    // message has no runs and gets none.
    if priorities.values != [.normal] {
      priority = priorities.values.map(\.proto)
      priorityCount = priorities.counts
    }
    if queues.values != [QueueID.main.number] {
      queue = queues.values
      queueCount = queues.counts
    }
    if services.values != [.default] {
      service = services.values.map(\.proto)
      serviceCount = services.counts
    }
    placeDelta = omitted(places, ifAll: 0)
    // Separate from the loop, since nearly every dispatch is a first run, and then no column is
    // built.
    if !runsAreFirst { run = dispatches.map(\.run) }
    sparse.finish(into: &self)
  }

  /// Throws before the first dispatch is made if a dense column has another length. Whether a
  /// template was announced is for the worker to check.
  func words(_ limit: Int) throws(WireError) -> [Dispatch] {
    let attempts = try attempts.words(limit, "dispatches.attempts")
    let count = attempts.count
    let templates = try expanded(template, templateCount, total: count, "dispatches.template")
    // Both columns must be absent for the default: counts without values are a mistake of the
    // sender.
    let levels =
      priority.isEmpty && priorityCount.isEmpty
      ? []
      : try expanded(
        try Priority.column(priority, "dispatches.priority"), priorityCount, total: count,
        "dispatches.priority")
    let priorities = try Column(levels, count: count, else: .normal, "dispatches.priority")
    let lines =
      queue.isEmpty && queueCount.isEmpty
      // Queue 0 is the main queue, and a coordinator that has no others leaves the columns out.
      ? [] : try expanded(queue, queueCount, total: count, "dispatches.queue")
    let queues = try Column(lines, count: count, else: QueueID.main.number, "dispatches.queue")
    let services = try Column(
      try serviceWords(count), count: count, else: .default, "dispatches.service")
    let places = try Column(placeDelta, count: count, else: 0, "dispatches.place_delta")
    let runs = try Column(run, count: count, else: 1, "dispatches.run")
    var place: UInt64 = 0
    var dispatches: [Dispatch] = []
    dispatches.reserveCapacity(count)
    for at in 0..<count {
      place &+= UInt64(bitPattern: places[at])
      var dispatch = Dispatch(
        attempt: attempts[at], template: templates[at], priority: priorities[at], place: place)
      dispatch.run = runs[at]
      dispatch.queue = QueueID(queues[at])
      dispatch.service = services[at]
      dispatches.append(dispatch)
    }
    // Sparse parts last: their positions point into the dispatches that exist now.
    try readArguments(into: &dispatches)
    try readInputs(into: &dispatches)
    try readAwaits(into: &dispatches)
    try readQueueNames(into: &dispatches)
    return dispatches
  }

  /// Returns an empty column, which means the default service everywhere, if both columns are
  /// absent.
  private func serviceWords(_ count: Int) throws(WireError) -> [QualityOfService] {
    if service.isEmpty, serviceCount.isEmpty { return [] }
    return try expanded(
      try QualityOfService.column(service, "dispatches.service"), serviceCount, total: count,
      "dispatches.service")
  }

  /// The limit is that of a payload: blocks that were added later may be longer than an element's
  /// own argument.
  /// An argument is opaque here; `ElementValues` or `Blocks` reads it at the worker.
  private func readArguments(into dispatches: inout [Dispatch]) throws(WireError) {
    let arguments = argument
    let positions = try SparsePositions.read(
      argumentAt, below: dispatches.count, entries: arguments.count, "dispatches.argument")
    for (at, argument) in zip(positions, arguments) {
      dispatches[at].argument = try opaque(
        argument, Limits.payloadBytes, "dispatches.argument")
    }
  }

  /// Inputs of all dispatches stand in one list. The counts must use it up exactly, so that no
  /// dispatch gets another's inputs.
  private func readInputs(into dispatches: inout [Dispatch]) throws(WireError) {
    let all = try inputs.words()
    let counts = inputCount
    let positions = try SparsePositions.read(
      inputAt, below: dispatches.count, entries: counts.count, "dispatches.input_at")
    try checkRuns(positions.count, counts, total: all.count, "dispatches.input_count")
    var next = 0
    for (at, count) in zip(positions, counts) {
      dispatches[at].inputs = Array(all[next..<(next + Int(count))])
      next += Int(count)
    }
  }

  /// Laid out as inputs are. Few operations wait for one of their own worker, mostly the next stage
  /// of a pipeline (S151).
  private func readAwaits(into dispatches: inout [Dispatch]) throws(WireError) {
    let operations = try awaits.words(Limits.operationsPerGraph, "dispatches.awaits")
    let policies = try EdgePolicy.column(awaitPolicy, "dispatches.await_policy")
    try checkEqual(policies.count, operations.count, "dispatches.await_policy")
    let counts = awaitCount
    let positions = try SparsePositions.read(
      awaitAt, below: dispatches.count, entries: counts.count, "dispatches.await_at")
    try checkRuns(positions.count, counts, total: operations.count, "dispatches.await_count")
    var next = 0
    for (at, count) in zip(positions, counts) {
      dispatches[at].awaits = (next..<(next + Int(count))).map { entry in
        LocalDependency(operation: operations[entry], policy: policies[entry])
      }
      next += Int(count)
    }
  }
}

extension ProtoDispatches {
  /// A name counts only where an operation is not in its template's queue any more.
  private func readQueueNames(into dispatches: inout [Dispatch]) throws(WireError) {
    let field = "dispatches.queue_name"
    let positions = try SparsePositions.read(
      queueNameAt, below: dispatches.count, entries: queueName.count, field)
    let names = try NameReader(
      queueNames, queueName, count: positions.count, bytes: WireLimits.queueNameBytes, field)
    for (entry, at) in positions.enumerated() { dispatches[at].queueName = try names.name(entry) }
  }
}

/// Collects arguments, inputs, awaits and queue names of the dispatches that have any.
/// The writers of the `…At` columns. A dispatch that has nothing costs four comparisons and no
/// byte.
private struct SparseParts {
  var argumentAt = SparsePositions()
  var arguments: [[UInt8]] = []
  var inputAt = SparsePositions()
  var inputCounts: [UInt32] = []
  var inputs: [DependencyInput] = []
  var awaitAt = SparsePositions()
  var awaitCounts: [UInt32] = []
  var awaits: [LocalDependency] = []
  var queueNameAt = SparsePositions()
  var queueNames = NameTable()

  /// - Parameter position: Among all dispatches of the message, ascending.
  mutating func append(_ dispatch: Dispatch, at position: Int) {
    if !dispatch.argument.isEmpty {
      argumentAt.append(position)
      arguments.append(dispatch.argument)
    }
    if !dispatch.inputs.isEmpty {
      inputAt.append(position)
      inputCounts.append(UInt32(truncatingIfNeeded: dispatch.inputs.count))
      inputs.append(contentsOf: dispatch.inputs)
    }
    if !dispatch.awaits.isEmpty {
      awaitAt.append(position)
      awaitCounts.append(UInt32(truncatingIfNeeded: dispatch.awaits.count))
      awaits.append(contentsOf: dispatch.awaits)
    }
    if let name = dispatch.queueName {
      queueNameAt.append(position)
      queueNames.append(name)
    }
  }

  /// Writes empty columns for what no dispatch has: protobuf sends nothing for them.
  func finish(into proto: inout ProtoDispatches) {
    proto.argumentAt = argumentAt.differences
    proto.argument = arguments.map { data($0) }
    if !inputs.isEmpty {
      proto.inputAt = inputAt.differences
      proto.inputCount = inputCounts
      proto.inputs = ProtoDependencyInputs(inputs)
    }
    if !awaits.isEmpty {
      proto.awaitAt = awaitAt.differences
      proto.awaitCount = awaitCounts
      proto.awaits = ProtoOperations(awaits.map(\.operation))
      proto.awaitPolicy = awaits.map(\.policy.proto)
    }
    proto.queueNames = queueNames.names
    proto.queueNameAt = queueNameAt.differences
    proto.queueName = queueNames.positions
  }
}

/// An input is what a dependent may know of one direct dependency, also of one that left no output
/// (S139).
extension ProtoDependencyInputs {
  /// - Parameter inputs: Grouped by dispatch, in the order in which the dependencies were added
  /// (S135).
  init(_ inputs: [DependencyInput]) {
    self.init()
    var table = NameTable()
    var positions = SparsePositions()
    for (at, input) in inputs.enumerated() {
      table.append(input.name)
      if let given = input.output {
        positions.append(at)
        output.append(data(given))
      }
    }
    operations = ProtoOperations(inputs.map(\.operation))
    names = table.names
    name = omitted(table.positions, ifAll: 0)
    // 0 must mean "a plain operation", so indices are sent one higher; 64 bits hold the highest one
    // plus 1.
    indexPlusOne = omitted(inputs.map { $0.index.map { UInt64($0) + 1 } ?? 0 }, ifAll: 0)
    outcome = omitted(inputs.map(\.outcome.proto), ifAll: .succeeded)
    outputAt = positions.differences
  }

  /// Throws `outOfRange` for an index that does not fit 32 bits after the 1 is taken off.
  func words() throws(WireError) -> [DependencyInput] {
    let field = "inputs"
    let operations = try operations.words(Limits.operationsPerGraph, field)
    let count = operations.count
    let names = try NameReader(names, name, count: count, "inputs.name")
    let indices = try Column(indexPlusOne, count: count, else: 0, "inputs.index_plus_one")
    let outcomes = try Column(outcome, count: count, else: .succeeded, "inputs.outcome")
    var inputs: [DependencyInput] = []
    inputs.reserveCapacity(count)
    for at in 0..<count {
      let shown = indices[at]
      inputs.append(
        DependencyInput(
          operation: operations[at], name: try names.name(at),
          index: shown == 0 ? nil : try narrow(shown - 1, "inputs.index_plus_one"),
          outcome: try Outcome(proto: outcomes[at], "inputs.outcome"), output: nil))
    }
    let outputs = output
    let positions = try SparsePositions.read(
      outputAt, below: count, entries: outputs.count, "inputs.output")
    for (at, output) in zip(positions, outputs) {
      inputs[at].output = try opaque(output, Limits.outputBytes, "inputs.output")
    }
    return inputs
  }
}
