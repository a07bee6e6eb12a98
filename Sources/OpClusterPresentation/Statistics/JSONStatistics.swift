// Statistics of a graph for programs. Times in seconds, memory in bytes, as everywhere.

import OpClusterModel

extension JSONText {
  /// The members of one graph's statistics.
  public mutating func fields(of statistics: GraphStatistics) {
    let row = statistics.structure.row
    field("graph", row.graph.number)
    field("name", row.name)
    field("state", row.state.rawValue)
    field("span_seconds", statistics.span.map { Double($0) / 1_000 })
    field("ran_seconds", Double(statistics.ran) / 1_000)
    field("parallelism", statistics.parallelism)
    array("operations") { json in
      for stage in statistics.stages { json.object { $0.fields(of: stage) } }
    }
    field("critical_path_is_whole", statistics.knowsAllDependencies)
    array("critical_path") { json in
      for step in statistics.criticalPath() {
        json.object { json in
          json.field("id", "\(row.graph.number)/\(step.name)")
          json.field("waited_seconds", Double(step.waited) / 1_000)
          json.field("ran_seconds", Double(step.ran) / 1_000)
        }
      }
    }
  }

  private mutating func fields(of stage: StageStatistics) {
    field("name", stage.name)
    field("ended", stage.counts.finished)
    field("failed", stage.counts.failures)
    field("repeated_attempts", stage.repeated)
    fields(of: stage.ran, "ran")
    fields(of: stage.waitedForDependencies, "waited_for_dependencies")
    fields(of: stage.waitedForStart, "waited_for_start")
    if let demand = stage.demand {
      field("cpus_asked", Double(demand.cpus.tenThousandths) / 10_000)
      field("memory_asked_bytes", demand.memoryBytes)
    }
    field("cpus_used", stage.processorsUsed)
    field("memory_used_bytes", stage.peakMemory == 0 ? nil : stage.peakMemory)
    array("advice") { json in
      for advice in stage.advice {
        json.object { json in
          json.field("code", advice.word)
          json.field("message", advice.sentence)
        }
      }
    }
  }

  private mutating func fields(of series: TimeSeries, _ name: String) {
    guard series.count > 0 else { return }
    field("\(name)_seconds", Double(series.sum) / 1_000)
    field("\(name)_median_seconds", Double(series.quantile(0.5) ?? 0) / 1_000)
    field("\(name)_p95_seconds", Double(series.quantile(0.95) ?? 0) / 1_000)
    field("\(name)_longest_seconds", Double(series.longest) / 1_000)
  }
}
