// Peers that break the rules: frames too many or too few, names of their own choice. They speak
// through the raw C API, because `Socket` cannot.

import CZeroMQ
import Citations
import Glibc
import Testing

@testable import OpClusterZeroMQ

@Suite struct MalformedTests {
  /// Sends the frames as one message.
  private func sendRaw(_ frames: [[UInt8]], on dealer: borrowing Socket) {
    let raw = unsafe dealer.handle.checked()
    for (index, frame) in frames.enumerated() {
      let flags = index + 1 < frames.count ? ZMQ_SNDMORE : 0
      #expect(unsafe zmq_send(raw, frame, frame.count, flags) == Int32(frame.count))
    }
  }

  /// Somebody who came in with the key of these tests.
  private func known(_ peer: RoutingID) -> Sender {
    Sender(connection: peer, key: ThrowAwayKeys.client.publicKey)
  }

  /// By the sizes of the frames: bytes as arguments would be written as JSON, all ten million.
  @Test(
    arguments: [
      [0], [1, 1], [0, 1], [1, 0], [0, 0], [1, 1, 1, 1, 1, 1, 1],
      [Int](repeating: 10_000, count: 1_000),
    ])
  func framesToRouter(sizes: [Int]) throws {
    let frames = sizes.map { [UInt8](repeating: 1, count: $0) }
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()))
    let peer = try introduce(dealer, to: router)
    sendRaw(frames, on: dealer)
    try sendSurely([0x4F, 0x4B], on: dealer)
    #expect(try receiveNext(router) == .malformed(from: known(peer)))
    // The message after it is whole.
    #expect(try receiveNext(router) == .message([0x4F, 0x4B], from: known(peer)))
    #expect(router.receive() == .nothing)
  }

  @Test func framesToDealer() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()))
    let peer = try introduce(dealer, to: router)
    var word = peer.frameWord
    let raw = unsafe router.handle.checked()
    for frames in [[[]], [[1], [2]], [[], [1], [2]]] as [[[UInt8]]] {
      #expect(unsafe zmq_send(raw, &word, 5, ZMQ_SNDMORE) == 5)
      sendRaw(frames, on: router)
      #expect(try receiveNext(dealer) == .malformed(from: nil))
    }
    #expect(router.send([1], to: peer) == .sent)
    #expect(try receiveNext(dealer) == .message([1], from: nil))
  }

  // A2, ROUTER_HANDOVER=0: who names itself is not listened to, cannot take another's place, and
  // disturbs nobody.
  @Test(.checks("A2")) func samePeerNameTwice() throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    let first = try openDealer()
    let second = try openDealer()
    let honest = try openDealer()
    try name(first, "worker")
    try name(second, "worker")
    try first.connect(bound)
    try sendSurely([1], on: first)
    #expect(try receiveNext(router) == .malformed(from: nil))
    try second.connect(bound)
    try sendSurely([2], on: second)
    try honest.connect(bound)
    let peer = try introduce(honest, to: router)
    #expect(router.send([3], to: peer) == .sent)
    #expect(try receiveNext(honest) == .message([3], from: nil))
    // The first still owns the name: what is sent to it does not reach the second.
    let raw = unsafe router.handle.checked()
    #expect(unsafe zmq_send(raw, Array("worker".utf8), 6, ZMQ_SNDMORE) == 6)
    sendRaw([[4]], on: router)
    #expect(try receiveNext(first) == .message([4], from: nil))
    #expect(second.receive() == .nothing)
    #expect(router.receive() == .nothing)
  }

  private func name(_ dealer: borrowing Socket, _ name: String) throws {
    let bytes = Array(name.utf8)
    let raw = unsafe dealer.handle.checked()
    #expect(unsafe zmq_setsockopt(raw, ZMQ_ROUTING_ID, bytes, bytes.count) == 0)
  }

  // A peer that names itself like the next connection aborts libzmq: the numbers must not be
  // those that an unseeded generator gives to every process.
  @Test func connectionNumbersCannotBeGuessed() throws {
    var numbers: Set<UInt32> = []
    for _ in 0..<3 {
      srand(1)
      let guess = UInt32(bitPattern: rand())
      srand(1)
      let router = try openRouter()
      let dealer = try openDealer()
      try dealer.connect(router.bind(freshName()))
      let number = try introduce(dealer, to: router).number
      #expect(number & 0x7FFF_FFFF != guess)
      numbers.insert(number)
    }
    #expect(numbers.count == 3)
  }

  @Test func routingIDFrames() {
    for number in [0, 1, 0x0102_0304, UInt32.max] {
      var word = RoutingID(number: number).frameWord
      unsafe withUnsafeBytes(of: &word) { bytes in
        let frame = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(5))
        #expect(unsafe RoutingID(frame: frame) == RoutingID(number: number))
        #expect(unsafe RoutingID(frame: UnsafeRawBufferPointer(rebasing: bytes.prefix(4))) == nil)
        #expect(unsafe RoutingID(frame: bytes) == nil)
      }
    }
    #expect(MemoryLayout<RoutingID>.size == 4)
  }
}
