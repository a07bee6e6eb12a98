// What observers are told of the number of operations in a queue: once a turn in which it changed,
// not once an operation (S105, S81). Turns mark the queues they touch; the end of the turn looks at
// those alone.

import OpClusterModel

extension ClusterState {
  /// The count of a queue has just been changed.
  mutating func noteCountChange(_ queue: UInt32) {
    if queues[queue].isCountDirty { return }
    queues[queue].isCountDirty = true
    dirtyQueues.append(queue)
  }

  /// By queue, before the graphs that ended take their own queues with them. Part of every turn,
  /// replayed ones too: it draws numbers of events.
  mutating func tellQueueCounts(into turn: inout Turn) {
    if dirtyQueues.isEmpty { return }
    dirtyQueues.sort()
    for number in dirtyQueues where queues.contains(number) {
      queues[number].isCountDirty = false
      let members = queues[number].members
      if members == queues[number].toldMembers { continue }
      queues[number].toldMembers = members
      emit(.queueCount(members), about: .queue(QueueID(number)), into: &turn)
    }
    dirtyQueues.removeAll(keepingCapacity: true)
  }
}
