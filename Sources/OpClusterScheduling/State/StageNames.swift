// Finds the stages of a graph by their names: eight bytes for each stage, and no memory for a graph
// of few.

import OpClusterModel

struct StageNames: Sendable {
  /// The first stage of each bucket, plus one; 0 for none. Their number is a power of two.
  private var heads: [UInt32] = []
  /// The next stage of the same bucket after each one, plus one; ascending.
  private var next: [UInt32] = []

  /// The most stages that are compared one by one.
  private static let few = 32

  init() {}

  /// O(stages).
  init(_ stages: [Stage]) {
    if stages.count <= Self.few { return }
    var size = 1
    while size < stages.count { size *= 2 }
    heads = Array(repeating: 0, count: size)
    next = Array(repeating: 0, count: stages.count)
    for at in stages.indices.reversed() {
      let bucket = bucket(of: stages[at].template.name)
      next[at] = heads[bucket]
      heads[bucket] = UInt32(at) + 1
    }
  }

  private func bucket(of name: String) -> Int {
    Int(truncatingIfNeeded: UInt(bitPattern: name.hashValue) & UInt(heads.count - 1))
  }

  /// The first stage from `start` on that may have this name; nil if there is none. Costs one
  /// bucket up to there, and not even that behind a stage of the same name.
  func stage(named name: String, from start: Int, in stages: [Stage]) -> Int? {
    if heads.isEmpty { return start < stages.count ? start : nil }
    let wanted = bucket(of: name)
    var found = heads[wanted]
    if start > 0, start <= stages.count, bucket(of: stages[start - 1].template.name) == wanted {
      found = next[start - 1]
    }
    while found > 0, Int(found) <= start { found = next[Int(found) - 1] }
    return found > 0 ? Int(found) - 1 : nil
  }
}
