// The table of `check`: one line per stage of a manifest.

import OpClusterModel

/// A stage as `check` shows it.
public struct CheckedStage: Sendable {
  public var name: String
  public var count: Int
  /// How many of them would run; nil: nobody asked.
  public var runs: Int?
  /// What it waits for, shortened.
  public var needs: String
  public var queue: String
  /// The first line of its command.
  public var command: String

  public init(
    name: String, count: Int, runs: Int?, needs: String, queue: String, command: String
  ) {
    self.name = name
    self.count = count
    self.runs = runs
    self.needs = needs
    self.queue = queue
    self.command = command
  }
}

/// Returns the table of `check`.
public func checkTable(_ stages: [CheckedStage]) -> Table {
  var table = Table([
    .name("OPERATION", shortest: 16), .number("COUNT"), .number("RUNS", dispensable: 1),
    .text("NEEDS", shortest: 12, dispensable: 2), .text("QUEUE", shortest: 7, dispensable: 4),
    .text("COMMAND", shortest: 16, dispensable: 3),
  ])
  for stage in stages {
    table.add([
      .init(stage.name), .init(shownCount(stage.count)),
      .init(stage.runs.map { shownCount($0) } ?? ""), .init(stage.needs), .init(stage.queue),
      .init(stage.command),
    ])
  }
  return table
}
