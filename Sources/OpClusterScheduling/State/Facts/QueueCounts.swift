// Tells observers the number of operations in a queue: once per turn with a change, not once per
// operation (S105, S81). A turn marks the queues that it touches, and its end visits only those.

import OpClusterModel

extension ClusterState {
  /// Notes that the count of a queue has changed.
  mutating func noteCountChange(_ queue: UInt32) {
    if queues[queue].isCountDirty { return }
    queues[queue].isCountDirty = true
    dirtyQueues.append(queue)
  }

  /// Tells the changed counts in the order of the queues, before ended graphs remove their own
  /// queues. Part of every turn, including replayed ones, because it consumes event numbers.
  mutating func tellQueueCounts(into turn: inout SchedulingTurn) {
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
