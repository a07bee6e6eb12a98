// Lost workers that have not returned: lists of workers include them, with the time and reason of
// the loss. Limited in number and age. Not durable: a restarted coordinator knows only the workers
// that it loses itself.

import DequeModule
import OpClusterModel

struct DownWorkers: Sendable {
  private struct Entry: Sendable {
    var worker: WorkerID
    /// The moment when it was last heard, or should have been.
    var at: Instant
    var since: WallTime
    var reason: String
  }

  /// Looked up, never iterated.
  private var entries: [String: Entry] = [:]
  /// In the order of loss; some have returned since, and may be down again.
  private var order: Deque<(name: String, worker: WorkerID)> = []

  var count: Int { entries.count }

  mutating func add(
    _ name: String, _ worker: WorkerID, at: Instant, since: WallTime, reason: String
  ) {
    entries[name] = Entry(worker: worker, at: at, since: since, reason: reason)
    order.append((name, worker))
    while let first = order.first, entries.count > Limits.lostWorkersListed || !isThere(first) {
      if isThere(first) { entries[first.name] = nil }
      order.removeFirst()
    }
    // Amortised: at least as many entries have become obsolete as are visited.
    if order.count > 2 * entries.count + 64 { order = order.filter { isThere($0) } }
  }

  private func isThere(_ place: (name: String, worker: WorkerID)) -> Bool {
    entries[place.name]?.worker == place.worker
  }

  /// Removes a worker that has returned, or that a client wants forgotten; false if it was not
  /// listed.
  @discardableResult
  mutating func remove(_ name: String) -> Bool { entries.removeValue(forKey: name) != nil }

  /// A row for each listed worker; visits all.
  func rows(at now: Instant) -> [WorkerRow] {
    order.compactMap { place in
      guard isThere(place), let entry = entries[place.name],
        now - entry.at <= Limits.lostWorkerLife
      else { return nil }
      var row = WorkerRow(
        worker: entry.worker, name: place.name, state: .down, capacity: .none, free: .none,
        executing: 0, held: 0, labels: [], types: [], lastHeard: max(now - entry.at, .zero))
      row.downSince = entry.since
      row.downReason = entry.reason
      return row
    }
  }
}
