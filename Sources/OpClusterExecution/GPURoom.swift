// The free gpus of the worker. An attempt gets whole gpus alone and a part of at most one more; two
// attempts share a gpu only if both asked for parts that fit together. A value owned by the core: a
// pass over the local queue works on a copy.

import OpClusterModel

/// The gpus of one attempt.
struct GPUShare: Hashable, Sendable {
  struct Part: Hashable, Sendable {
    /// The position among the worker's gpus.
    var position: Int32
    /// The amount in ten-thousandths.
    var amount: Int64
  }
  /// Ordered by position, each once.
  var parts: [Part] = []
}

/// The gpus and their free amounts, in ten-thousandths.
struct GPURoom: Sendable {
  private static let one: Int64 = 10_000

  /// The size of each gpu; all but the last are whole.
  let sizes: [Int64]
  private(set) var free: [Int64]

  /// Uses at most `Limits.gpusPerWorker`.
  init(_ capacity: ResourceAmount) {
    let capacity = max(0, capacity.tenThousandths)
    let whole = Int(min(capacity / Self.one, Int64(Limits.gpusPerWorker)))
    var sizes = Array(repeating: Self.one, count: whole)
    if whole < Limits.gpusPerWorker, capacity % Self.one > 0 { sizes.append(capacity % Self.one) }
    self.sizes = sizes
    free = sizes
  }

  /// Returns the share for a demand now; nil if there is not enough, or not in one piece.
  ///
  /// A part goes to the gpu where it leaves the least, so that gpus stay whole; if it fits nowhere,
  /// it breaks a whole one.
  func share(of demand: ResourceAmount) -> GPUShare? {
    guard demand > .zero else { return GPUShare() }
    var whole = demand.tenThousandths / Self.one
    let rest = demand.tenThousandths % Self.one
    guard whole <= Int64(free.count) else { return nil }
    var share = GPUShare()
    var broken: Int?
    if rest > 0 {
      for at in free.indices where free[at] < Self.one && free[at] >= rest {
        if let best = broken, free[best] <= free[at] { continue }
        broken = at
      }
      if broken == nil { whole += 1 }
    }
    if let broken { share.parts.append(.init(position: Int32(broken), amount: rest)) }
    for at in free.indices where free[at] == Self.one && whole > 0 {
      whole -= 1
      let isRest = rest > 0 && broken == nil && whole == 0
      share.parts.append(.init(position: Int32(at), amount: isRest ? rest : Self.one))
    }
    guard whole == 0 else { return nil }
    share.parts.sort { $0.position < $1.position }
    return share
  }

  mutating func take(_ share: GPUShare) {
    for part in share.parts { free[Int(part.position)] -= part.amount }
  }

  mutating func giveBack(_ share: GPUShare) {
    for part in share.parts { free[Int(part.position)] += part.amount }
  }

  /// Reserves free amounts for a waiting demand, on the gpus that are likely to become free for it
  /// first. Otherwise small demands behind it would keep breaking them.
  mutating func reserve(_ demand: ResourceAmount) {
    guard demand > .zero else { return }
    let whole = demand.tenThousandths / Self.one
    let rest = demand.tenThousandths % Self.one
    let order = free.indices.sorted { (free[$1], $0) < (free[$0], $1) }
    var left = whole
    for at in order {
      if left > 0, sizes[at] == Self.one {
        left -= 1
        free[at] = 0
      } else if left == 0 {
        free[at] -= min(free[at], rest)
        return
      }
    }
  }
}

extension ExecutionCore {
  /// Gives a chosen attempt its gpus. After `beginAnew` an earlier attempt with the same number may
  /// still hang in the kernel: it keeps its gpus.
  mutating func give(_ share: GPUShare, to attempt: AttemptID) {
    guard !share.parts.isEmpty else { return }
    gpus.take(share)
    gpuShares[attempt, default: []].append(share)
  }

  /// Frees the gpus of an attempt of which nothing is left.
  mutating func takeBackGPUs(of attempt: AttemptID) {
    guard !gpuShares.isEmpty, var shares = gpuShares.removeValue(forKey: attempt) else { return }
    gpus.giveBack(shares.removeLast())
    if !shares.isEmpty { gpuShares[attempt] = shares }
  }

  /// Checks that the gpus add up. For `checkInvariants`.
  func checkGPUs(_ problems: inout [String]) {
    if settings.isRelay { return }
    var room = gpus
    var count = 0
    for share in gpuShares.values.joined() {
      count += 1
      room.giveBack(share)
      for part in share.parts where part.amount <= 0 { problems.append("an empty share of a gpu") }
    }
    if room.free != gpus.sizes { problems.append("gpus \(room.free) are not \(gpus.sizes)") }
    if gpus.free.contains(where: { $0 < 0 }) { problems.append("a gpu is given to too many") }
    if gpus.free.reduce(0, +) != available.gpus.tenThousandths {
      problems.append("gpus \(gpus.free) free, counted \(available.gpus.tenThousandths)")
    }
    var users = 0
    for slot in attempts.used
    where attempts[slot].state.isLive && asksForGPUs(attempts[slot].template) {
      users += 1
    }
    for template in leftovers.values.map(\.position).sorted()
    where asksForGPUs(TemplateNumber(template)) {
      users += 1
    }
    if users != count { problems.append("\(users) attempts ask for gpus, \(count) have some") }
  }

  private func asksForGPUs(_ template: TemplateNumber) -> Bool {
    queue.classes[Int(templates[Int(template.position)].demandClass)].demand.gpus > .zero
  }
}
