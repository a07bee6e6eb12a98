// Statistics of a graph for programs. Times in milliseconds, memory in bytes, as everywhere.

import OpClusterModel

extension JSONText {
  /// The members of one graph's statistics.
  public mutating func fields(of statistics: GraphStatistics) {
    let row = statistics.structure.row
    field("graph", row.graph.number)
    field("name", row.name)
    field("state", row.state.rawValue)
    field("span_ms", statistics.span)
    field("ran_ms", statistics.ran)
    field("parallelism", statistics.parallelism)
    array("operations") { json in
      for stage in statistics.stages { json.object { $0.fields(of: stage) } }
    }
    array("critical_path") { json in
      for step in statistics.criticalPath() {
        json.object { json in
          json.field("id", "\(row.graph.number)/\(step.name)")
          json.field("waited_ms", step.waited)
          json.field("ran_ms", step.ran)
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
    field("\(name)_ms", series.sum)
    field("\(name)_median_ms", series.quantile(0.5) ?? 0)
    field("\(name)_p95_ms", series.quantile(0.95) ?? 0)
    field("\(name)_longest_ms", series.longest)
  }
}
