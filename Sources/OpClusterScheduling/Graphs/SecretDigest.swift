// SHA-256 (FIPS 180-4) of a secret value, and of what an operation does. The fingerprint of a
// submission outlives the submission, so it must not allow anyone to compute a secret (G39).

import OpClusterModel

struct SecretDigest {
  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]
  private var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
    0x5be0_cd19,
  ]

  /// The digest of a text: eight words of 32 bits.
  static func words(of text: String) -> [UInt32] { words(of: Array(text.utf8)) }

  static func digest(of bytes: [UInt8]) -> ContentDigest {
    let digest = ContentDigest(
      bytes: words(of: bytes).flatMap { word in
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
      })
    guard let digest else { preconditionFailure("eight words are 32 bytes") }
    return digest
  }

  private static func words(of message: [UInt8]) -> [UInt32] {
    var bytes = message
    let length = UInt64(bytes.count) &* 8
    bytes.append(0x80)
    while bytes.count % 64 != 56 { bytes.append(0) }
    for at in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: length >> UInt64(at)))
    }
    var digest = SecretDigest()
    for block in stride(from: 0, to: bytes.count, by: 64) { digest.take(bytes[block..<block + 64]) }
    return digest.state
  }

  /// Kept from block to block, to reuse its memory.
  private var words = [UInt32](repeating: 0, count: 64)

  private mutating func take(_ block: ArraySlice<UInt8>) {
    for at in 0..<16 {
      let start = block.startIndex + at * 4
      words[at] = block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    for at in 16..<64 {
      let (early, late) = (words[at - 15], words[at - 2])
      let first = early.turned(7) ^ early.turned(18) ^ early >> 3
      let second = late.turned(17) ^ late.turned(19) ^ late >> 10
      words[at] = words[at - 16] &+ first &+ words[at - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for at in 0..<64 {
      let second = e.turned(6) ^ e.turned(11) ^ e.turned(25)
      let choice = (e & f) ^ (~e & g)
      let one = h &+ second &+ choice &+ Self.constants[at] &+ words[at]
      let first = a.turned(2) ^ a.turned(13) ^ a.turned(22)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ first &+ majority)
    }
    for (at, word) in [a, b, c, d, e, f, g, h].enumerated() { state[at] &+= word }
  }
}

extension UInt32 {
  /// Rotates to the right.
  fileprivate func turned(_ count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}
