// Requests of the pages.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

extension Reader {
  /// What the overview shows: workers, queues, and the newest active graphs.
  func figures() async throws -> TopFigures {
    let workers = try await workers()
    let queues = try await queues()
    let active = try await activeGraphs()
    return TopFigures(
      workers: workers, queues: queues, graphs: active, running: [],
      hasMoreGraphs: active.count >= Self.mostActive)
  }

  /// Graphs that have not ended, oldest first; of a crowd the oldest.
  private func activeGraphs() async throws -> [GraphRow] {
    var active: [GraphRow] = []
    try await graphs(Selection(graphs: .active)) { rows in
      active += rows
      return active.count < Self.mostActive
    }
    return active
  }

  /// Each costs a row whenever somebody looks.
  private static let mostActive = 5 * Limits.rowsPerReply

  /// A page of operations behind another one.
  func rows(
    _ selection: Selection, after: OperationID?, _ count: Int
  ) async throws(ClientError) -> [OperationRow] {
    do throws(ClientError) {
      let reply = try await connection.request(
        .operations(selection, after: after, limit: UInt32(clamping: count)), timeout: timeout)
      guard case .operations(let rows, _) = reply else {
        throw ClientError.unexpectedReply("operations")
      }
      return rows
    } catch {
      // None is a refusal: a selection that matches nothing may be a mistake elsewhere.
      guard case .refused(let refusal) = error.kind, refusal.code == .unknownOperation else {
        throw error
      }
      return []
    }
  }

  /// One operation by its index; nil: there is none.
  func row(_ id: OperationID) async throws(ClientError) -> OperationRow? {
    let before = id.index == 0 ? nil : OperationID(graph: id.graph, index: id.index - 1)
    let rows = try await rows(.graph(id.graph), after: before, 1)
    return rows.first { $0.id == id }
  }

  /// The newest graphs that a listing shows.
  func listed(_ listing: GraphListing) async throws -> (rows: [GraphRow], hasMore: Bool) {
    if listing.state == "active" {
      let rows = try await activeGraphs()
      return (rows.filter(listing.shows), rows.count >= Self.mostActive)
    }
    let newest = try await rowsIfAny(Selection(graphs: .last(back: 0)))
    guard let last = newest.last?.graph else { return ([], false) }
    let first = GraphID(last.number > Self.graphsSearched ? last.number - Self.graphsSearched : 1)
    var rows = try await rowsIfAny(Selection(graphs: .numbers([.init(first, last)])))
    // An older one is found by its number.
    if let number = UInt32(listing.search), number > 0, number < first.number {
      rows += try await rowsIfAny(.graph(GraphID(number)))
    }
    return (rows.filter(listing.shows), first.number > 1)
  }

  /// None is a refusal: a selection that matches nothing may be a mistake elsewhere.
  private func rowsIfAny(_ selection: Selection) async throws -> [GraphRow] {
    do {
      return try await allGraphs(selection)
    } catch let error as ClientError {
      guard case .refused = error.kind else { throw error }
      return []
    }
  }

  /// Graphs that a list looks at: each costs a row.
  private static let graphsSearched: UInt32 = 5_000

  /// Whether our key may change something: an order about nothing tells.
  func mayAct() async -> Bool {
    do throws(ClientError) {
      _ = try await connection.request(
        .setPriority(.operations([]), .normal), timeout: timeout)
      return true
    } catch {
      if case .refused(let refusal) = error.kind { return refusal.code != .forbidden }
      return true
    }
  }
}

extension Reader {
  /// What the page of an operation shows; nil: there is none.
  func operationView(_ id: OperationID, now: WallTime) async throws -> OperationView? {
    guard let row = try await row(id) else { return nil }
    let opened = try await firstOpened(.operation(row), limit: 1).rows
    let full = opened.rows.first ?? row
    let reasons =
      full.outcome == nil ? (try? await explanations(.operation(row)).rows) ?? [] : []
    return OperationView(
      row: full, command: full.shownCommand, blocks: opened.blocks[full.id] ?? [],
      files: opened.files[full.id] ?? [], reasons: reasons, now: now)
  }
}
