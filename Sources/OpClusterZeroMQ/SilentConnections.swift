// Connections of a router that have not said anything yet: how many each host has, and an end for
// those that go on so for too long. They cost a descriptor and are in nobody's quota. The router's
// thread.

/// Who has said nothing since it came.
struct SilentConnections {
  private struct Silent {
    let since: Int64
    let host: String
  }
  private var silent: [Int32: Silent] = [:]
  private var countByHost: [String: Int] = [:]
  /// In the order in which they came; some have spoken or gone since.
  private var order: [(descriptor: Int32, since: Int64)] = []
  private var head = 0
  /// Heard since the events were read last: they may be of connections that are still to be told.
  var heardLately: Set<Int32> = []

  var count: Int { silent.count }

  /// A connection was accepted; true when its host has more than `most` such.
  mutating func begin(_ descriptor: Int32, at now: Int64, most: Int) -> Bool {
    end(descriptor)
    if heardLately.contains(descriptor) { return false }
    // Whoever has gone already needs no watching.
    guard let origin = ConnectionOrigin(descriptor: descriptor) else { return false }
    let host = origin.networkAddress ?? origin.process.map { "process \($0)" } ?? ""
    silent[descriptor] = Silent(since: now, host: host)
    order.append((descriptor, now))
    let count = countByHost[host, default: 0] + 1
    countByHost[host] = count
    return count > most
  }

  /// It has been heard.
  mutating func heard(_ descriptor: Int32) {
    heardLately.insert(descriptor)
    if !silent.isEmpty { end(descriptor) }
  }

  /// It has been heard, or has ended.
  mutating func end(_ descriptor: Int32) {
    guard let known = silent.removeValue(forKey: descriptor) else { return }
    let left = (countByHost[known.host] ?? 1) - 1
    countByHost[known.host] = left > 0 ? left : nil
  }

  /// Those that came before this moment and have said nothing; each is told once.
  mutating func takeOlder(than moment: Int64) -> [Int32] {
    var found: [Int32] = []
    while head < order.count, order[head].since < moment {
      let (descriptor, since) = order[head]
      head += 1
      if silent[descriptor]?.since == since { found.append(descriptor) }
    }
    if head > 1_024, head * 2 > order.count {
      order.removeFirst(head)
      head = 0
    }
    for descriptor in found { end(descriptor) }
    return found
  }
}
