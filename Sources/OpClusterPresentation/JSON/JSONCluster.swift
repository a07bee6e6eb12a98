// Queues and workers as the JSON contract has them.

public import OpClusterModel

extension JSONText {
  /// The fields of one queue; `max_concurrent` is absent when there is no limit.
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

  /// Labels that a queue requires of workers, each with the values that do; absent: none.
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

  /// The fields of one worker; `slots` is how many operations of one cpu it runs at once.
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
    // What was handed over ahead of its time, or to one whose resources are not known yet, may take
    // more than there is.
    object("free") { $0.fields(of: row.free.atLeastNothing) }
    labels("labels", row.labels)
    array("operation_types") { json in
      for type in row.types { json.value("\(type.name)@\(type.version)") }
    }
    field("last_heard_seconds", row.lastHeard?.seconds)
  }

  /// `cpus`, `memory_bytes`, `gpus` and the named ones.
  public mutating func fields(of resources: Resources) {
    field("cpus", resources.cpus.units)
    field("memory_bytes", resources.memoryBytes)
    if resources.gpus != .zero { field("gpus", resources.gpus.units) }
    for named in resources.custom { field(named.name, named.amount.units) }
  }
}

extension Resources {
  /// Without amounts below nothing.
  fileprivate var atLeastNothing: Resources {
    Resources(
      cpus: max(cpus, .zero), memoryBytes: max(memoryBytes, 0), gpus: max(gpus, .zero),
      custom: custom.map { NamedAmount(name: $0.name, amount: max($0.amount, .zero)) })
  }
}
