// What clients leave in a store: each content once, in order, as far as there is credit. A value;
// the server of the store owns it. What was interrupted goes on at the byte, with whoever offers it
// next.

import OpClusterModel
import OpClusterStore
import OpClusterZeroMQ

/// Each method costs the same, however many uploads there are, but for the sweep.
struct Uploads {
  private struct Upload {
    var incoming: IncomingContent
    var content: StoredContent
    /// Who sends it; nil: nobody does now.
    var sender: TransferID?
    var writer: ContentReader
    var owner: TransferOwner
    /// Bytes that the sender may still send.
    var credit: Int64 = 0
    var lastActive: Instant
  }

  private var uploads: [ContentDigest: Upload] = [:]
  private var digests: [TransferID: ContentDigest] = [:]
  /// How many each has begun, or taken over, also of those that it does not go on with.
  private var counts: [TransferOwner: Int] = [:]
  /// The most uploads of all.
  private let most: Int

  /// - Parameter most: As many uploads as there are descriptors for.
  init(most: Int = Limits.transfers) { self.most = most }

  var count: Int { uploads.count }

  /// What to say to the sender.
  enum Answer {
    case wanted(offset: Int64, credit: Int64)
    case kept(StoredContent)
    case refused(ContentRefusal)
    case nothing
  }

  /// A sender that has sent nothing for so long may be replaced by another.
  private static let patience = OpClusterModel.Span.seconds(5)
  /// What nobody goes on with for so long is dropped.
  private static let memory = OpClusterModel.Span.seconds(120)

  /// Takes an offer. Whoever sent it before, and has been silent, is replaced, and has to be told
  /// that somebody else does.
  ///
  /// - Throws: What the store says, as it has no room.
  mutating func offer(
    _ content: StoredContent, _ id: TransferID, by writer: ContentReader, to store: ContentStore,
    at now: Instant
  ) throws(StoreError) -> (answer: Answer, replaced: TransferID?) {
    let owner = TransferOwner(writer, over: id.connection)
    if uploads[content.digest]?.owner != owner,
      counts[owner] ?? 0 >= Limits.transfersPerReader
    {
      return (.refused(.busy), nil)
    }
    if uploads[content.digest] == nil {
      guard uploads.count < most else { return (.refused(.busy), nil) }
      uploads[content.digest] = Upload(
        incoming: try store.begin(content), content: content, writer: writer, owner: owner,
        lastActive: now)
      adjust(1, owner)
    }
    guard var upload = uploads[content.digest], upload.content == content else {
      return (.refused(.failed), nil)
    }
    let replaced = upload.sender
    if let replaced {
      if replaced != id, now < upload.lastActive + Self.patience { return (.refused(.busy), nil) }
      digests[replaced] = nil
    }
    upload.sender = id
    upload.writer = writer
    adjust(-1, upload.owner)
    upload.owner = owner
    adjust(1, owner)
    upload.lastActive = now
    let offset = upload.incoming.size
    upload.credit = min(content.size - offset, Limits.contentCredit)
    uploads[content.digest] = upload
    digests[id] = content.digest
    let answer =
      offset < content.size
      ? Answer.wanted(offset: offset, credit: upload.credit) : try finish(content.digest)
    return (answer, replaced == id ? nil : replaced)
  }

  private mutating func adjust(_ change: Int, _ owner: TransferOwner) {
    let own = (counts[owner] ?? 0) + change
    counts[owner] = own > 0 ? own : nil
  }

  /// Ends the uploads of a writer. Costs all uploads; keys are removed rarely.
  mutating func endAll(of writer: ContentReader) {
    for (digest, upload) in uploads where upload.writer == writer { drop(digest) }
  }

  /// Takes the next bytes. nil: the sender does not keep the rules.
  ///
  /// - Throws: What the store says; then the upload has ended.
  mutating func take(
    _ bytes: [UInt8], at offset: Int64, _ id: TransferID, at now: Instant
  ) throws(StoreError) -> Answer? {
    // Of an upload that has ended, or that somebody else has taken over.
    guard let digest = digests[id], let upload = uploads[digest] else { return .nothing }
    guard offset == upload.incoming.size, !bytes.isEmpty, Int64(bytes.count) <= upload.credit
    else { return nil }
    do throws(StoreError) {
      try upload.incoming.append(bytes.span)
    } catch {
      drop(digest)
      throw error
    }
    uploads[digest]?.lastActive = now
    uploads[digest]?.credit -= Int64(bytes.count)
    let left = upload.content.size - upload.incoming.size
    if left == 0 { return try finish(digest) }
    // In steps, so that small pieces do not each cost a message.
    let credit = upload.credit - Int64(bytes.count)
    let more = min(left, Limits.contentCredit) - credit
    guard more >= min(left - credit, Limits.contentCredit / 4), more > 0 else { return .nothing }
    uploads[digest]?.credit += more
    return .wanted(offset: upload.incoming.size, credit: more)
  }

  private mutating func finish(_ digest: ContentDigest) throws(StoreError) -> Answer {
    guard let upload = uploads[digest] else { return .nothing }
    drop(digest)
    return .kept(try upload.incoming.finish())
  }

  private mutating func drop(_ digest: ContentDigest) {
    guard let upload = uploads.removeValue(forKey: digest) else { return }
    adjust(-1, upload.owner)
    if let sender = upload.sender { digests[sender] = nil }
  }

  /// The sender wants to send no more of it; what has come stays for a while.
  mutating func stop(_ id: TransferID) {
    guard let digest = digests.removeValue(forKey: id) else { return }
    uploads[digest]?.sender = nil
  }

  /// Drops what nobody goes on with. Costs all uploads; call it every few seconds.
  mutating func endSilent(at now: Instant) {
    for (digest, upload) in uploads where upload.lastActive < now - Self.memory { drop(digest) }
  }
}
