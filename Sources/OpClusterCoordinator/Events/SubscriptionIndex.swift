// Finds the subscriptions that an event may concern, by what they select. It finds all of them and
// few others, so an event does not cost the number of subscriptions. Pure; on the loop's thread.

import OpClusterModel
import OpClusterQueries

struct SubscriptionIndex {
  typealias Key = Subscriptions.Key

  /// Those that get the events of operations, too.
  private var whole = GraphIndex()
  /// Those that get only the events of graphs.
  private var graphsOnly = GraphIndex()
  /// Those that get the events of queues and workers.
  private var cluster = SubscriptionSet()
  /// Those to the graphs of their own connections.
  private var own = SubscriptionSet()
  /// The submitters of living graphs that had such subscriptions. Looked up, never iterated.
  private var submitters: [GraphID: PeerID] = [:]

  mutating func insert(_ key: Key, _ filter: EventFilter) {
    if filter.graphsOnly {
      graphsOnly.insert(key, filter.graphs)
    } else {
      whole.insert(key, filter.graphs)
    }
    if filter.tellsCluster { cluster.insert(key) }
    if filter.includesOwn { own.insert(key) }
  }

  /// Removes a subscription with the filter that it was inserted with.
  mutating func remove(_ key: Key, _ filter: EventFilter) {
    if filter.graphsOnly {
      graphsOnly.remove(key, filter.graphs)
    } else {
      whole.remove(key, filter.graphs)
    }
    cluster.remove(key)
    own.remove(key)
  }

  /// Notes a graph that a connection has submitted.
  mutating func noteOwn(_ graph: GraphID, of peer: PeerID) {
    if !own.numbers(of: peer).isEmpty { submitters[graph] = peer }
  }

  mutating func forget(_ graph: GraphID) { submitters[graph] = nil }

  mutating func forgetGraphs() { submitters = [:] }

  /// The subscriptions that may get a part of a run, in no useful order, perhaps repeatedly. Costs
  /// the result and 32 levels of ranges at most.
  func candidates(for run: EventRun) -> [Key] {
    switch run.first.subject {
    case .worker: return cluster.keys
    case .queue: return cluster.keys + own.keys
    case .graph(let graph):
      return ofSubmitter(of: graph) + whole.candidates(for: graph.number)
        + graphsOnly.candidates(for: graph.number)
    case .operation(let operation, _):
      return ofSubmitter(of: operation.graph) + whole.candidates(for: operation.graph.number)
    }
  }

  private func ofSubmitter(of graph: GraphID) -> [Key] {
    guard let peer = submitters[graph] else { return [] }
    return own.numbers(of: peer).map { Key(peer: peer, number: $0) }
  }
}

/// Subscriptions by numbers of graphs. A selection of graphs is covered by few blocks, each of
/// which has a power of two as its size and begins at a multiple of it, so an index takes little
/// memory for any selection.
private struct GraphIndex {
  typealias Key = Subscriptions.Key

  private struct Block: Hashable {
    /// The logarithm of its size.
    var level: UInt8
    /// Its first number divided by its size.
    var position: UInt32
  }

  /// Those to all graphs from some number on.
  private var open = SubscriptionSet()
  /// Ascending. Looked up, never iterated.
  private var closed: [Block: [Key]] = [:]
  /// The number of blocks at each level.
  private var blocks = Array(repeating: 0, count: 32)

  /// The most ranges that are covered one by one; more are covered as one.
  private static let rangesEach = 2

  mutating func insert(_ key: Key, _ graphs: GraphSet) {
    if graphs.openFrom != nil { open.insert(key) }
    for block in Self.cover(graphs) {
      if closed[block] == nil { blocks[Int(block.level)] += 1 }
      closed[block, default: []].insertInOrder(key)
    }
  }

  mutating func remove(_ key: Key, _ graphs: GraphSet) {
    open.remove(key)
    for block in Self.cover(graphs) {
      guard var keys = closed.removeValue(forKey: block) else { continue }
      let place = keys.place(of: key)
      if place < keys.count, keys[place] == key { keys.remove(at: place) }
      if keys.isEmpty { blocks[Int(block.level)] -= 1 } else { closed[block] = keys }
    }
  }

  func candidates(for graph: UInt32) -> [Key] {
    var found = open.keys
    for level in blocks.indices where blocks[level] > 0 {
      let block = Block(level: UInt8(level), position: graph >> UInt32(level))
      if let keys = closed[block] { found += keys }
    }
    return found
  }

  /// At most four blocks that contain the ranges of a set.
  private static func cover(_ graphs: GraphSet) -> [Block] {
    var ranges = graphs.ranges
    if ranges.count > rangesEach {
      ranges = [ranges[0].lowerBound...ranges[ranges.count - 1].upperBound]
    }
    var found: [Block] = []
    for range in ranges {
      var level: UInt32 = 0
      while (range.upperBound >> level) - (range.lowerBound >> level) > 1 { level += 1 }
      for bound in [range.lowerBound, range.upperBound] {
        let block = Block(level: UInt8(level), position: bound >> level)
        if !found.contains(block) { found.append(block) }
      }
    }
    return found
  }
}

extension [Subscriptions.Key] {
  fileprivate mutating func insertInOrder(_ key: Element) {
    let place = place(of: key)
    if place == count || self[place] != key { insert(key, at: place) }
  }
}
