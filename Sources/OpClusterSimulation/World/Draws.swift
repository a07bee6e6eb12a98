// The draws of a world: each depends only on the seed and on a name, so that leaving one out
// disturbs no other. Owned by the world.

/// What is drawn for.
enum Place: UInt64, CaseIterable {
  case message = 1
  case sync, turn, notice, session, reconnect, repetition, birth, kill, store, transfer
}

struct Draws: Sendable {
  private let seed: UInt64
  /// The number of draws so far, by place.
  private var counts = Array(repeating: 0, count: Place.allCases.count + 1)

  init(seed: UInt64) { self.seed = seed }

  /// A draw that depends only on the seed and these names.
  func named(_ place: Place, _ first: Int, _ second: Int = 0) -> Chance {
    let name = place.rawValue << 56 ^ UInt64(bitPattern: Int64(first)) << 28
    return Chance(seed, purpose: name ^ UInt64(bitPattern: Int64(second)))
  }

  /// The next draw of its kind.
  mutating func next(_ place: Place) -> Chance {
    counts[Int(place.rawValue)] += 1
    return named(place, counts[Int(place.rawValue)])
  }
}
