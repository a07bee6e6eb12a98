// Requests of the following commands: pages of rows, structures, the newest event. Each function is
// one request, or one for each page; none keeps anything. A reply of another kind than asked for is
// an error of the build (70).

package import OpClusterClient
package import OpClusterModel
import OpClusterPresentation

/// Sends the requests of one command or page.
package struct Reader: Sendable {
  package let connection: ClusterConnection
  /// The timeout of each request.
  package let timeout: Duration?

  package init(connection: ClusterConnection, timeout: Duration?) {
    self.connection = connection
    self.timeout = timeout
  }

  private func ask(_ request: ClientRequest) async throws(ClientError) -> ClientReply {
    try await connection.request(request, timeout: timeout)
  }

  /// Calls `body` with each page of graphs until it returns false. A page has a thousand rows. The
  /// next begins behind the last row of the one before, so that graphs that come or go meanwhile
  /// neither repeat nor hide another.
  package func graphs(_ selection: Selection, _ body: ([GraphRow]) throws -> Bool) async throws {
    var after: GraphID?
    while true {
      let request = ClientRequest.graphs(selection, after: after, limit: Self.page)
      guard case .graphs(let rows, let more) = try await ask(request) else {
        throw ClientError.unexpectedReply("graphs")
      }
      guard try body(rows), more, let last = rows.last?.graph else { return }
      after = last
    }
  }

  /// All rows at once: up to the graphs that the history keeps.
  package func allGraphs(_ selection: Selection) async throws -> [GraphRow] {
    var all: [GraphRow] = []
    try await graphs(selection) { rows in
      all += rows
      return true
    }
    return all
  }

  /// Calls `body` with each page of operations until it returns false. The flag tells whether more
  /// pages follow. Outputs are not decoded.
  package func operations(
    _ selection: Selection, _ body: ([OperationRow], Bool) async throws -> Bool
  ) async throws {
    var after: OperationID?
    while true {
      let request = ClientRequest.operations(selection, after: after, limit: Self.page)
      guard case .operations(let rows, let more) = try await ask(request) else {
        throw ClientError.unexpectedReply("operations")
      }
      guard try await body(rows, more), more, let last = rows.last?.id else { return }
      after = last
    }
  }

  /// Returns the first operations of a selection, with decoded outputs.
  package func firstOperations(
    _ selection: Selection, limit: Int
  ) async throws -> (rows: [OperationRow], more: Bool) {
    let (opened, more) = try await firstOpened(selection, limit: limit)
    return (opened.rows, more)
  }

  /// `limit` is cut to one page. Decoding may cost a request for each graph among the rows.
  package func firstOpened(
    _ selection: Selection, limit: Int
  ) async throws -> (rows: OpenedRows, more: Bool) {
    let limit = UInt32(min(limit, Limits.rowsPerReply))
    let request = ClientRequest.operations(selection, after: nil, limit: limit)
    guard case .operations(let rows, let more) = try await ask(request) else {
      throw ClientError.unexpectedReply("operations")
    }
    return (try await opened(rows), more)
  }

  /// Returns the operation with its command and earlier attempts.
  package func inFull(_ row: OperationRow) async throws -> OperationRow {
    try await firstOperations(.operation(row), limit: 1).rows.first ?? row
  }

  /// Stages, edges and counts, of a living graph or from the history; its event position says which
  /// events it contains.
  package func structure(_ graph: GraphID) async throws -> GraphStructure {
    guard case .structure(let structure) = try await ask(.structure(.graph(graph))) else {
      throw ClientError.unexpectedReply("structure")
    }
    return structure
  }

  /// At most a hundred; the flag says whether there were more.
  package func explanations(
    _ selection: Selection
  ) async throws -> (rows: [Explanation], more: Bool) {
    guard case .explanations(let rows, let more) = try await ask(.explain(selection)) else {
      throw ClientError.unexpectedReply("explain")
    }
    return (rows, more)
  }

  /// A graph as it was submitted; nil: that is not remembered, or the graph lives, whose submission
  /// nobody is given.
  package func submissionIfKnown(_ graph: GraphID) async throws -> GraphSubmission? {
    do throws(ClientError) {
      guard
        case .submission(let submission, _) = try await connection.request(
          .submission(graph), timeout: timeout)
      else { return nil }
      return submission
    } catch {
      guard case .refused = error.kind else { throw error }
      return nil
    }
  }

  /// Returns what a graph took over from another; nil if nothing, or if the graph has not ended.
  package func continued(_ graph: GraphID) async throws -> ContinuedGraph? {
    do throws(ClientError) {
      guard case .submission(let submission, _) = try await ask(.submission(graph)) else {
        return nil
      }
      return submission.continued
    } catch {
      guard case .refused = error.kind else { throw error }
      return nil
    }
  }

  package func queues() async throws -> [QueueRow] {
    try await allQueues { try await ask($0) }
  }

  /// All workers in one reply, with those that are down.
  package func workers() async throws -> [WorkerRow] {
    guard case .workers(let rows) = try await ask(.workers) else {
      throw ClientError.unexpectedReply("workers")
    }
    return rows
  }

  /// The sequence of the newest event: subscribe from here for new events.
  package func lastEvent() async throws -> UInt64 {
    guard case .pong(_, _, let lastEvent) = try await ask(.ping) else {
      throw ClientError.unexpectedReply("ping")
    }
    return lastEvent
  }

  /// A negative offset counts from the end. The reply has at most `Limits.logChunkBytes`. Refused
  /// if the attempt has no log, or its worker is away.
  package func log(
    _ attempt: AttemptSelection, _ stream: LogStream, offset: Int64
  ) async throws(ClientError) -> LogChunk? {
    let request = ClientRequest.log(
      attempt, stream, offset: offset, maximumBytes: UInt32(Limits.logChunkBytes))
    guard case .log(let chunk) = try await ask(request) else { return nil }
    return chunk
  }

  private static let page = UInt32(Limits.rowsPerReply)
}

extension Selection {
  /// Selects exactly these graphs; adjacent numbers are joined.
  package static func graphs(_ graphs: [GraphID]) -> Selection {
    var ranges: [ClosedRangeOfGraphs] = []
    for graph in graphs.sorted() {
      if let last = ranges.last?.last, last.number &+ 1 == graph.number {
        ranges[ranges.count - 1].last = graph
      } else {
        ranges.append(ClosedRangeOfGraphs(graph, graph))
      }
    }
    return Selection(graphs: .numbers(ranges))
  }

  /// Replaces the graphs by their numbers, since the meaning of `last` and `active` changes.
  package func pinned(to graphs: [GraphID]) -> Selection {
    var selection = self
    selection.graphs = Selection.graphs(graphs).graphs
    return selection
  }

  /// Whether its graphs are other ones at another time.
  package var isRelative: Bool {
    switch graphs {
    case .last, .active: true
    case .numbers, .all: false
    }
  }

  /// The same selection for as long as a command follows it: a connection that is made again asks
  /// anew, and `last` and `active` mean other graphs by then.
  package func lasting(_ graphs: some Sequence<GraphID>) -> Selection {
    isRelative ? pinned(to: Set(graphs).sorted()) : self
  }

  /// Selects exactly this operation. By its name and element rather than its number, since
  /// selections know no numbers of operations.
  package static func operation(_ row: OperationRow) -> Selection {
    var selection = Selection.graph(row.id.graph)
    selection.operation = row.name
    if let index = row.index { selection.elements = [IndexRun(first: index, count: 1)] }
    return selection
  }
}

extension ClientError {
  /// The coordinator has answered something else.
  package static func unexpectedReply(_ request: String) -> ClientError {
    ClientError(
      .protocolViolation,
      "the coordinator's answer to '\(request)' is of another kind than asked for",
      hint: "the programs may be of different builds; compare 'opbatch version'")
  }
}

/// All queues, page by page. An empty page ends the loop even if more is announced, so that no
/// reply can make it endless.
package func allQueues(
  _ ask: (ClientRequest) async throws -> ClientReply
) async throws -> [QueueRow] {
  var all: [QueueRow] = []
  while true {
    guard case .queues(let rows, let more) = try await ask(.queues(after: all.last?.queue)) else {
      throw ClientError.unexpectedReply("queues")
    }
    all += rows
    if !more || rows.isEmpty { return all }
  }
}
