// Workers that were lost and have not come back: whoever asks for workers is told since when, and
// why. Bounded in number and age. Not durable: a coordinator that is started anew knows only those
// that it loses itself.

import DequeModule
import OpClusterModel

struct DownWorkers: Sendable {
  private struct Entry: Sendable {
    var worker: WorkerID
    /// When it was heard last, or should have been.
    var at: Instant
    var since: WallTime
    var reason: String
  }

  /// Looked up, never iterated.
  private var entries: [String: Entry] = [:]
  /// The first lost first; some have come back since, and may be down again.
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
    // As many must have come back since as are looked at.
    if order.count > 2 * entries.count + 64 { order = order.filter { isThere($0) } }
  }

  private func isThere(_ place: (name: String, worker: WorkerID)) -> Bool {
    entries[place.name]?.worker == place.worker
  }

  /// It has come back, or nobody wants to hear of it; false where it was not there.
  @discardableResult
  mutating func remove(_ name: String) -> Bool { entries.removeValue(forKey: name) != nil }

  /// A look at each of them, for who asks.
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
