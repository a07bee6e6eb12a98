// The table of `opbatch alloc ls`. Pure.

public import OpClusterModel

/// An allocation as it is shown to people.
public struct AllocationRow: Sendable {
  public var name: String
  public var state: String
  public var runningJobs: Int
  public var pendingJobs: Int
  /// The least and the most of its jobs.
  public var range: ClosedRange<Int>
  /// The time of a job.
  public var time: Span
  /// The time without work after which a worker leaves.
  public var idleTime: Span

  public init(
    name: String, state: String, runningJobs: Int, pendingJobs: Int, range: ClosedRange<Int>,
    time: Span, idleTime: Span
  ) {
    self.name = name
    self.state = state
    self.runningJobs = runningJobs
    self.pendingJobs = pendingJobs
    self.range = range
    self.time = time
    self.idleTime = idleTime
  }
}

/// One row for each, in the order given.
public func allocationTable(_ rows: [AllocationRow]) -> Table {
  var table = Table([
    .text("ALLOCATION", shortest: 8), .text("STATE"), .number("RUNNING"), .number("PENDING"),
    .text("WORKERS"), .text("TIME", dispensable: 2), .text("IDLE", dispensable: 3),
  ])
  for row in rows {
    table.add([
      .init(row.name, .strong), .init(row.state, row.state == "following" ? .plain : .bad),
      .init(shownCount(row.runningJobs)), .init(shownCount(row.pendingJobs)),
      .init("\(row.range.lowerBound)-\(row.range.upperBound)"), .init(shownDuration(row.time)),
      .init(shownDuration(row.idleTime)),
    ])
  }
  return table
}
