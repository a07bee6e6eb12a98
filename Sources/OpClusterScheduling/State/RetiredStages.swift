// The stages of large graphs that have ended: to free 200,000 of them at once takes as long as
// several turns, for which everybody would wait.

struct RetiredStages: Sendable {
  private var lists: [[Stage]] = []
  /// What a turn frees at most, of stages or of templates.
  static var freedPerTurn: Int { 4_096 }

  /// Keeps the stages of a large graph, to be freed little by little.
  mutating func retire(_ stages: [Stage]) {
    if stages.count > Self.freedPerTurn { lists.append(stages) }
  }

  mutating func freeSome() {
    guard let last = lists.indices.last else { return }
    lists[last].removeLast(min(lists[last].count, Self.freedPerTurn))
    if lists[last].isEmpty { lists.removeLast() }
  }
}
