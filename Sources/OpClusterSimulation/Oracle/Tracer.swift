// The trace of a seed: always a hash, and lines if a person wants to read them. The same seed gives
// the same hash in every process.

import OpClusterModel

/// Kinds of lines that the hash distinguishes.
enum Mark: UInt64, Sendable {
  case life = 1
  case crash, pause, cut, heal, turn, snapshot, launch, request, answer, bytes, disk
}

final class Tracer {
  /// The hash of everything noted so far.
  private(set) var hash: UInt64 = 0
  private let write: ((String) -> Void)?

  init(write: ((String) -> Void)? = nil) { self.write = write }

  func note(
    _ mark: Mark, _ first: UInt64, _ second: UInt64, at now: Instant, _ text: () -> String
  ) {
    add(mark.rawValue)
    add(first)
    add(second)
    add(UInt64(bitPattern: now.nanoseconds))
    say(at: now, text)
  }

  /// Hashes everything that goes over a wire or to the disk, which reveals an order that depends on
  /// hashing.
  func note(bytes: [UInt8]) {
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    add(sum)
  }

  func say(at now: Instant, _ text: () -> String) {
    guard let write else { return }
    let microseconds = now.nanoseconds / 1000
    // Values print their module; readers know it.
    let text = text().replacing("OpClusterModel.", with: "")
    write("\(microseconds / 1_000_000).\(padded(microseconds % 1_000_000)) \(text)")
  }

  private func padded(_ number: Int64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
  }

  private func add(_ value: UInt64) { hash = Chance.mix(hash ^ value) &+ 0x9E37_79B9_7F4A_7C15 }
}
