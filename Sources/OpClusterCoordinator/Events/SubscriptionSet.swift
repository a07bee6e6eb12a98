// Keys of subscriptions in ascending order. A plain value; on the loop's thread.

import OpClusterModel

/// Keeps peers and, for each, its numbers, so a change moves the peers or the numbers of one peer,
/// of which there are at most `CoordinatorLimits.subscriptionsPerClient`.
struct SubscriptionSet {
  typealias Key = Subscriptions.Key

  /// Ascending.
  private(set) var peers: [PeerID] = []
  /// Ascending and never empty. Looked up, never iterated.
  private var numbersByPeer: [PeerID: [UInt64]] = [:]
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The numbers of a peer's keys, ascending.
  func numbers(of peer: PeerID) -> [UInt64] { numbersByPeer[peer] ?? [] }

  func contains(_ key: Key) -> Bool {
    guard let numbers = numbersByPeer[key.peer] else { return false }
    let place = numbers.place(of: key.number)
    return place < numbers.count && numbers[place] == key.number
  }

  mutating func insert(_ key: Key) {
    let peerPlace = peers.place(of: key.peer)
    if peerPlace == peers.count || peers[peerPlace] != key.peer {
      peers.insert(key.peer, at: peerPlace)
    }
    let isNew = Self.insert(key.number, into: &numbersByPeer[key.peer, default: []])
    if isNew { count += 1 }
  }

  private static func insert(_ number: UInt64, into numbers: inout [UInt64]) -> Bool {
    let place = numbers.place(of: number)
    if place < numbers.count, numbers[place] == number { return false }
    numbers.insert(number, at: place)
    return true
  }

  mutating func remove(_ key: Key) {
    guard !isEmpty, var numbers = numbersByPeer.removeValue(forKey: key.peer) else { return }
    let place = numbers.place(of: key.number)
    if place < numbers.count, numbers[place] == key.number {
      numbers.remove(at: place)
      count -= 1
    }
    if numbers.isEmpty {
      peers.remove(at: peers.place(of: key.peer))
    } else {
      numbersByPeer[key.peer] = numbers
    }
  }

  /// The first key after another one, or of all. O(log n).
  func first(after last: Key?) -> Key? {
    if isEmpty { return nil }
    var place = 0
    if let last {
      let numbers = numbers(of: last.peer)
      var next = numbers.place(of: last.number)
      if next < numbers.count, numbers[next] == last.number { next += 1 }
      if next < numbers.count { return Key(peer: last.peer, number: numbers[next]) }
      place = peers.place(of: last.peer)
      if place < peers.count, peers[place] == last.peer { place += 1 }
    }
    guard place < peers.count, let number = numbersByPeer[peers[place]]?.first else { return nil }
    return Key(peer: peers[place], number: number)
  }

  /// All keys, ascending.
  var keys: [Key] {
    peers.flatMap { peer in numbers(of: peer).map { Key(peer: peer, number: $0) } }
  }
}

extension Array where Element: Comparable {
  /// The place of the first element that is not less, in an ascending array.
  func place(of element: Element) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < element { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
