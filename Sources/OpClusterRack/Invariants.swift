// The invariants after every turn. Checked by tests.

import OpClusterExecution
import OpClusterModel

extension RackCore {
  /// Returns the violated invariants in words; empty if there are none. Checks the whole state.
  package func checkInvariants() -> [String] {
    var problems: [String] = []
    var found = 0
    for number in machines.all {
      let machine = machines[number]
      var free = machine.free
      for attempt in machine.attempts {
        found += 1
        guard let placement = placements[attempt], placement.machine == number else {
          problems.append("\(machine.name) has \(attempt), which was not given to it")
          continue
        }
        free.giveBack(placement.demand)
      }
      if free != machine.usable { problems.append("the room of \(machine.name) does not add up") }
      if let peer = machine.peer, machines.byPeer[peer] != number {
        problems.append("the connection of \(machine.name) leads elsewhere")
      }
    }
    if found != placements.count {
      problems.append("\(placements.count) placements, \(found) at machines")
    }
    let lost = stopped.keys.filter { placements[$0] == nil }
    if !lost.isEmpty { problems.append("\(lost.count) stopped attempts are nowhere") }
    let placed = waiting.filter { placements[$0.launch.attempt] != nil }
    if !placed.isEmpty { problems.append("\(placed.count) attempts wait and are placed") }
    return problems
  }
}
