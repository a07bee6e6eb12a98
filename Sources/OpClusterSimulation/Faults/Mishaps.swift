// The faults of a world, computed from the seed before it begins: a list of moments with all
// parameters. A script contains the same list (`WorldScript`).

import OpClusterModel

/// One fault.
struct Mishap: Sendable, Equatable {
  var at: Instant
  var fault: Fault
  /// The affected worker or client, if any; counted from 0, modulo their number.
  var subject = 0
  /// Its duration, or the time until a dead process is restarted.
  var length = Span.zero
  /// A further parameter: permille of the unsynced turns that survive a crash; the directions of a
  /// cut (1 to the coordinator, 2 from it); 1 for a break without notice, and for a restore with
  /// paused exclusive processes that the journal does not know.
  var detail = 0
}

extension Plan {
  /// All faults of a seed, by time.
  func mishaps(seed: UInt64, from start: Instant) -> [Mishap] {
    var found: [Mishap] = []
    for fault in Fault.allCases {
      guard let mean = meanBetween[fault.number] else { continue }
      var chance = Chance(seed, purpose: 200 + UInt64(fault.number))
      var at = start + chance.wait(mean: mean)
      while at < start + turmoil {
        if fault == .swizzle {
          found += swizzle(at, &chance)
        } else if fault == .restore {
          found += restoring(at, from: start, &chance)
        } else {
          found.append(mishap(fault, at, &chance))
        }
        at = at + chance.wait(mean: mean)
      }
    }
    return found.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
      .map(\.element)
  }

  private func mishap(_ fault: Fault, _ at: Instant, _ chance: inout Chance) -> Mishap {
    var mishap = Mishap(at: at, fault: fault, subject: chance.below(workers.count))
    switch fault {
    case .coordinatorCrash, .diskError, .bitRot:
      mishap.length = chance.milliseconds(10, 8_000)
      mishap.detail = chance.below(1001)
    case .coordinatorPause: mishap.length = chance.milliseconds(10, 20_000)
    case .diskFull: mishap.length = chance.milliseconds(100, 8_000)
    case .workerDeath, .workerStop: mishap.length = chance.milliseconds(50, 20_000)
    case .workerPause:
      // Often longer than the time until loss: only then does safety depend on the guard alone
      // (G16).
      let isLong = chance.percent(30)
      mishap.length = isLong ? chance.milliseconds(17_000, 40_000) : chance.milliseconds(10, 25_000)
    case .cut:
      mishap.length = chance.milliseconds(50, 25_000)
      mishap.detail = chance.between(1, 3)
    case .connectionBreak:
      mishap.length = chance.milliseconds(1, 2_000)
      mishap.detail = chance.percent(silentReconnects) ? 1 : 0
    case .namesake, .stranger, .snapshot, .swizzle, .restore, .backup: break
    }
    return mishap
  }

  /// Cuts that begin in one order and end in another.
  private func swizzle(_ at: Instant, _ chance: inout Chance) -> [Mishap] {
    var moment = at
    let end = at + chance.milliseconds(2_000, 12_000)
    return workers.indices.map { worker in
      moment = moment + chance.milliseconds(0, 400)
      return Mishap(
        at: moment, fault: .swizzle, subject: worker,
        length: end + chance.milliseconds(0, 3_000) - moment, detail: 3)
    }
  }

  /// A copy, and its later restore.
  private func restoring(_ at: Instant, from start: Instant, _ chance: inout Chance) -> [Mishap] {
    let age = chance.milliseconds(100, 15_000)
    let copied = max(start, at - age)
    return [
      Mishap(at: copied, fault: .backup),
      Mishap(
        at: at, fault: .restore, length: chance.milliseconds(10, 8_000),
        detail: chance.percent(60) ? 1 : 0),
    ]
  }
}
