// A trace in the format of Chrome, which ui.perfetto.dev and chrome://tracing open: a process for
// each worker, a thread for each operation that it runs at once, arrows for dependencies, and how
// many ran and waited.

import OpClusterModel

extension GraphTrace {
  /// The document, written part by part: `write` gets some hundred kilobytes at a time.
  public func chromeTrace(_ write: ([UInt8]) throws -> Void) rethrows {
    var trace = self
    trace.layOut()
    try trace.writeChromeTrace(write)
  }

  private func writeChromeTrace(_ write: ([UInt8]) throws -> Void) rethrows {
    var json = JSONText()
    json.open("{")
    json.field("displayTimeUnit", "ms")
    json.key("otherData")
    json.object { json in
      json.field("graph", structure.row.graph.number)
      json.field("name", structure.row.name)
    }
    json.key("traceEvents")
    json.open("[")
    writeNames(&json)
    for slice in slices {
      add(slice, to: &json)
      if json.bytes.count >= Self.part { try write(json.takeBytes()) }
    }
    for (number, flow) in flows().enumerated() {
      add(flow, number, to: &json)
      if json.bytes.count >= Self.part { try write(json.takeBytes()) }
    }
    for counter in counters() {
      for change in counter.changes {
        add(counter.name, change, to: &json)
        if json.bytes.count >= Self.part { try write(json.takeBytes()) }
      }
    }
    json.close("]")
    json.close("}")
    json.endLine()
    try write(json.bytes)
  }

  private static let part = 256 << 10

  private func writeNames(_ json: inout JSONText) {
    var lanes = Array(repeating: 0, count: workers.count)
    for slice in slices { lanes[slice.worker] = max(lanes[slice.worker], slice.lane + 1) }
    for (number, worker) in workers.enumerated() {
      metadata("process_name", worker: number, lane: nil, "worker \(worker)", &json)
      for lane in 0..<lanes[number] {
        metadata("thread_name", worker: number, lane: lane, "slot \(lane + 1)", &json)
      }
    }
    metadata("process_name", worker: workers.count, lane: nil, "graph", &json)
  }

  private func metadata(
    _ kind: String, worker: Int, lane: Int?, _ name: String, _ json: inout JSONText
  ) {
    json.object { json in
      json.field("ph", "M")
      json.field("name", kind)
      json.field("pid", worker + 1)
      json.field("tid", lane.map { $0 + 1 })
      json.key("args")
      json.object { $0.field("name", name) }
    }
  }

  private func add(_ slice: Slice, to json: inout JSONText) {
    json.object { json in
      json.field("ph", "X")
      json.field("name", structure.name(of: slice.index))
      json.field("cat", structure.stage(of: slice.index).map { structure.stages[$0].name } ?? "")
      json.field("pid", slice.worker + 1)
      json.field("tid", slice.lane + 1)
      json.field("ts", Self.microseconds(slice.start))
      json.field("dur", Self.microseconds(slice.end - slice.start))
      json.key("args")
      json.object { json in
        json.field("id", "\(structure.row.graph.number)/\(structure.name(of: slice.index))")
        json.field("attempt", slice.attempt)
        json.field("state", slice.shownState)
        if slice.cause != .none { json.field("cause", slice.cause.word) }
        if slice.exitStatus != 0 { json.field("exit_status", slice.exitStatus) }
        if slice.ready > 0 { json.field("waited_ms", slice.start - slice.ready) }
        if slice.peakMemory > 0 { json.field("memory_bytes", slice.peakMemory) }
        if slice.processorMicroseconds > 0 {
          json.field("processor_us", slice.processorMicroseconds)
        }
      }
    }
  }

  private func add(
    _ flow: (from: Int, to: Int), _ number: Int, to json: inout JSONText
  ) {
    let (from, to) = (slices[flow.from], slices[flow.to])
    for (isEnd, slice) in [(false, from), (true, to)] {
      json.object { json in
        json.field("ph", isEnd ? "f" : "s")
        if isEnd { json.field("bp", "e") }
        json.field("name", "dependency")
        json.field("cat", "dependency")
        json.field("id", number + 1)
        json.field("pid", slice.worker + 1)
        json.field("tid", slice.lane + 1)
        // An arrow begins inside of its slice.
        json.field(
          "ts",
          isEnd
            ? Self.microseconds(slice.start)
            : Self.microseconds(max(slice.start, slice.end)) - (slice.end > slice.start ? 1 : 0))
      }
    }
  }

  /// How many ran, and how many of those that have begun had waited although nothing else stood
  /// before; a value for each millisecond in which it changed.
  private func counters() -> [(name: String, changes: [(moment: Int64, count: Int)])] {
    let ran = slices.flatMap { [($0.start, 1), ($0.end, -1)] }
    let waited = slices.filter { $0.ready > 0 }.flatMap { [($0.ready, 1), ($0.start, -1)] }
    return [("running", ran), ("waiting for a limit or a worker", waited)].map { name, steps in
      var (count, at) = (0, 0)
      var changes: [(moment: Int64, count: Int)] = []
      let sorted = steps.sorted { $0.0 < $1.0 }
      while at < sorted.count {
        let moment = sorted[at].0
        while at < sorted.count, sorted[at].0 == moment {
          count += sorted[at].1
          at += 1
        }
        changes.append((moment, count))
      }
      return (name, changes)
    }
  }

  private func add(
    _ name: String, _ change: (moment: Int64, count: Int), to json: inout JSONText
  ) {
    json.object { json in
      json.field("ph", "C")
      json.field("name", name)
      json.field("pid", workers.count + 1)
      json.field("ts", Self.microseconds(change.moment))
      json.object("args") { $0.field("operations", change.count) }
    }
  }

  private static func microseconds(_ milliseconds: Int64) -> Int64 {
    milliseconds.multipliedReportingOverflow(by: 1_000).partialValue
  }
}

extension GraphTrace.Slice {
  /// The word for programs.
  var shownState: String {
    if isRunning { return "executing" }
    guard let outcome else { return "tried again" }
    return StateWord(outcome) == .timedOut ? "timed_out" : StateWord(outcome).rawValue
  }
}
