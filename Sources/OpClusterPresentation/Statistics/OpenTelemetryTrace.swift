// A trace for OpenTelemetry: a span for the graph, below it one for each operation, below that one
// for each attempt, as the JSON of an ExportTraceServiceRequest (OTLP 1). `GraphSpans` has their
// numbers.

public import OpClusterModel

extension GraphTrace {
  /// The document, written part by part.
  ///
  /// - Parameter other: Its parent if nobody knows in which span it was submitted; nil: it is then
  ///   a trace of its own.
  public func openTelemetryTrace(
    below other: TraceParent?, _ write: ([UInt8]) throws -> Void
  ) rethrows {
    let row = structure.row
    let parent = row.labels.traceParent ?? other
    let spans =
      parent.map { GraphSpans(row.graph, below: $0) }
      ?? GraphSpans(row.graph, name: row.name, submittedAt: row.submittedAt)
    let trace = parent?.trace ?? spans.trace
    let root = spans.graph
    var json = JSONText()
    json.open("{")
    json.key("resourceSpans")
    json.open("[")
    json.open("{")
    json.object("resource") { json in
      json.array("attributes") { json in
        Self.attribute("service.name", "opcluster", &json)
        Self.attribute("service.version", Build.version, &json)
      }
    }
    json.key("scopeSpans")
    json.open("[")
    json.open("{")
    json.object("scope") { $0.field("name", "opbatch") }
    json.key("spans")
    json.open("[")
    let last = slices.reduce(Int64(0)) { max($0, $1.end) }
    let end = row.finishedAt == .unknown ? last : row.finishedAt.milliseconds
    span(
      trace, root, below: parent?.span, "graph \(row.name)", row.submittedAt.milliseconds, end,
      isFailed: row.finishedAt == .unknown ? nil : row.state == .failed, &json
    ) { json in
      Self.attribute("opcluster.graph", Int64(row.graph.number), &json)
      Self.attribute("opcluster.operations", Int64(row.counts.total), &json)
    }
    let sorted = slices.indices.sorted {
      (slices[$0].index, slices[$0].attempt) < (slices[$1].index, slices[$1].attempt)
    }
    var at = 0
    while at < sorted.count {
      let first = at
      while at < sorted.count, slices[sorted[at]].index == slices[sorted[first]].index { at += 1 }
      operation(sorted[first..<at].map { slices[$0] }, trace, spans, &json)
      if json.bytes.count >= 256 << 10 { try write(json.takeBytes()) }
    }
    for bracket in ["]", "}", "]", "}", "]", "}"] as [Unicode.Scalar] { json.close(bracket) }
    json.endLine()
    try write(json.bytes)
  }

  /// The attempts of one operation, the first one first.
  private func operation(
    _ attempts: [Slice], _ trace: String, _ spans: GraphSpans, _ json: inout JSONText
  ) {
    guard let first = attempts.first, let last = attempts.last else { return }
    let name = structure.name(of: first.index)
    let number = spans.operation(first.index)
    let begin = first.ready > 0 ? first.ready : first.start
    let end = attempts.reduce(last.end) { max($0, $1.end) }
    span(
      trace, number, below: spans.graph, name, begin, end, isFailed: last.isFailed, &json
    ) { json in
      Self.attribute("opcluster.operation", "\(structure.row.graph.number)/\(name)", &json)
      Self.attribute("opcluster.state", last.shownState, &json)
    }
    for attempt in attempts {
      span(
        trace, spans.attempt(attempt.attempt, of: first.index), below: number,
        "\(name) attempt \(attempt.attempt)", attempt.start, attempt.end,
        isFailed: attempt.isFailed, &json
      ) { json in
        Self.attribute("opcluster.worker", workers[attempt.worker], &json)
        Self.attribute("opcluster.attempt", Int64(attempt.attempt), &json)
        if attempt.cause != .none {
          Self.attribute("opcluster.cause", attempt.cause.word, &json)
          Self.attribute("process.exit.code", Int64(attempt.exitStatus), &json)
        }
        if attempt.peakMemory > 0 {
          Self.attribute(
            "opcluster.memory_bytes", Int64(clamping: attempt.peakMemory), &json)
        }
      }
    }
  }

  private func span(
    _ trace: String, _ number: String, below parent: String?, _ name: String, _ start: Int64,
    _ end: Int64, isFailed: Bool?, _ json: inout JSONText, attributes: (inout JSONText) -> Void
  ) {
    json.object { json in
      json.field("traceId", trace)
      json.field("spanId", number)
      json.field("parentSpanId", parent)
      json.field("name", name)
      // SPAN_KIND_INTERNAL
      json.field("kind", 1)
      json.field("startTimeUnixNano", "\(start)000000")
      json.field("endTimeUnixNano", "\(max(start, end))000000")
      json.array("attributes") { attributes(&$0) }
      // STATUS_CODE_ERROR and STATUS_CODE_OK; none of what still runs.
      if let isFailed { json.object("status") { $0.field("code", isFailed ? 2 : 1) } }
    }
  }

  private static func attribute(_ name: String, _ value: String, _ json: inout JSONText) {
    json.object { json in
      json.field("key", name)
      json.object("value") { $0.field("stringValue", value) }
    }
  }

  /// Numbers of 64 bits are texts in the JSON of protobuf.
  private static func attribute(_ name: String, _ value: Int64, _ json: inout JSONText) {
    json.object { json in
      json.field("key", name)
      json.object("value") { $0.field("intValue", "\(value)") }
    }
  }
}

extension GraphTrace.Slice {
  /// nil: it runs.
  var isFailed: Bool? {
    if isRunning { return nil }
    guard let outcome else { return true }
    return outcome != .succeeded && outcome != .cancelled && outcome != .skipped
  }
}
