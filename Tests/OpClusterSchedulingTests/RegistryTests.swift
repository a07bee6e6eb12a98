// Things by ascending number, against a table: what is found, in which order, and that memory is
// what lives, however old the oldest is (G29).

import Citations
import Testing

@testable import OpClusterScheduling

@Suite struct RegistryTests {
  private struct Thing: Blankable, Equatable {
    var name: UInt32
    static var blank: Thing { Thing(name: 0) }
  }

  // Seeds differ in how much goes, and in the gaps between numbers.
  @Test(.checks("G29"), arguments: 0..<60) func findsWhatIsThere(seed: UInt64) {
    var chance = Seeded(state: seed)
    var registry = Registry<Thing>()
    var model: [UInt32: UInt32] = [:]
    var last: UInt32 = seed % 3 == 0 ? .max - 5_000 : 0
    let rate = 20 + chance.below(70)
    for _ in 0..<600 {
      if chance.chance(rate) || model.isEmpty {
        last += 1 + UInt32(seed % 2 == 0 ? 0 : chance.below(4))
        registry.insert(Thing(name: last), number: last)
        model[last] = last
      } else if let gone = model.keys.sorted().randomElement(using: &chance) {
        registry.remove(gone)
        model[gone] = nil
      }
      #expect(registry.count == model.count)
      #expect(registry.entryCount <= 2 * model.count + 64)
      let probe = last - min(last, UInt32(chance.below(700)))
      #expect(registry.find(probe)?.name == model[probe], "seed \(seed): \(probe)")
      #expect(!registry.contains(last &+ 1))
    }
    #expect(registry.numbers == model.keys.sorted())
    var seen: [UInt32] = []
    registry.forEachNumber {
      seen.append($0)
      return seen.count < 3
    }
    #expect(seen == Array(model.keys.sorted().prefix(3)))
    for number in registry.numbers { #expect(registry[number].name == number) }
  }

  // One that stays costs no more because a hundred thousand came and went since.
  @Test(.checks("G29")) func anOldOneKeepsNoRoomForOthers() {
    var registry = Registry<Thing>()
    registry.insert(Thing(name: 1), number: 1)
    for number in UInt32(2)...100_000 {
      registry.insert(Thing(name: number), number: number)
      if number > 10 { registry.remove(number - 8) }
    }
    #expect(registry.count <= 20)
    #expect(registry.entryCount <= 2 * registry.count + 64)
    #expect(registry[1].name == 1)
    #expect(registry[100_000].name == 100_000)
  }

  /// The copy has what was there when it began, whatever comes, changes and goes while it is taken.
  @Test(.checks("G4"), arguments: 0..<40) func aCopyIsOfOneMoment(seed: UInt64) {
    var chance = Seeded(state: seed)
    var registry = Registry<Thing>()
    var last: UInt32 = 0
    func add(_ count: Int) {
      for _ in 0..<count {
        last += 1 + UInt32(chance.below(3))
        registry.insert(Thing(name: last), number: last)
      }
    }
    add(chance.below(3_000))
    // Slots that are free when the copy begins, and are used again.
    for number in registry.numbers where chance.chance(20) { registry.remove(number) }
    let before = Dictionary(uniqueKeysWithValues: registry.numbers.map { ($0, registry[$0].name) })
    registry.beginCopy()
    let leaving = [0, 30, 100][chance.below(3)]
    var turns = 0
    var whole: RegistryCopy<Thing>?
    while whole == nil {
      for number in registry.numbers {
        if chance.chance(5) { registry[number].name += 1_000_000 }
        if chance.chance(leaving) { registry.remove(number) }
      }
      add(chance.below(400))
      whole = registry.takePartOfCopy()
      turns += 1
    }
    #expect(whole?.numbers == before.keys.sorted())
    for (number, name) in before { #expect(whole?[number].name == name) }
    #expect(turns <= 1 + 3_000 / RegistryCopy<Thing>.elementsOfPart)
    #expect(registry.takePartOfCopy() == nil)
  }
}
