// The queues' part of the book: which record stands for which queue, by name and by number, and
// what is told of queues. Any thread. Records are let go of outside of the lock.

import OpClusterModel
import Synchronization

extension OperationBook {
  /// The record that handles of this name share.
  func record(named name: String, _ make: () -> QueueRecord) -> (QueueRecord, isNew: Bool) {
    state.withLock { state in
      if let known = state.records[name]?.queue { return (known, false) }
      let record = make()
      state.records[name] = WeakQueue(queue: record)
      return (record, true)
    }
  }

  /// A record wants to hear of its queue.
  func register(_ record: QueueRecord, as id: QueueID) {
    _ = state.withLock { $0.register(record, as: id) }
  }

  /// The program has given a queue that is not made yet another name.
  func rename(_ record: QueueRecord, from old: String, to new: String) {
    _ = state.withLock { $0.rename(record, from: old, to: new) }
  }

  /// A record has gone; another one of its name may have come.
  func forget(named name: String, _ id: QueueID?) {
    _ = state.withLock { state -> [QueueRecord] in
      var known: [QueueRecord] = []
      if let record = state.records[name]?.queue {
        known.append(record)
      } else {
        state.records[name] = nil
      }
      guard let id else { return known }
      let living = (state.queues[id] ?? []).compactMap(\.queue)
      state.queues[id] = living.isEmpty ? nil : living.map { WeakQueue(queue: $0) }
      return known + living
    }
  }

  /// What ends is told before the count that it leaves. Whoever is told of an end finds the count
  /// right (S111). One more look at each run.
  func foreseeCounts(_ runs: [EventRun]) {
    for run in runs {
      guard case .queue(let id) = run.first.subject, case .queueCount(let count) = run.first.kind
      else { continue }
      for record in records(of: id) { record.foresee(count) }
    }
  }

  private func records(of id: QueueID) -> [QueueRecord] {
    state.withLock { $0.queues[id]?.compactMap(\.queue) ?? [] }
  }

  /// An event of a queue.
  func take(_ event: Event, _ id: QueueID) {
    if case .queueCreated(let settings) = event.kind {
      let created = state.withLock { state -> (record: QueueRecord, others: [QueueRecord])? in
        guard let record = state.records[settings.name]?.queue else { return nil }
        return (record, state.register(record, as: id))
      }
      created?.record.take(created: settings, as: id)
    }
    let records = records(of: id)
    if case .queueChanged(let settings) = event.kind {
      for record in records where record.name != settings.name {
        rename(record, from: record.name, to: settings.name)
      }
    }
    for record in records { record.take(event) }
  }
}

extension OperationBook.State {
  /// Returns those who stood for it before.
  fileprivate mutating func register(_ record: QueueRecord, as id: QueueID) -> [QueueRecord] {
    let known = (queues[id] ?? []).compactMap(\.queue)
    let all = known.contains { $0 === record } ? known : known + [record]
    queues[id] = all.map { OperationBook.WeakQueue(queue: $0) }
    return known
  }

  /// Returns who had these names before.
  fileprivate mutating func rename(
    _ record: QueueRecord, from old: String, to new: String
  ) -> [QueueRecord] {
    let before = [records[old]?.queue, records[new]?.queue].compactMap { $0 }
    if records[old]?.queue === record { records[old] = nil }
    if records[new]?.queue == nil { records[new] = OperationBook.WeakQueue(queue: record) }
    return before
  }
}
