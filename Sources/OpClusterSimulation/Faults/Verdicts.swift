// Decides the fate of messages and syncs: by the replayed script, else only by the seed and the
// name of the message, so that no other draw disturbs it. Part of the world.

import OpClusterModel

extension World {
  /// Decides the fate of the next message of this owner in this direction; returns a generator for
  /// its other draws.
  func judge(_ owner: Connection.Owner, _ direction: Direction) -> (Verdict, Chance) {
    var counts = said[owner] ?? [0, 0]
    counts[direction.rawValue] += 1
    said[owner] = counts
    let number = counts[direction.rawValue]
    let line =
      switch owner {
      case .worker(let worker): worker * 2
      case .client(let client): (1_000 + client) * 2
      case .stranger(let worker): (2_001 + worker) * 2
      }
    var chance = draw(.message, line + direction.rawValue, number)
    // Uses a separate generator, since a script does without these draws.
    var fate = Chance(chance.next())
    if isHealed { return (.carried, chance) }
    let name = MessageName(owner: owner, direction: direction, number: number)
    if let scripted { return (scripted.verdict(of: name), chance) }
    let verdict = draw(&fate)
    if recording != nil, verdict != .carried {
      recording?.verdicts.append(WorldScript.MessageVerdict(name: name, verdict: verdict))
    }
    return (verdict, chance)
  }

  /// Each fault has its own rate; a message may be late, overtake and come twice. Rates are in
  /// thousandths.
  private func draw(_ chance: inout Chance) -> Verdict {
    var verdict = Verdict()
    if chance.permille(plan.lossPermille) { verdict.isLost = true }
    if chance.permille(plan.latePermille) { verdict.late = chance.milliseconds(10, 6_000) }
    if chance.permille(plan.reorderPermille) { verdict.overtakes = true }
    if chance.permille(plan.doublePermille) {
      let isLate = chance.permille(plan.latePermille * 5)
      verdict.again = isLate ? chance.milliseconds(10, 6_000) : .zero
    }
    return verdict
  }

  /// The duration of the next sync. A stalled sync of up to a minute may be longer than every lease
  /// (F51).
  func nextSyncLength() -> Span {
    syncs += 1
    var chance = draw(.sync, syncs)
    let usual = chance.microseconds(30, 400)
    if isHealed { return usual }
    if let scripted { return scripted.length(ofSync: syncs) ?? usual }
    let length: Span
    if chance.permille(plan.stalledSyncPermille) {
      length = chance.milliseconds(3_000, 60_000)
    } else if chance.permille(plan.slowSyncPermille) {
      length = chance.milliseconds(5, 3_000)
    } else {
      return usual
    }
    recording?.syncs.append(WorldScript.SyncVerdict(number: syncs, length: length))
    return length
  }
}
