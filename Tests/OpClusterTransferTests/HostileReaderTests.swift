// Readers and holders that do not keep the rules.

import Citations
import Logging
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import StoppingRelay
import Testing

@testable import OpClusterTransfer

@Suite(.serialized) struct HostileReaderTests {
  @Test("Requests that cannot be read, or use a number twice, end the connection and nothing else")
  func badRequests() throws {
    let (holder, reader) = (try Holder(hasKeys: false), try Reader(hasKeys: false))
    let content = try holder.store.add(someBytes(5_000_000))
    holder.grant([content], to: reader)
    let wish = ContentWish(digest: content.digest, offset: 0, credit: 1)
    for message in [[0xff, 0xff], Wire.encode(ContentRequest.wish(number: 1, wish))] {
      let rude = try Rude(holder)
      rude.send(Wire.encode(ContentRequest.wish(number: 1, wish)))
      #expect(rude.answer() == .piece(number: 1, offset: 0, [someBytes(1)[0]]))
      rude.send(message)
      #expect(rude.isCutOff())
    }
    #expect(reader.fetch(content, from: [holder]) == nil)
  }

  @Test("Positions outside of a content are refused; credit beyond measure is not taken for more")
  func positions() throws {
    let holder = try Holder(hasKeys: false)
    let reader = try Reader(hasKeys: false)
    let content = try holder.store.add(someBytes(10))
    holder.grant([content], to: reader)
    let rude = try Rude(holder)
    func ask(_ number: UInt64, from offset: Int64, credit: Int64) {
      let wish = ContentWish(digest: content.digest, offset: offset, credit: credit)
      rude.send(Wire.encode(ContentRequest.wish(number: number, wish)))
    }
    ask(1, from: 11, credit: 10)
    #expect(rude.answer() == .refused(number: 1, .failed))
    ask(2, from: 10, credit: 0)
    #expect(rude.answer() == .piece(number: 2, offset: 10, []))
    ask(3, from: 8, credit: Limits.contentBytes)
    rude.send(Wire.encode(ContentRequest.credit(number: 3, bytes: Limits.contentBytes)))
    #expect(rude.answer() == .piece(number: 3, offset: 8, Array(someBytes(10).suffix(2))))
    rude.send(Wire.encode(ContentRequest.credit(number: 77, bytes: 1)))
    ask(4, from: 0, credit: 0)
    rude.send(Wire.encode(ContentRequest.stop(number: 4)))
    ask(5, from: 9, credit: 1)
    #expect(rude.answer() == .piece(number: 5, offset: 9, Array(someBytes(10).suffix(1))))
  }

  @Test("A reader has only so many transfers; another one is served all the same")
  func tooMany() throws {
    let (holder, reader) = (try Holder(hasKeys: false), try Reader(hasKeys: false))
    let content = try holder.store.add(someBytes(1_000))
    holder.grant([content], to: reader)
    let rude = try Rude(holder)
    for number in 0...UInt64(Limits.transfersPerReader) {
      let wish = ContentWish(digest: content.digest, offset: 0, credit: 0)
      rude.send(Wire.encode(ContentRequest.wish(number: number, wish)))
    }
    #expect(rude.answer() == .refused(number: UInt64(Limits.transfersPerReader), .busy))
    #expect(reader.fetch(content, from: [holder]) == nil)
  }

  @Test("Of a large content few begin at a time who become holders; who goes on, and clients, do")
  func crowds() throws {
    let holder = try Holder(hasKeys: false)
    let content = try holder.store.add(someBytes(Int(Limits.largeContentBytes)))
    holder.grant([content], to: try Reader(hasKeys: false))
    let most = UInt64(Limits.readersOfLargeContent)
    let others = try (1...most).map { _ in try Rude(holder) }
    var rude = others[0]
    func ask(_ number: UInt64, from offset: Int64 = 0, hearsOfHolders: Bool = true) {
      let wish = ContentWish(
        digest: content.digest, offset: offset, credit: 1, hearsOfHolders: hearsOfHolders)
      rude.send(Wire.encode(ContentRequest.wish(number: number, wish)))
    }
    func isServed(_ number: UInt64) -> Bool {
      if case .piece(number, _, _) = rude.answer() { true } else { false }
    }
    for (number, other) in zip(1...most, others) {
      rude = other
      ask(number)
      #expect(isServed(number))
    }
    rude = try Rude(holder)
    ask(most + 1)
    #expect(rude.answer() == .refused(number: most + 1, .busy))
    ask(most + 2, from: 5)
    #expect(isServed(most + 2))
    ask(most + 3, hearsOfHolders: false)
    #expect(isServed(most + 3))
  }

  @Test("A message that never ends is cut; others go on", .checks("G33", "A4"))
  func unendedMessage() throws {
    let holder = try Holder(unheardBytes: 64 << 10)
    let (reader, rude) = (try Reader(), KeyPair.random())
    let content = try holder.store.add(someBytes(1_000))
    holder.grant([content], to: reader)
    let until = Instant(nanoseconds: MonotonicClock.now()) + .seconds(600)
    let grant = ContentGrant(digest: content.digest, reader: .key(rude.publicKey), until: until)
    #expect(holder.server.grant([grant]))
    // It ends behind what the relay lets through: the holder never sees the end.
    let relay = try StoppingRelay.start(to: holder.server.endpoint, stoppingAfter: 100 << 10)
    let link = try HolderLink(
      to: ContentSource(endpoint: relay.address, key: holder.source.key), rude)
    link.send([UInt8](repeating: 7, count: Limits.contentPieceBytes))
    var poller = SocketPoller()
    link.join(&poller)
    var isCut = false
    while !isCut {
      _ = link.flush()
      _ = try poller.wait(until: MonotonicClock.now() + 10_000_000)
      while let event = link.nextEvent() { isCut = isCut || event == .disconnected }
    }
    #expect(reader.fetch(content, from: [holder]) == nil)
  }

  @Test("A holder whose message never ends is left, and asked again", .checks("A4"))
  func unendedAnswer() throws {
    let holder = try Holder()
    // It waits long for bytes that do not come, and not at all for what nobody can hear.
    let reader = try Reader(patience: .seconds(600), unheardBytes: 64 << 10)
    let content = try holder.store.add(someBytes(4 << 20))
    holder.grant([content], to: reader, for: .seconds(600))
    let relay = try StoppingRelay.start(to: holder.server.endpoint, answersAfter: 100 << 10)
    let source = ContentSource(endpoint: relay.address, key: holder.source.key)
    #expect(reader.fetcher.fetch(content, from: [source]))
    #expect(reader.wait(for: content) == nil)
    #expect(Limits.contentPieceBytes > 100 << 10)
  }

  @Test("A holder that sends other bytes is asked some times, and then given up")
  func lyingHolder() throws {
    let reader = try Reader(hasKeys: false)
    let folder = Folder()
    let liar = try Liar(at: "ipc://\(folder.path)/liar")
    let content = StoredContent(digest: ContentHash.digest(of: someBytes(100)), size: 100)
    #expect(reader.fetcher.fetch(content, from: [ContentSource(endpoint: liar.address)]))
    #expect(reader.wait(for: content) == .different)
    #expect(!reader.store.has(content.digest))
    #expect(reader.store.usage.promised == 0)
    liar.stop()
  }
}

/// A reader that sends what it likes, over a socket file.
private final class Rude {
  private let socket: Socket

  init(_ holder: Holder) throws {
    socket = try Socket(role: .dealer(maximumMessageBytes: 1 << 20))
    try socket.connect(Endpoint(holder.source.endpoint))
  }

  /// Waits for the connection.
  func send(_ bytes: [UInt8]) {
    while socket.send(bytes) != .sent { pause() }
  }

  func answer() -> ContentAnswer? {
    while true {
      switch socket.receive() {
      case .message(let bytes, _): return try? Wire.decodeContentAnswer(bytes)
      case .nothing: pause()
      default: return nil
      }
    }
  }

  func isCutOff() -> Bool {
    while true {
      switch socket.nextConnectionEvent() {
      case .disconnected: return true
      case nil: pause()
      default: continue
      }
    }
  }

  private func pause() {
    var poller = SocketPoller()
    _ = poller.add(socket)
    _ = try? poller.wait(until: MonotonicClock.now() + 5_000_000)
  }
}

/// A holder that answers every wish with bytes of its own.
private final class Liar: Sendable {
  let address: String
  private let orders: Mailbox<Void>
  private let thread: ThreadHandle

  init(at address: String) throws {
    let orders = try Mailbox<Void>(capacity: 1)
    let endpoint = try Endpoint(address)
    let opening = try Opening<Endpoint>()
    self.orders = orders
    thread = try startThread(name: "liar") { Self.lie(at: endpoint, orders, opening) }
    self.address = try opening.wait().address
  }

  private static func lie(
    at endpoint: Endpoint, _ orders: Mailbox<Void>, _ opening: Opening<Endpoint>
  ) {
    do throws(SystemError) {
      let socket = try Socket(role: .router(maximumMessageBytes: 1 << 20))
      opening.succeed(try socket.bind(endpoint))
      var poller = SocketPoller()
      _ = poller.add(socket)
      let stop = poller.add(descriptor: orders.descriptor)
      while true {
        _ = try poller.wait(until: nil)
        if !poller.readiness(of: stop).isEmpty { return }
        while case .message(let bytes, let sender?) = socket.receive() {
          guard case .wish(let number, let wish) = try? Wire.decodeContentRequest(bytes) else {
            continue
          }
          let lie = [UInt8](repeating: 0, count: Int(wish.credit))
          _ = socket.send(
            Wire.encode(ContentAnswer.piece(number: number, offset: wish.offset, lie)),
            to: sender.connection)
        }
      }
    } catch {
      opening.fail(error)
    }
  }

  func stop() {
    _ = orders.post(())
    thread.join()
  }
}
