// The free room of machines as a tree of maxima, so that a machine for a demand is found without a
// look at each of them.

import OpClusterModel

/// For each machine what is free there. A search costs the logarithm of their number where cpus,
/// memory and gpus are free together; named resources are compared at the machine alone.
struct RoomTree: Sendable {
  private struct Most: Sendable {
    var cpus = RoomTree.closed.cpus
    var memoryBytes: Int64 = 0
    var gpus = ResourceAmount.zero

    init() {}
    init(_ room: Resources) {
      (cpus, memoryBytes, gpus) = (room.cpus, room.memoryBytes, room.gpus)
    }
    init(_ one: Most, _ other: Most) {
      cpus = max(one.cpus, other.cpus)
      memoryBytes = max(one.memoryBytes, other.memoryBytes)
      gpus = max(one.gpus, other.gpus)
    }
    func mayCover(_ demand: Resources) -> Bool {
      demand.cpus <= cpus && demand.memoryBytes <= memoryBytes && demand.gpus <= gpus
    }
  }

  /// The room of a machine that takes nothing, not even what asks for nothing.
  static let closed = Resources(cpus: ResourceAmount(tenThousandths: -1))

  private var rooms: [Resources] = []
  /// The root is 1, the children of n are 2n and 2n + 1, the leaves begin at `width`.
  private var nodes: [Most] = [Most(), Most()]
  private var width = 1
  /// The number of visited nodes, for tests.
  private(set) var looks = 0

  mutating func set(_ room: Resources, at number: Int) {
    while rooms.count <= number { rooms.append(Self.closed) }
    rooms[number] = room
    if number >= width { return widen(to: number + 1) }
    var node = width + number
    nodes[node] = Most(room)
    while node > 1 {
      node /= 2
      nodes[node] = Most(nodes[2 * node], nodes[2 * node + 1])
    }
  }

  private mutating func widen(to count: Int) {
    while width < count { width *= 2 }
    nodes = Array(repeating: Most(), count: 2 * width)
    for (number, room) in rooms.enumerated() { nodes[width + number] = Most(room) }
    for node in stride(from: width - 1, to: 0, by: -1) {
      nodes[node] = Most(nodes[2 * node], nodes[2 * node + 1])
    }
  }

  /// A machine that has room for the demand, preferably the one with the most free cpus.
  ///
  /// - Parameter isExcluded: Machines that do not count.
  mutating func find(_ demand: Resources, _ isExcluded: (Int) -> Bool) -> Int? {
    var stack = [1]
    while let node = stack.popLast() {
      looks += 1
      guard nodes[node].mayCover(demand) else { continue }
      if node >= width {
        let number = node - width
        if number < rooms.count, rooms[number].covers(demand), !isExcluded(number) {
          return number
        }
        continue
      }
      let (left, right) = (2 * node, 2 * node + 1)
      // The better one is looked at first, so it goes on the stack last.
      if nodes[left].cpus >= nodes[right].cpus {
        stack += [right, left]
      } else {
        stack += [left, right]
      }
    }
    return nil
  }
}
