// Files that are left with a store, over TCP with keys and over socket files.

import Citations
import FoundationEssentials
import Glibc
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization
import Testing

@testable import OpClusterTransfer

@Suite(.serialized, .checks("G41")) struct UploadTests {
  /// Whoever leaves files: a folder with them, a key, and the end of the last try.
  private final class Writer: Sendable {
    let folder = Folder()
    let keys: KeyPair?
    private let wakeUp: WakeUp
    private let end = Mutex<[LocalFile: UploadFailure]?>(nil)
    private let sum = Mutex<Int64>(0)

    init(hasKeys: Bool = true) throws {
      keys = hasKeys ? KeyPair.random() : nil
      wakeUp = try WakeUp()
    }

    func file(_ name: String, _ bytes: [UInt8]) throws -> LocalFile {
      try Data(bytes).write(to: URL(filePath: "\(folder.path)/\(name)"))
      return try LocalFile(at: "\(folder.path)/\(name)")
    }

    var identity: ContentReader { keys.map { .key($0.publicKey) } ?? .local }
    /// The bytes that it has told of.
    var told: Int64 { sum.withLock { $0 } }

    /// Leaves files, and returns those that were not left.
    func leave(
      _ files: [LocalFile], with holder: Holder, patience: OpClusterModel.Span = .seconds(20)
    ) throws -> [LocalFile: UploadFailure] {
      end.withLock { $0 = nil }
      sum.withLock { $0 = 0 }
      let uploader = try ContentUploader(
        files, to: holder.source, keys: keys, patience: patience,
        sent: { [self] more in sum.withLock { $0 += more } },
        ended: { [self] failed in
          end.withLock { $0 = failed }
          wakeUp.signal()
        })
      defer { uploader.stop() }
      while true {
        if let failed = end.withLock({ $0 }) { return failed }
        wakeUp.wait()
      }
    }
  }

  private func letWrite(_ writer: Writer, _ files: [LocalFile], to holder: Holder) {
    let until = Instant(nanoseconds: MonotonicClock.now()) + .seconds(60)
    #expect(
      holder.server.grant(
        files.map {
          ContentGrant(
            digest: $0.content.digest, reader: writer.identity, until: until, mayWrite: true)
        }))
  }

  /// One that is reached waits behind so many that are not.
  @Test("Deliveries go to few stores at a time", .checks("S154"))
  func fewAtOnce() throws {
    let (owner, target) = (try Holder(), try Holder())
    let content = try owner.store.add(someBytes(1_000))
    let untold = Mutex(0)
    let deliveries = StoreDeliveries(
      from: owner.store, keys: owner.keys, allowance: SharedSendAllowance(), patience: .seconds(1)
    ) { failed in
      untold.withLock { $0 += failed.count }
    }
    defer { deliveries.end() }
    let writer = try #require(owner.keys.map { ContentReader.key($0.publicKey) })
    let until = Instant(nanoseconds: MonotonicClock.now()) + .seconds(60)
    let grant = ContentGrant(
      digest: content.digest, reader: writer, until: until, mayWrite: true)
    #expect(target.server.grant([grant]))
    let nowhere = (0..<Limits.deliveriesAtOnce).map { _ in
      ContentSource(endpoint: "tcp://127.0.0.1:1", key: KeyPair.random().publicKey.bytes)
    }
    deliveries.deliver((nowhere + [target.source]).map { ContentDelivery(content, to: $0) })
    while !target.store.has(content.digest) { usleep(1_000) }
    #expect(untold.withLock { $0 } > 0)
  }

  /// A worker that others cannot connect to leaves what they need with them.
  @Test("What a store has is left with others, and what is not is told", .checks("S154"),
    arguments: [nil, 3_000_000] as [Int64?])
  func deliveries(bytesPerSecond: Int64?) throws {
    let (owner, first, second) = (try Holder(), try Holder(), try Holder())
    let contents = try (0..<20).map { try owner.store.add(someBytes(100_000 + $0)) }
    let untold = Mutex<[FailedDelivery]>([])
    let wakeUp = try WakeUp()
    let deliveries = StoreDeliveries(
      from: owner.store, keys: owner.keys,
      allowance: SharedSendAllowance(bytesPerSecond: bytesPerSecond), patience: .seconds(2)
    ) { failed in
      untold.withLock { $0 += failed }
      wakeUp.signal()
    }
    defer { deliveries.end() }
    let until = Instant(nanoseconds: MonotonicClock.now()) + .seconds(60)
    let writer = try #require(owner.keys.map { ContentReader.key($0.publicKey) })
    for target in [first, second] {
      let grants = contents.map {
        ContentGrant(digest: $0.digest, reader: writer, until: until, mayWrite: true)
      }
      #expect(target.server.grant(grants))
    }
    let nowhere = ContentSource(
      endpoint: "tcp://127.0.0.1:1", key: KeyPair.random().publicKey.bytes)
    let absent = StoredContent(
      digest: try #require(ContentDigest(bytes: [UInt8](repeating: 1, count: 32))), size: 5)
    let unreachable = ContentDelivery(contents[0], to: nowhere)
    deliveries.deliver(contents.map { ContentDelivery($0, to: first.source) })
    deliveries.deliver([unreachable, ContentDelivery(absent, to: second.source)])
    deliveries.deliver(contents.map { ContentDelivery($0, to: second.source) })
    while untold.withLock({ $0.count }) < 2 { wakeUp.wait() }
    #expect(
      Set(untold.withLock { $0 })
        == [
          FailedDelivery(unreachable, isUnreached: true),
          FailedDelivery(ContentDelivery(absent, to: second.source), isUnreached: false),
        ])
    // Behind what is unreachable, but for the limit, all is there.
    for target in [first, second] {
      while contents.contains(where: { !target.store.has($0.digest) }) { usleep(1_000) }
      for content in contents {
        #expect(
          try target.store.open(content.digest).read(at: 0, most: 1 << 20)
            == owner.store.open(content.digest).read(at: 0, most: 1 << 20))
      }
    }
  }

  /// Each alone would be within what the first second allows.
  @Test("What is read and what is left with others share one limit", .checks("G41"))
  func oneLimit() throws {
    let allowance = SharedSendAllowance(bytesPerSecond: 2_000_000)
    let (owner, reader) = (try Holder(allowance: allowance), try Reader())
    let target = try Holder()
    let contents = try (0..<2).map { try owner.store.add(someBytes(2_000_000 + $0)) }
    owner.grant([contents[0]], to: reader)
    let writer = try #require(owner.keys.map { ContentReader.key($0.publicKey) })
    let until = Instant(nanoseconds: MonotonicClock.now()) + .seconds(60)
    #expect(
      target.server.grant([
        ContentGrant(digest: contents[1].digest, reader: writer, until: until, mayWrite: true)
      ]))
    let deliveries = StoreDeliveries(from: owner.store, keys: owner.keys, allowance: allowance) {
      Issue.record("not left: \($0)")
    }
    defer { deliveries.end() }
    let start = ContinuousClock.now
    deliveries.deliver([ContentDelivery(contents[1], to: target.source)])
    #expect(reader.fetch(contents[0], from: [owner]) == nil)
    while !target.store.has(contents[1].digest) { usleep(1_000) }
    // The second half needs a second, but for the last piece, which is owed.
    #expect(ContinuousClock.now - start > .milliseconds(800))
  }

  @Test("Files of all sizes arrive with every byte, and what is there is not sent again",
    arguments: [true, false])
  func arrive(hasKeys: Bool) throws {
    let holder = try Holder(hasKeys: hasKeys)
    let writer = try Writer(hasKeys: hasKeys)
    let sizes = [0, 1, Limits.contentPieceBytes, Limits.contentPieceBytes + 1, 20_000_003]
    var files = try sizes.map { try writer.file("f\($0)", someBytes($0)) }
    for number in 0..<300 as Range<UInt64> {
      files.append(try writer.file("s\(number)", someBytes(2_000, seed: 7 + number)))
    }
    letWrite(writer, files, to: holder)
    for _ in 0..<2 {
      #expect(try writer.leave(files, with: holder) == [:])
      #expect(writer.told == files.reduce(0) { $0 + $1.content.size })
    }
    for file in files {
      let bytes = try Data(contentsOf: URL(filePath: file.path))
      let content = try holder.store.open(file.content.digest)
      #expect(try content.read(at: 0, most: bytes.count + 1) == Array(bytes))
    }
    #expect(holder.store.usage.promised == 0)
  }

  @Test("Nobody leaves what was not granted, and who may leave it may not read it")
  func grants() throws {
    let (holder, writer) = (try Holder(), try Writer())
    let files = [try writer.file("a", someBytes(1_000)), try writer.file("b", someBytes(2_000))]
    letWrite(writer, [files[0]], to: holder)
    #expect(try writer.leave([files[0]], with: holder) == [:])
    let failed = try writer.leave([files[1]], with: holder, patience: .seconds(4))
    #expect(failed == [files[1]: .notGranted])
    let reader = try Reader(patience: .milliseconds(400))
    #expect(reader.fetch(files[0].content, from: [holder]) == .unreachable)
    #expect(!holder.store.has(files[1].content.digest))
  }

  @Test("A store without room says so before a byte is sent")
  func full() throws {
    let (holder, writer) = (try Holder(limit: 1_000), try Writer())
    let file = try writer.file("a", someBytes(1_001))
    letWrite(writer, [file], to: holder)
    #expect(try writer.leave([file], with: holder) == [file: .full])
    #expect(writer.told == 0 && holder.store.usage.promised == 0)
  }

  @Test("A file that has changed since its digest was made comes nowhere", arguments: [true, false])
  func changed(isShorter: Bool) throws {
    let (holder, writer) = (try Holder(), try Writer())
    let file = try writer.file("a", someBytes(700_000))
    try Data(someBytes(isShorter ? 300_000 : 700_000, seed: 2)).write(to: URL(filePath: file.path))
    letWrite(writer, [file], to: holder)
    #expect(try writer.leave([file], with: holder) == [file: .changed])
    #expect(!holder.store.has(file.content.digest))
  }

  @Test("What was interrupted goes on at the byte, with another connection") func resumes() throws {
    let holder = try Holder(hasKeys: false)
    let writer = try Writer(hasKeys: false)
    let bytes = someBytes(3_000_000)
    let file = try writer.file("a", bytes)
    letWrite(writer, [file], to: holder)
    // A first connection sends a part, stops, and goes.
    do {
      let link = try HolderLink(to: holder.source, nil)
      link.send(Wire.encode(.offer(number: 1, file.content)))
      let piece = Array(bytes.prefix(200_000))
      link.send(Wire.encode(ContentRequest.piece(number: 1, offset: 0, piece)))
      link.send(Wire.encode(.stop(number: 1)))
      var poller = SocketPoller()
      link.join(&poller)
      var isWanted = false
      while !isWanted {
        #expect(link.flush())
        _ = try poller.wait(until: MonotonicClock.now() + 10_000_000)
        if case .message(let answer, _) = link.receive(),
          case .wanted(1, offset: 0, credit: _) = try Wire.decodeContentAnswer(answer)
        {
          isWanted = true
        }
      }
      while holder.incomingBytes < 200_000 { usleep(1_000) }
    }
    #expect(try writer.leave([file], with: holder) == [:])
    let content = try holder.store.open(file.content.digest)
    #expect(try content.read(at: 0, most: bytes.count) == bytes)
  }

  @Test("Bytes in another order, or more than there is credit for, cut the connection")
  func rude() throws {
    let holder = try Holder(hasKeys: false)
    let writer = try Writer(hasKeys: false)
    let file = try writer.file("a", someBytes(1_000_000))
    letWrite(writer, [file], to: holder)
    var uploads = Uploads()
    let now = Instant(nanoseconds: 0)
    let id = TransferID(connection: RoutingID(number: 1), number: 1)
    _ = try uploads.offer(file.content, id, by: .local, to: holder.store, at: now)
    #expect(try uploads.take([1], at: 5, id, at: now) == nil)
    #expect(try uploads.take([], at: 0, id, at: now) == nil)
    let tooMuch = [UInt8](repeating: 0, count: 1_000_001)
    #expect(try uploads.take(tooMuch, at: 0, id, at: now) == nil)
    // Somebody else may take it over when the first is silent, and not before.
    let other = TransferID(connection: RoutingID(number: 2), number: 1)
    guard
      case .refused(.busy) = try uploads.offer(
        file.content, other, by: .local, to: holder.store, at: now
      ).answer
    else {
      Issue.record("two leave the same at once")
      return
    }
    let later = now + .seconds(6)
    let (answer, replaced) = try uploads.offer(
      file.content, other, by: .local, to: holder.store, at: later)
    guard case .wanted(offset: 0, credit: _) = answer else {
      Issue.record("a silent one keeps the others out")
      return
    }
    #expect(replaced == id, "it has to be told")
    guard case .nothing? = try uploads.take([1], at: 0, id, at: later) else {
      Issue.record("who was replaced still writes")
      return
    }
    uploads.endSilent(at: later + .seconds(121))
    #expect(uploads.count == 0 && holder.store.usage.promised == 0)
    // Whose key is removed, ends; and one connection has so many at a time.
    _ = try uploads.offer(file.content, id, by: .local, to: holder.store, at: later)
    uploads.endAll(of: .local)
    #expect(uploads.count == 0 && holder.store.usage.promised == 0)
    for number in 0...Limits.transfersPerReader {
      let digest = ContentHash.digest(of: someBytes(8, seed: UInt64(number)))
      let content = StoredContent(digest: digest, size: 8)
      let id = TransferID(connection: RoutingID(number: 1), number: UInt64(number))
      _ = try uploads.offer(content, id, by: .local, to: holder.store, at: later)
    }
    #expect(uploads.count == Limits.transfersPerReader)
  }

  @Test("One key has its share of uploads, over all connections, also of those it has stopped")
  func shareOfOneKey() throws {
    let holder = try Holder(hasKeys: false)
    var uploads = Uploads(most: Limits.transfersPerReader + 1)
    let crowd = ContentReader.key(KeyPair.random().publicKey)
    let other = ContentReader.key(KeyPair.random().publicKey)
    func offer(_ number: Int, by writer: ContentReader) throws -> Bool {
      let digest = ContentHash.digest(of: someBytes(8, seed: UInt64(number)))
      let id = TransferID(connection: RoutingID(number: UInt32(number)), number: 1)
      let (answer, _) = try uploads.offer(
        StoredContent(digest: digest, size: 8), id, by: writer, to: holder.store, at: .zero)
      uploads.stop(id)
      if case .wanted = answer { return true } else { return false }
    }
    for number in 1...Limits.transfersPerReader {
      let isTaken = try offer(number, by: crowd)
      #expect(isTaken)
    }
    let (isTooMany, isOthers) = (try offer(5_000, by: crowd), try offer(5_001, by: other))
    #expect(!isTooMany && isOthers)
    // Somebody goes on with one of them, and has it in his share.
    let (isTakenOver, hasRoom) = (try offer(7, by: other), try offer(5_001, by: crowd))
    #expect(isTakenOver && hasRoom)
    uploads.endAll(of: crowd)
    uploads.endAll(of: other)
    #expect(uploads.count == 0 && holder.store.usage.promised == 0)
    let isTakenLater = try offer(5_002, by: crowd)
    #expect(isTakenLater)
  }

  @Test("What somebody else began wrongly is sent again as a whole") func wrongBeginning() throws {
    let holder = try Holder(hasKeys: false)
    let writer = try Writer(hasKeys: false)
    let bytes = someBytes(900_000)
    let file = try writer.file("a", bytes)
    letWrite(writer, [file], to: holder)
    do {
      let link = try HolderLink(to: holder.source, nil)
      link.send(Wire.encode(.offer(number: 1, file.content)))
      let piece = someBytes(200_000, seed: 9)
      link.send(Wire.encode(ContentRequest.piece(number: 1, offset: 0, piece)))
      link.send(Wire.encode(.stop(number: 1)))
      var poller = SocketPoller()
      link.join(&poller)
      while holder.incomingBytes < 200_000 {
        #expect(link.flush())
        _ = try poller.wait(until: MonotonicClock.now() + 10_000_000)
      }
    }
    #expect(try writer.leave([file], with: holder) == [:])
    #expect(try holder.store.open(file.content.digest).read(at: 0, most: bytes.count) == bytes)
  }
}

extension Holder {
  /// The bytes of what has not come as a whole.
  fileprivate var incomingBytes: Int64 {
    let part = "\(folder.path)/store/incoming"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: part)) ?? []
    return names.reduce(0) { sum, name in
      var facts = stat()
      return unsafe lstat("\(part)/\(name)", &facts) == 0 ? sum + Int64(facts.st_size) : sum
    }
  }
}
