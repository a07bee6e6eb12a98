// Keys as values: their spelling, their pairs, and that a secret stays one.

import Citations
import Testing

@testable import OpClusterZeroMQ

@Suite struct KeyTests {
  // The examples of ZeroMQ RFC 32.
  @Test func knownSpellings() throws {
    #expect(Z85.encode([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B]) == "HelloWorld")
    #expect(Z85.decode("HelloWorld".utf8) == [0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])
    let text = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
    let key = try #require(PublicKey(text))
    #expect(key.text == text)
    #expect(key.bytes.prefix(3) == [0xBB, 0x88, 0x47])
    #expect(PublicKey(bytes: key.bytes) == key)
  }

  @Test(arguments: [
    "", "HelloWorld", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf",
    "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf77",
    "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf ", "#####U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
    "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]y\u{E9}",
  ])
  func noKeys(text: String) {
    #expect(PublicKey(text) == nil)
    #expect(SecretKey(text) == nil)
  }

  @Test func randomSpellings() {
    for _ in 0..<1_000 {
      let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
      #expect(Z85.decode(Z85.encode(bytes).utf8) == bytes)
    }
  }

  @Test func pairs() throws {
    let one = KeyPair.random()
    let other = KeyPair.random()
    #expect(one.publicKey != other.publicKey)
    #expect(KeyPair(one.secretKey).publicKey == one.publicKey)
    let read = try #require(SecretKey(one.secretKey.revealedText))
    #expect(KeyPair(read).publicKey == one.publicKey)
    #expect(SecretKey(bytes: one.secretKey.revealed)?.revealed == one.secretKey.revealed)
    #expect(SecretKey(bytes: [1, 2, 3]) == nil)
  }

  // G39
  @Test(.checks("G39")) func secretsStaySecret() {
    let pair = KeyPair.random()
    let secret = pair.secretKey.revealedText
    var dumped = ""
    dump(pair, to: &dumped)
    let keys = SocketKeys.client(pair, server: pair.publicKey)
    for text in [
      "\(pair.secretKey)", String(reflecting: pair.secretKey), "\(pair)", dumped, "\(keys)",
      String(reflecting: keys), "\(Optional(pair.secretKey) as Any)",
    ] {
      #expect(!text.contains(secret))
      #expect(!text.contains("\(pair.secretKey.revealed)"))
      #expect(text.contains("secret"))
    }
  }
}
