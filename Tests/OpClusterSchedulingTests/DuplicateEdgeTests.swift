// The same pair of operations, named by edges between operations, between templates, or both.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct DuplicateEdgeTests {
  private struct Pair: Hashable {
    var from: UInt32
    var to: UInt32
  }

  private func randomSubmission(_ chance: inout Seeded) -> GraphSubmission {
    var submission = GraphSubmission(name: "random")
    for at in 0..<(2 + chance.below(3)) {
      submission.templates.append(noops("t\(at)", UInt32(chance.below(4))))
    }
    let policies: [EdgePolicy] = chance.chance(50) ? [.succeeded] : [.succeeded, .finished]
    for _ in 0..<chance.below(7) {
      let count = submission.templates.count
      let pair = [chance.below(count), chance.below(count)].sorted()
      if pair[0] == pair[1] { continue }
      let isSame = submission.templates[pair[0]].count == submission.templates[pair[1]].count
      submission.groupEdges.append(
        GroupEdge(
          from: UInt32(pair[0]), to: UInt32(pair[1]),
          policy: policies[chance.below(policies.count)],
          match: isSame && chance.chance(50) ? .sameIndex : .all))
    }
    let total = submission.operationCount
    for _ in 0..<(total > 1 ? chance.below(8) : 0) {
      let pair = [chance.below(total), chance.below(total)].sorted()
      if pair[0] == pair[1] { continue }
      submission.elementEdges.from.append(UInt32(pair[0]))
      submission.elementEdges.to.append(UInt32(pair[1]))
      submission.elementEdges.policies.append(policies[chance.below(policies.count)])
    }
    return submission
  }

  /// All pairs of operations that edges connect, with the policies.
  private func connected(_ submission: GraphSubmission) -> [Pair: Set<EdgePolicy>] {
    var all: [Pair: Set<EdgePolicy>] = [:]
    let edges = submission.elementEdges
    for at in 0..<edges.count {
      all[Pair(from: edges.from[at], to: edges.to[at]), default: []].insert(edges.policies[at])
    }
    let firsts = submission.firstIndices
    for edge in submission.groupEdges {
      let (from, to) = (Int(edge.from), Int(edge.to))
      for first in 0..<submission.templates[from].count {
        for second in 0..<submission.templates[to].count
        where edge.match == .all || first == second {
          let pair = Pair(from: firsts[from] + first, to: firsts[to] + second)
          all[pair, default: []].insert(edge.policy)
        }
      }
    }
    return all
  }

  /// Two policies for one pair are refused, however they are written, and nothing else is; an
  /// accepted pair is one edge.
  @Test(.checks("S30"), arguments: 0..<400) func onePolicyForEachPair(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = World()
    world.invariantChecks = .never
    let submission = randomSubmission(&chance)
    let wanted = connected(submission)
    let reply = world.ask(.submit(submission))
    // Two edges between the same templates may contradict each other without elements.
    let policies = Dictionary(grouping: submission.groupEdges) { [$0.from, $0.to] }
      .mapValues { Set($0.map(\.policy)) }
    if (Array(wanted.values) + Array(policies.values)).contains(where: { $0.count > 1 }) {
      guard case .refused(let refusal) = reply else {
        Issue.record("seed \(seed): accepted")
        return
      }
      #expect(refusal.code == .conflictingEdge, "seed \(seed)")
      return
    }
    guard case .accepted(let id, _, _) = reply else {
      Issue.record("seed \(seed): \(String(describing: reply))")
      return
    }
    // What has no elements ends at once.
    guard world.scheduler.graphs.contains(id.number) else { return }
    let graph = world.scheduler.graphs[id.number]
    for to in 0..<UInt32(submission.operationCount) {
      var single: [UInt32] = []
      graph.forEachDependency(of: to) { on, _ in single.append(on.index) }
      let whole = graph.stages[graph.stageNumber(of: to)].incoming.filter { $0.match == .all }
        .flatMap { Array(graph.stages[$0.stage].indices) }
      let named = wanted.keys.filter { $0.to == to }.map(\.from).sorted()
      #expect((single + whole).sorted() == named, "seed \(seed), operation \(to)")
    }
  }

  /// An edge that is part of one between arrays cannot go alone. Journals of earlier releases tell
  /// that it did: nothing is left to remove then, and nothing is counted down.
  @Test(.checks("S30", "S37")) func aPartOfAnEdgeIsNotRemoved() {
    var world = World()
    world.join("w", cpus: 1)
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    var submission = GraphSubmission(name: "parts")
    submission.templates = [noops("a", 2), noops("b", 1)]
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    submission.elementEdges = ElementEdges(from: [0], to: [2], policies: [.succeeded])
    world.ask(.submit(submission))
    let (from, to) = (operation(1, 0), operation(1, 2))
    guard case .refused(let refusal) = world.ask(.removeDependency(from: from, to: to)) else {
      Issue.record("it was removed")
      return
    }
    #expect(refusal.code == .badRequest)
    world.step { scheduler, turn in
      scheduler.commit(.dependencyRemoved(from: from, to: to), into: &turn)
    }
    #expect(world.scheduler.brokenInvariant() == nil)
    #expect(world.scheduler.graphs[1].cell(2).phase == .waiting)
  }
}
