// Whose turn it is at a holder, and who may read what.

import Citations
import OpClusterModel
import OpClusterStore
import OpClusterZeroMQ
import Testing

@testable import OpClusterTransfer

@Suite struct SendAllowanceTests {
  @Test("A limited network serves as many at a time as each get a piece within some time")
  func readersAtATime() {
    #expect(SharedSendAllowance().mostTransfers(of: 1_000, within: .seconds(5)) == .max)
    for (rate, most) in [(1, 1), (1_000, 5), (100_000, 500), (.max, .max)] as [(Int64, Int)] {
      let allowance = SharedSendAllowance(bytesPerSecond: rate)
      let found = allowance.mostTransfers(of: 1_000, within: .seconds(5))
      #expect(rate == .max ? found > 1 << 50 : found == most)
    }
  }

  @Test("A limit lets so many bytes go each second, and a large piece is owed") func limit() {
    let start = Instant(nanoseconds: 0)
    var free = SendAllowance(rate: nil, at: start)
    free.take(1 << 40)
    #expect(free.isOpen && free.opens(after: start) == start)
    var allowance = SendAllowance(rate: 1_000, at: start)
    var now = start
    var sent = 0
    // Half a minute, in steps of whatever it says.
    while now < start + .seconds(30) {
      allowance.pass(now)
      while allowance.isOpen {
        allowance.take(300)
        sent += 300
      }
      let next = allowance.opens(after: now)
      #expect(next > now && next <= now + .milliseconds(1_001))
      now = next
    }
    #expect((30_000...32_000).contains(sent), "\(sent)")
    // What was not used is not saved up beyond a second.
    allowance.pass(now + .seconds(3_600))
    var burst = 0
    while allowance.isOpen {
      allowance.take(100)
      burst += 100
    }
    #expect(burst == 1_000)
    // A clock that goes back brings nothing.
    allowance.pass(start)
    #expect(!allowance.isOpen)
  }
}

@Suite struct ServedTransfersTests {
  private let folder = Folder()

  private func open(_ size: Int) throws -> OpenContent {
    let store = try ContentStore(folder: folder.path + "/store", limit: 1 << 32)
    return try store.open(store.add(someBytes(size)).digest)
  }

  private func id(_ connection: UInt32, _ number: UInt64 = 1) -> TransferID {
    TransferID(connection: RoutingID(number: connection), number: number)
  }

  @Test("Connections have their turns in rotation, and so have the transfers of a connection")
  func rotation() throws {
    let content = try open(1_000_000)
    var transfers = ServedTransfers()
    for number in 1...2 as ClosedRange<UInt64> {
      transfers.begin(
        id(1, number), content, for: .local, from: 0, credit: 1_000_000, at: .zero)
    }
    transfers.begin(id(2), content, for: .local, from: 0, credit: 300_000, at: .zero)
    var order: [TransferID] = []
    var sums: [TransferID: Int] = [:]
    while let piece = transfers.nextPiece() {
      order.append(piece.transfer)
      sums[piece.transfer, default: 0] += piece.count
      transfers.sent(piece, at: .zero)
    }
    #expect(Array(order.prefix(4)) == [id(1, 1), id(2), id(1, 2), id(2)])
    #expect(sums == [id(1, 1): 1_000_000, id(1, 2): 1_000_000, id(2): 300_000])
    #expect(transfers.count == 1, "the third waits for credit")
    transfers.addCredit(1, to: id(2))
    let last = transfers.nextPiece()
    #expect(last?.count == 1)
  }

  @Test("A connection that takes no more has no turn until it is tried again; others go on")
  func slow() throws {
    let content = try open(600_000)
    var transfers = ServedTransfers()
    for connection in 1...2 as ClosedRange<UInt32> {
      transfers.begin(
        id(connection), content, for: .local, from: 0, credit: 600_000, at: .zero)
    }
    var pieces: [UInt32: Int] = [:]
    while let piece = transfers.nextPiece() {
      let connection = piece.transfer.connection.number
      pieces[connection, default: 0] += 1
      if connection == 1 { transfers.postpone(piece) } else { transfers.sent(piece, at: .zero) }
    }
    #expect(pieces == [1: 1, 2: 3])
    #expect(transfers.hasBlocked && !transfers.hasTurns)
    transfers.retry()
    let again = transfers.nextPiece()
    #expect(again?.offset == 0)
  }

  @Test("A large content has few readers at a time, however they end; a small one has many")
  func crowds() throws {
    let (large, small) = (try open(Int(Limits.largeContentBytes)), try open(1_000))
    var transfers = ServedTransfers()
    for connection in 1...UInt32(Limits.readersOfLargeContent) {
      #expect(!transfers.isCrowded(large.content.digest, at: .zero))
      for (number, content) in [(1, large), (2, small)] as [(UInt64, OpenContent)] {
        transfers.begin(
          id(connection, number), content, for: .local, from: 0, credit: 1, becomesHolder: true,
          at: .zero)
      }
    }
    #expect(transfers.isCrowded(large.content.digest, at: .zero))
    #expect(!transfers.isCrowded(small.content.digest, at: .zero))
    // Whoever asks again takes no second place.
    for number in 10...20 as ClosedRange<UInt64> {
      transfers.begin(
        id(1, number), large, for: .local, from: 0, credit: 1, becomesHolder: true,
        at: .zero + Limits.timeOfFewReaders)
    }
    #expect(!transfers.isCrowded(large.content.digest, at: .zero + Limits.timeOfFewReaders))
    // A client has a place besides, and takes none from them.
    transfers.begin(id(8), large, for: .local, from: 0, credit: 1, at: .zero)
    // They may be slow ones: others must not wait for them.
    #expect(!transfers.isCrowded(large.content.digest, at: .zero + Limits.timeOfFewReaders))
    transfers.end(id(1, 2))
    #expect(transfers.isCrowded(large.content.digest, at: .zero))
    transfers.end(id(1, 1))
    transfers.end(id(1, 1))
    #expect(!transfers.isCrowded(large.content.digest, at: .zero), "the client is none of them")
    transfers.begin(id(9), large, for: .local, from: 0, credit: 1, becomesHolder: true, at: .zero)
    #expect(transfers.isCrowded(large.content.digest, at: .zero))
    transfers.endAll(of: RoutingID(number: 9))
    #expect(!transfers.isCrowded(large.content.digest, at: .zero))
    transfers.begin(
      id(9), large, for: .local, from: Limits.largeContentBytes - 1, credit: 1,
      becomesHolder: true, at: .zero)
    #expect(transfers.isCrowded(large.content.digest, at: .zero))
    while let piece = transfers.nextPiece() { transfers.sent(piece, at: .zero) }
    #expect(!transfers.isCrowded(large.content.digest, at: .zero), "all of it has been sent")
  }

  @Test("Transfers are bounded for each reader and for all; ends make room")
  func bounds() throws {
    let content = try open(10)
    var transfers = ServedTransfers()
    var connection: UInt32 = 1
    for number in 0..<UInt64(Limits.transfers) {
      if transfers.refusal(of: id(connection, number), for: .local) == .tooMany { connection += 1 }
      #expect(transfers.refusal(of: id(connection, number), for: .local) == nil)
      transfers.begin(
        id(connection, number), content, for: .local, from: 0, credit: 0, at: .zero)
      #expect(transfers.count(of: RoutingID(number: connection)) <= Limits.transfersPerReader)
    }
    #expect(transfers.refusal(of: id(connection + 1), for: .local) == .tooMany)
    #expect(transfers.refusal(of: id(1, 0), for: .local) == .numberInUse)
    transfers.endAll(of: RoutingID(number: 1))
    #expect(transfers.count == Limits.transfers - Limits.transfersPerReader)
    #expect(transfers.refusal(of: id(1, 0), for: .local) == nil)
    transfers.endAll(of: .local)
    #expect(transfers.count == 0)
    let none = transfers.nextPiece()
    #expect(none?.count == nil)
  }

  @Test("One key has its share over all of its connections, and others have theirs")
  func shareOfOneKey() throws {
    let content = try open(10)
    let (crowd, other) = (
      ContentReader.key(KeyPair.random().publicKey), ContentReader.key(KeyPair.random().publicKey)
    )
    var transfers = ServedTransfers(most: Limits.transfersPerReader + 2)
    for connection in 1...UInt32(Limits.transfersPerReader) {
      #expect(transfers.refusal(of: id(connection), for: crowd) == nil)
      transfers.begin(id(connection), content, for: crowd, from: 0, credit: 10, at: .zero)
    }
    #expect(transfers.refusal(of: id(9_999), for: crowd) == .tooMany)
    for connection in 5_000...5_001 as ClosedRange<UInt32> {
      #expect(transfers.refusal(of: id(connection), for: other) == nil)
      transfers.begin(id(connection), content, for: other, from: 0, credit: 10, at: .zero)
    }
    // Now there are as many as there may be.
    #expect(transfers.refusal(of: id(6_000), for: other) == .tooMany)
    let next = transfers.nextPiece()
    transfers.sent(try #require(next), at: .zero)
    #expect(transfers.refusal(of: id(9_999), for: crowd) == nil)
    transfers.endAll(of: crowd)
    #expect(transfers.count == 2)
    for connection in 1...UInt32(Limits.transfersPerReader) {
      #expect(transfers.refusal(of: id(connection), for: crowd) == nil)
    }
  }

  @Test("Credit alone does not keep a transfer") func creditOnly() throws {
    var transfers = ServedTransfers()
    transfers.begin(id(1), try open(10), for: .local, from: 0, credit: 0, at: .zero)
    for _ in 0..<10 { transfers.addCredit(0, to: id(1)) }
    transfers.endSilent(since: .zero + .seconds(1))
    #expect(transfers.count == 0)
  }

  @Test("Who does nothing for long is forgotten; who begins and ends often is in line once")
  func silence() throws {
    let content = try open(10)
    var transfers = ServedTransfers()
    transfers.begin(id(1), content, for: .local, from: 0, credit: 5, at: .zero)
    transfers.begin(id(2), content, for: .local, from: 0, credit: 0, at: .zero + .seconds(2))
    transfers.endSilent(since: .zero + .seconds(1))
    #expect(transfers.count == 1)
    for number in 0..<100 as Range<UInt64> {
      transfers.begin(id(3, number), content, for: .local, from: 0, credit: 1, at: .zero)
      transfers.end(id(3, number))
    }
    transfers.begin(id(3, 100), content, for: .local, from: 0, credit: 2, at: .zero)
    var turns = 0
    while let piece = transfers.nextPiece() {
      turns += 1
      transfers.sent(piece, at: .zero)
    }
    #expect(turns == 1)
  }
}

@Suite struct ContentGrantsTests {
  private let reader = ContentReader.key(KeyPair.random().publicKey)

  private func grant(
    _ number: Int, to reader: ContentReader, until seconds: Int64
  ) -> ContentGrant {
    ContentGrant(
      digest: ContentHash.digest(of: Array("\(number)".utf8)), reader: reader,
      until: .zero + .seconds(seconds))
  }

  @Test("A grant lasts until its time, the longest of several, and for its reader alone")
  func times() {
    var grants = ContentGrants()
    let one = grant(1, to: reader, until: 10)
    for seconds in [10, 5, 20] as [Int64] {
      let isTaken = grants.add(grant(1, to: reader, until: seconds))
      #expect(isTaken)
    }
    #expect(grants.count == 1)
    #expect(grants.allows(reader, one.digest, at: .zero + .seconds(19)))
    #expect(!grants.allows(reader, one.digest, at: .zero + .seconds(20)))
    #expect(!grants.allows(.local, one.digest, at: .zero))
    let (before, then) = (
      grants.endOld(at: .zero + .seconds(19)), grants.endOld(at: .zero + .seconds(20))
    )
    #expect(!before && then)
    #expect(grants.count == 0 && grants.nextEnd == nil)
  }

  @Test("A revoked reader may read nothing, until he is told of again")
  func revoked() {
    var grants = ContentGrants()
    for number in 0..<10 { _ = grants.add(grant(number, to: reader, until: 10)) }
    _ = grants.add(grant(3, to: .local, until: 10))
    grants.revoke(reader)
    #expect(grants.count == 1)
    #expect(!grants.allows(reader, grant(3, to: reader, until: 0).digest, at: .zero))
    _ = grants.add(grant(3, to: reader, until: 4))
    _ = grants.endOld(at: .zero + .seconds(9))
    #expect(Array(grants.readers) == [.local])
  }

  @Test("Grants are bounded: one more is not taken, a renewal is")
  func bound() {
    #expect(ContentGrants().limit == Limits.contentGrants)
    var grants = ContentGrants(limit: 3)
    for number in 0..<3 { _ = grants.add(grant(number, to: reader, until: 10)) }
    let isTaken = grants.add(grant(3, to: reader, until: 10))
    let isRenewed = grants.add(grant(2, to: reader, until: 30))
    #expect(!isTaken && isRenewed)
    _ = grants.endOld(at: .zero + .seconds(10))
    let isTakenLater = grants.add(grant(3, to: reader, until: 40))
    #expect(isTakenLater)
  }
}
