// Writes queues and workers in the JSON contract.
// Amounts are units, such as 0.5 cpus; bytes and counts are whole numbers.

public import OpClusterModel

extension JSONText {
  /// Writes the fields of one queue; `max_concurrent` is absent without a limit.
  /// Limits and requirements that are absent mean that there are none.
  public mutating func fields(of row: QueueRow) {
    field("name", row.settings.name)
    field("qos", row.settings.qos.word)
    field("max_concurrent", row.settings.maximumConcurrent)
    field("is_suspended", row.settings.isSuspended)
    require(row.settings.pool)
    field("operation_count", row.operationCount)
    field("executing", row.executing)
    field("dispatched", row.dispatched)
    if row.barriers > 0 { field("barriers", row.barriers) }
  }

  /// Writes the labels that a queue requires of workers, with the accepted values of each; absent
  /// without requirements.
  mutating func require(_ pool: [LabelRequirement]) {
    if pool.isEmpty { return }
    object("require") { json in
      for requirement in pool {
        json.array(requirement.key) { json in
          for value in requirement.values { json.value(value) }
        }
      }
    }
  }

  /// Writes the fields of one worker; `slots` is the number of one-cpu operations that it can run
  /// at once.
  public mutating func fields(of row: WorkerRow) {
    field("name", row.name)
    field("state", row.state.rawValue)
    field("slots", row.capacity.cpus.units)
    field("executing", row.executing)
    field("held", row.held)
    if row.unkillable > 0 { field("unkillable", row.unkillable) }
    if !row.trouble.isEmpty { field("trouble", row.trouble) }
    if row.isSetAside { field("set_aside", true) }
    if row.state == .down {
      field("down_since", row.downSince)
      field("down_reason", row.downReason)
    }
    object("resources") { $0.fields(of: row.capacity) }
    // Free amounts can be negative: operations fetched ahead, and those given to a worker with
    // unknown resources, may exceed them. Written as 0.
    object("free") { $0.fields(of: row.free.atLeastNothing) }
    labels("labels", row.labels)
    array("operation_types") { json in
      for type in row.types { json.value("\(type.name)@\(type.version)") }
    }
    // Absent where the worker has not been heard since the coordinator's start.
    field("last_heard_seconds", row.lastHeard?.seconds)
  }

  /// Writes `cpus`, `memory_bytes`, `gpus` and the named resources.
  /// Named resources stand beside the known ones, under the names that workers give them.
  public mutating func fields(of resources: Resources) {
    field("cpus", resources.cpus.units)
    field("memory_bytes", resources.memoryBytes)
    if resources.gpus != .zero { field("gpus", resources.gpus.units) }
    for named in resources.custom { field(named.name, named.amount.units) }
  }
}

extension Resources {
  /// The amounts, with negative ones replaced by 0.
  fileprivate var atLeastNothing: Resources {
    Resources(
      cpus: max(cpus, .zero), memoryBytes: max(memoryBytes, 0), gpus: max(gpus, .zero),
      custom: custom.map { NamedAmount(name: $0.name, amount: max($0.amount, .zero)) })
  }
}
