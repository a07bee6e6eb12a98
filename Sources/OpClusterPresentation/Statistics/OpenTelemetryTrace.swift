// A trace for OpenTelemetry: a span for the graph, below it one for each operation, below that one
// for each attempt, as the JSON of an ExportTraceServiceRequest (OTLP 1). Numbers of traces and
// spans follow from what they stand for, so that the same graph is always the same trace.

import OpClusterModel

/// The numbers of a trace, of 16 bytes, and of a span, of 8 bytes, in hexadecimal.
public struct TraceParent: Hashable, Sendable {
  public let trace: String
  public let span: String

  /// Reads `00-TRACE-SPAN-FLAGS` (W3C Trace Context); nil: it is none.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].count == 2, parts[0] != "ff",
      Self.isNumber(parts[1], 32), Self.isNumber(parts[2], 16), parts[3].count == 2
    else { return nil }
    trace = String(parts[1])
    span = String(parts[2])
  }

  private static func isNumber(_ text: Substring, _ count: Int) -> Bool {
    text.utf8.count == count
      && text.utf8.allSatisfy {
        ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
          || ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "f"))
      } && text.contains { $0 != "0" }
  }
}

extension GraphTrace {
  /// The document, written part by part.
  ///
  /// - Parameter parent: The span in which the graph was submitted; nil: it is a trace of its own.
  public func openTelemetryTrace(
    below parent: TraceParent?, _ write: ([UInt8]) throws -> Void
  ) rethrows {
    let row = structure.row
    let seed = "\(row.graph.number) \(row.name) \(row.submittedAt.milliseconds)"
    let trace = parent?.trace ?? Self.number(seed, 0) + Self.number(seed, 1)
    let root = Self.number("graph \(seed)", 2)
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
      operation(sorted[first..<at].map { slices[$0] }, trace, root, seed, &json)
      if json.bytes.count >= 256 << 10 { try write(json.takeBytes()) }
    }
    for bracket in ["]", "}", "]", "}", "]", "}"] as [Unicode.Scalar] { json.close(bracket) }
    json.endLine()
    try write(json.bytes)
  }

  /// The attempts of one operation, the first one first.
  private func operation(
    _ attempts: [Slice], _ trace: String, _ root: String, _ seed: String, _ json: inout JSONText
  ) {
    guard let first = attempts.first, let last = attempts.last else { return }
    let name = structure.name(of: first.index)
    let number = Self.number("operation \(first.index) \(seed)", 2)
    let begin = first.ready > 0 ? first.ready : first.start
    let end = attempts.reduce(last.end) { max($0, $1.end) }
    span(
      trace, number, below: root, name, begin, end, isFailed: last.isFailed, &json
    ) { json in
      Self.attribute("opcluster.operation", "\(structure.row.graph.number)/\(name)", &json)
      Self.attribute("opcluster.state", last.shownState, &json)
    }
    for attempt in attempts {
      span(
        trace, Self.number("attempt \(attempt.attempt) \(first.index) \(seed)", 2), below: number,
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

  /// Eight bytes in hexadecimal that follow from a text, never zero (FNV-1a).
  private static func number(_ text: String, _ salt: UInt8) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in [salt] + Array(text.utf8) {
      hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
    // The last bytes of a text would change the upper bits little.
    hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
    hash ^= hash >> 33
    let digits = String(max(hash, 1), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
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
