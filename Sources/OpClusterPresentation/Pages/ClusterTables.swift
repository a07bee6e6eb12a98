// The tables of `queue ls` and `worker ls`.
// Amounts that may be negative are shown as 0: nothing is free then.

public import OpClusterModel

/// Returns the table of queues, one line per queue.
/// Empty cells stand for 0, so that the eye finds what is unusual.
public func queueTable(_ rows: [QueueRow], _ style: Style) -> Table {
  var table = Table([
    .text("QUEUE", shortest: 8), .text("STATE"), .number("LIMIT"), .number("OPERATIONS"),
    .number("DISPATCHED", dispensable: 3), .number("EXECUTING"),
    .number("BARRIERS", dispensable: 2), .text("QOS", dispensable: 1),
    .text("WORKERS WITH", shortest: 8, dispensable: 4),
  ])
  for row in rows {
    let settings = row.settings
    table.add([
      .init(settings.name, .strong),
      settings.isSuspended ? .init("suspended", .warning) : .init("open"),
      .init(settings.maximumConcurrent.map { shownCount($0) } ?? "none"),
      .init(shownCount(row.operationCount)),
      .init(row.dispatched == 0 ? "" : shownCount(row.dispatched)),
      .init(shownCount(row.executing)),
      .init(row.barriers == 0 ? "" : shownCount(row.barriers)), .init(settings.qos.word),
      .init(settings.pool.map(\.text).joined(separator: ",")),
    ])
  }
  return table
}

extension LabelRequirement {
  /// Returns `zone=a|b`: a worker must have one of the values.
  var text: String { key + "=" + values.joined(separator: "|") }
}

/// Returns the table of workers, one line per worker. Amounts are free/all; operations fetched
/// ahead may exceed the free ones.
public func workerTable(_ rows: [WorkerRow], _ style: Style) -> Table {
  // Columns that tell machines apart are dropped last.
  var table = Table([
    .text("WORKER", shortest: 8), .text("STATE"), .number("EXECUTING"),
    .number("HELD", dispensable: 4), .number("CPUS"), .text("MEMORY", dispensable: 2),
    .text("OTHER", shortest: 8, dispensable: 5), .text("TYPES", shortest: 8, dispensable: 6),
    .text("HEARD", dispensable: 3),
  ])
  for row in rows {
    table.add([
      .init(row.name, .strong), state(row),
      .init(row.state == .down ? "" : shownCount(row.executing)),
      .init(row.held == 0 ? "" : shownCount(row.held)), .init(processors(row)),
      .init(memory(row)), .init(otherResources(row)),
      .init(row.types.map { "\($0.name)@\($0.version)" }.joined(separator: ",")),
      .init(row.lastHeard.map { shownDuration($0) + " ago" } ?? "not yet", .faint),
    ])
  }
  return table
}

/// The worker's state, with the troubles of its machine.
/// The worst of its troubles is told: nothing given at all, nothing given in part, processes that
/// KILL does not end.
private func state(_ row: WorkerRow) -> StyledLine.Piece {
  if row.isSetAside { return .init("set aside", .bad) }
  if !row.trouble.isEmpty { return .init("\(row.state.rawValue), in part", .bad) }
  if row.unkillable == 0 { return .init(row.state.rawValue, row.state.tone) }
  return .init("\(row.state.rawValue), \(shownCount(row.unkillable)) unkillable", .bad)
}

/// Free of all. A worker that is down has none to give.
private func processors(_ row: WorkerRow) -> String {
  if row.state == .down { return "" }
  return shownAmount(max(row.free.cpus, .zero)) + "/" + shownAmount(row.capacity.cpus)
}

/// A worker without a known memory shows none.
private func memory(_ row: WorkerRow) -> String {
  guard row.capacity.memoryBytes > 0 else { return "" }
  return shownSize(max(row.free.memoryBytes, 0)) + "/" + shownSize(row.capacity.memoryBytes)
}

/// Gpus and named resources, each as free of all.
private func otherResources(_ row: WorkerRow) -> String {
  var parts: [String] = []
  if row.capacity.gpus > .zero {
    parts.append("gpus \(shownAmount(max(row.free.gpus, .zero)))/\(shownAmount(row.capacity.gpus))")
  }
  for named in row.capacity.custom {
    let free = shownAmount(max(row.free.amount(named: named.name), .zero))
    parts.append("\(named.name) \(free)/\(shownAmount(named.amount))")
  }
  return parts.joined(separator: " ")
}
