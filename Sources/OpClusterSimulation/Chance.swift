// Pseudo-random numbers from a seed, the same on every machine and in every process. Only the
// simulated world uses them; the scheduler and the execution core have no randomness.

import OpClusterModel

/// SplitMix64 with the few draws that a world needs.
struct Chance: Sendable {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  /// A separate generator for one purpose, so that additional draws elsewhere do not disturb it.
  init(_ seed: UInt64, purpose: UInt64) {
    state = Chance.mix(seed ^ Chance.mix(purpose))
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Chance.mix(state)
  }

  static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// 0…bound−1; 0 for a bound of 0.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }
  mutating func between(_ low: Int, _ high: Int) -> Int { low + below(high - low + 1) }
  mutating func percent(_ share: Int) -> Bool { below(100) < share }
  mutating func permille(_ share: Int) -> Bool { share > 0 && below(1000) < share }
  mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

  /// A duration from low to high, in microseconds.
  mutating func microseconds(_ low: Int, _ high: Int) -> Span {
    Span(nanoseconds: Int64(between(low, high)) * 1000)
  }
  mutating func milliseconds(_ low: Int, _ high: Int) -> Span {
    microseconds(low * 1000, high * 1000)
  }
  /// The wait for an event that happens once in `mean` on average.
  mutating func wait(mean: Span) -> Span {
    let mean = Int(mean.nanoseconds / 1000)
    return microseconds(mean / 4, mean * 7 / 4)
  }
}
