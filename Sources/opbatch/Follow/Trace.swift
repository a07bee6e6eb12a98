// `opbatch trace`: a graph as a trace for viewers of others. The formats are made in
// OpClusterPresentation; this asks for the rows and writes the file.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Needs the right to read (G36).
struct Trace: Command {
  static let configuration = CommandConfiguration(
    abstract: "Write who ran what when, for a viewer of traces.",
    discussion: """
      Without a format it is for https://ui.perfetto.dev or chrome://tracing: a process for each \
      worker, a row for each operation that it runs at once, arrows for dependencies, and how many \
      ran and waited. otlp is the JSON of OpenTelemetry: a span for the graph, each operation and \
      each attempt; TRACEPARENT, where it is set, is the parent of the graph.

      Examples:
        opbatch trace last -o trace.json
        opbatch trace 12 --format otlp | curl -H 'Content-Type: application/json' \
      --data-binary @- http://localhost:4318/v1/traces
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case chrome, otlp
  }

  @Argument(help: ArgumentHelp("A graph: 12, last, last~1.", valueName: "selector"))
  var selector: String

  @Option(help: "The format of the trace.")
  var format = Format.chrome

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("The file; without it, stdout.", valueName: "file"), completion: .file())
  var file: String?

  @OptionGroup(title: "Common options") var place: ConnectionOptions

  var global: GlobalOptions { place.global }

  func perform(_ console: Console) async throws -> ExitStatus {
    let trace = try await withConnection { connection in
      let reader = reader(connection)
      return try await reader.trace(try await reader.oneGraph(selector))
    }
    try write(trace, console)
    return .success
  }

  private func write(_ trace: GraphTrace, _ console: Console) throws {
    guard let file, file != "-" else {
      return try encode(trace) { try console.write(bytes: $0) }
    }
    var bytes: [UInt8] = []
    encode(trace) { bytes += $0 }
    try console.deliver(bytes, to: file)
  }

  private func encode(_ trace: GraphTrace, _ write: ([UInt8]) throws -> Void) rethrows {
    switch format {
    case .chrome: try trace.chromeTrace(write)
    case .otlp:
      let parent = OwnProcess.variable("TRACEPARENT").flatMap { TraceParent($0) }
      try trace.openTelemetryTrace(below: parent, write)
    }
  }
}

extension Reader {
  /// The trace of a graph. Reads all of its operations, a page at a time, and each that was tried
  /// again once more.
  func trace(_ graph: GraphID) async throws -> GraphTrace {
    let now = WallTime(milliseconds: WallClock.now())
    var trace = GraphTrace(try await structure(graph), now: now)
    try await operations(.graph(graph)) { rows, _ in
      for row in rows {
        trace.add(GraphTrace.hasEarlierAttempts(row) ? try await withAttempts(row) : row)
      }
      return true
    }
    return trace
  }

  /// The row of one operation has its earlier attempts.
  private func withAttempts(_ row: OperationRow) async throws -> OperationRow {
    let request = ClientRequest.operations(.operation(row), after: nil, limit: 1)
    guard case .operations(let rows, _) = try await connection.request(request, timeout: timeout)
    else { return row }
    return rows.first ?? row
  }
}
