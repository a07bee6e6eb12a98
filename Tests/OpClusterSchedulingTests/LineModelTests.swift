// The line of a queue against a model that looks at everything: every choice compared, whatever is
// added, taken, taken away, set aside, and whatever fits.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct LineAgainstAModel {
  /// One operation in line.
  private struct Entry {
    var place: UInt64
    var level: Int
    var demandClass: Int
    var stands = true
  }

  private struct Trial {
    var line = Line()
    var entries: [Entry] = []
    var amounts: [DemandAmounts] = []
    var serials: [UInt64] = []
    var lastPlace: UInt64 = 0
    /// Classes of levels that are set aside, and whether until the workers change.
    var aside: [Int: Bool] = [:]
    /// Classes of levels that no pass has refused since something entered them.
    var awake: Set<Int> = []
    var wakesAll = false
    var steps = 0

    func key(_ entry: Entry) -> Int { key(entry.demandClass, entry.level) }
    func key(_ demandClass: Int, _ level: Int) -> Int { demandClass * Line.levelCount + level }

    func lineClass(_ number: Int) -> LineClass {
      LineClass(number: number, serial: serials[number], amounts: amounts[number])
    }

    /// The first that may fit (S47, S61): for what is awake any worker counts, for what sleeps
    /// those that have changed.
    func expected(_ all: DemandAmounts, _ fresh: [DemandAmounts]) -> Entry? {
      entries.filter { entry in
        guard entry.stands, aside[key(entry)] == nil else { return false }
        let amounts = amounts[entry.demandClass]
        return (wakesAll || awake.contains(key(entry))) && all.admit(amounts)
          || fresh.contains { $0.admit(amounts) }
      }.min { ($1.level, $0.place) < ($0.level, $1.place) }
    }

    func settle(_ run: ReadyRun, _ level: Int) -> Line.Settling {
      let standing = (0..<run.count).map { offset in
        entries.contains {
          $0.stands && $0.level == level && $0.place == run.place + UInt64(offset)
        }
      }
      guard let first = standing.firstIndex(of: true) else { return .gone }
      let valid = standing[first...].prefix { $0 }.count
      return .stands(skip: UInt32(first), valid: UInt32(valid))
    }
  }

  // S47 S51 S61
  @Test(.checks("S47", "S51", "S61"), arguments: 0..<200)
  func everyChoiceIsTheModels(seed: UInt64) {
    var chance = Seeded(state: seed)
    var trial = Trial()
    for number in 0..<(1 + chance.below(12)) {
      trial.amounts.append(randomAmounts(&chance))
      trial.serials.append(UInt64(number + 1))
    }
    for step in 0..<200 {
      switch chance.below(8) {
      case 0...2: add(&trial, &chance)
      case 3: leave(&trial, &chance)
      case 4: replaceClass(&trial, &chance)
      case 5: if chance.chance(30) { sweep(&trial) }
      default: runPass(&trial, &chance, "seed \(seed), step \(step)")
      }
    }
    // In the end everything fits.
    trial.line.serve(as: nil)
    trial.line.serve(as: 2)
    trial.wakesAll = true
    wakeResting(&trial)
    runPass(&trial, &chance, "seed \(seed), end", takesAll: true)
    let isEmpty = trial.line.isEmpty
    #expect(isEmpty, "seed \(seed)")
    #expect(trial.line.runCount == 0, "seed \(seed)")
  }

  private func randomAmounts(_ chance: inout Seeded) -> DemandAmounts {
    DemandAmounts(
      cpus: Int64(chance.below(4)), memory: Int64(chance.below(6)), gpus: Int64(chance.below(2)),
      kinds: 1 << UInt64(chance.below(4)))
  }

  private func randomReach(_ chance: inout Seeded) -> DemandAmounts {
    DemandAmounts(
      cpus: Int64(chance.below(4)), memory: Int64(chance.below(6)), gpus: Int64(chance.below(2)),
      kinds: UInt64(chance.below(16)))
  }

  private func add(_ trial: inout Trial, _ chance: inout Seeded) {
    // Sometimes one that was there before comes back to its old place.
    if chance.chance(25), let at = trial.entries.indices.randomElement(using: &chance) {
      trial.entries[at].stands = true
      let entry = trial.entries[at]
      let run = ReadyRun(place: entry.place, graph: GraphID(1), first: 0, count: 1)
      trial.line.add(run, of: trial.lineClass(entry.demandClass), level: entry.level)
      trial.awake.insert(trial.key(entry))
      return
    }
    let count = 1 + chance.below(4)
    let demandClass = chance.below(trial.amounts.count)
    let level = chance.below(Line.levelCount)
    trial.line.add(
      ReadyRun(
        place: trial.lastPlace + 1, graph: GraphID(1), first: 0, count: UInt32(count)),
      of: trial.lineClass(demandClass), level: level)
    trial.awake.insert(trial.key(demandClass, level))
    for _ in 0..<count {
      trial.lastPlace += 1
      trial.entries.append(
        Entry(place: trial.lastPlace, level: level, demandClass: demandClass))
    }
  }

  private func leave(_ trial: inout Trial, _ chance: inout Seeded) {
    for at in trial.entries.indices where chance.chance(20) { trial.entries[at].stands = false }
  }

  /// All operations of a class have gone, and another class has its number.
  private func replaceClass(_ trial: inout Trial, _ chance: inout Seeded) {
    let number = chance.below(trial.amounts.count)
    trial.entries.removeAll { $0.demandClass == number }
    for level in 0..<Line.levelCount { trial.aside[trial.key(number, level)] = nil }
    trial.amounts[number] = randomAmounts(&chance)
    trial.serials[number] += 100
  }

  private func sweep(_ trial: inout Trial) {
    let model = trial
    trial.line.sweep { model.settle($0, $1) }
    // What was set aside is looked at anew, and all of it is awake.
    trial.aside = [:]
    trial.awake = Set(trial.entries.filter(\.stands).map { trial.key($0) })
    trial.wakesAll = false
    let standing = model.entries.contains(where: \.stands)
    #expect(trial.line.isEmpty == !standing)
  }

  private func runPass(
    _ trial: inout Trial, _ chance: inout Seeded, _ name: String, takesAll: Bool = false
  ) {
    if !takesAll, chance.chance(20) {
      trial.line.serve(as: nil)
      trial.line.serve(as: 2)
      trial.wakesAll = true
    }
    let greatest = DemandAmounts(cpus: 9, memory: 9, gpus: 9, kinds: .max)
    let all = takesAll ? greatest : randomReach(&chance)
    let bounds = (0..<chance.below(4)).map { _ in randomReach(&chance) }
    // What is beyond it rests until the workers change; nothing that is within reach is.
    var ever = takesAll ? greatest : all
    for bound in bounds { ever.raise(by: bound) }
    var fresh = FreshReach()
    for bound in bounds { fresh.widen(by: bound) }
    while takesAll || chance.chance(85) {
      let model = trial
      let expected = model.expected(all, bounds)
      let found = trial.line.first(
        within: { _ in LineReach(all: all, fresh: fresh, ever: ever) }, &trial.steps
      ) {
        model.settle($0, $1)
      }
      #expect(found?.run.place == expected?.place, "\(name)")
      #expect(found?.level == expected?.level, "\(name)")
      guard let found, let expected else { break }
      if !takesAll, chance.chance(30) {
        let isResting = chance.chance(50)
        trial.line.setAside(found, untilWorkersChange: isResting)
        trial.aside[model.key(expected)] = isResting
      } else {
        let count = 1 + UInt32(chance.below(Int(found.valid)))
        for at in trial.entries.indices
        where trial.entries[at].level == found.level
          && trial.entries[at].place >= found.run.place
          && trial.entries[at].place < found.run.place + UInt64(count)
        {
          trial.entries[at].stands = false
        }
        trial.line.take(count, of: found)
      }
    }
    // A later pass must find what rested in this one if its workers are others.
    wakeResting(&trial)
    trial.line.close()
    #expect(!trial.line.isAwake, "\(name)")
    trial.line.reopen()
    trial.awake = []
    trial.wakesAll = false
    trial.aside = [:]
    if takesAll {
      let model = trial
      #expect(!trial.line.stands(above: -1) { model.settle($0, $1) }, "\(name)")
    }
  }

  /// The workers have changed: what none of them could ever run is looked at again.
  private func wakeResting(_ trial: inout Trial) {
    trial.line.wakeResting()
    for (key, _) in trial.aside { trial.awake.insert(key) }
    trial.aside = [:]
  }
}
