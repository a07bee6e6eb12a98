// The queues' part of the book: maps names and numbers to records. Any thread. Records are released
// outside of the lock.

import OpClusterModel
import Synchronization

extension OperationBook {
  /// The shared record of the handles with this name.
  func record(named name: String, _ make: () -> QueueRecord) -> (QueueRecord, isNew: Bool) {
    state.withLock { state in
      if let known = state.records[name]?.queue { return (known, false) }
      let record = make()
      state.records[name] = WeakQueue(queue: record)
      return (record, true)
    }
  }

  /// Registers a record for the events of its queue.
  func register(_ record: QueueRecord, as id: QueueID) {
    _ = state.withLock { $0.register(record, as: id) }
  }

  /// Renames a record. Returns records to be released outside of all locks: the caller may have
  /// that of this record.
  func rename(_ record: QueueRecord, from old: String, to new: String) -> [QueueRecord] {
    state.withLock { $0.rename(record, from: old, to: new) }
  }

  /// Removes a released record; another one with its name may exist already.
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

}

extension OperationBook.State {
  /// Registers a record; returns the records that were registered before.
  mutating func register(_ record: QueueRecord, as id: QueueID) -> [QueueRecord] {
    let known = (queues[id] ?? []).compactMap(\.queue)
    let all = known.contains { $0 === record } ? known : known + [record]
    queues[id] = all.map { OperationBook.WeakQueue(queue: $0) }
    return known
  }

  /// Renames a record; returns the previous records with these names.
  fileprivate mutating func rename(
    _ record: QueueRecord, from old: String, to new: String
  ) -> [QueueRecord] {
    let before = [records[old]?.queue, records[new]?.queue].compactMap { $0 }
    if records[old]?.queue === record { records[old] = nil }
    if records[new]?.queue == nil { records[new] = OperationBook.WeakQueue(queue: record) }
    return before
  }
}
