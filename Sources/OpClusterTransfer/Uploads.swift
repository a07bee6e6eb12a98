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
    /// Bytes that the sender may still send.
    var credit: Int64 = 0
    var lastActive: Instant
  }

  private var uploads: [ContentDigest: Upload] = [:]
  private var digests: [TransferID: ContentDigest] = [:]
  /// How many each connection sends.
  private var counts: [RoutingID: Int] = [:]

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
    if uploads[content.digest] == nil {
      guard uploads.count < Limits.transfers,
        counts[id.connection] ?? 0 < Limits.transfersPerReader
      else { return (.refused(.busy), nil) }
      uploads[content.digest] = Upload(
        incoming: try store.begin(content), content: content, writer: writer, lastActive: now)
    }
    guard var upload = uploads[content.digest], upload.content == content else {
      return (.refused(.failed), nil)
    }
    let replaced = upload.sender
    if let replaced {
      if replaced != id, now < upload.lastActive + Self.patience { return (.refused(.busy), nil) }
      forget(replaced)
    }
    upload.sender = id
    upload.writer = writer
    upload.lastActive = now
    let offset = upload.incoming.size
    upload.credit = min(content.size - offset, Limits.contentCredit)
    uploads[content.digest] = upload
    digests[id] = content.digest
    counts[id.connection, default: 0] += 1
    let answer =
      offset < content.size
      ? Answer.wanted(offset: offset, credit: upload.credit) : try finish(content.digest)
    return (answer, replaced == id ? nil : replaced)
  }

  private mutating func forget(_ id: TransferID) {
    guard digests.removeValue(forKey: id) != nil else { return }
    let count = counts[id.connection] ?? 1
    counts[id.connection] = count > 1 ? count - 1 : nil
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
    if let sender = uploads.removeValue(forKey: digest)?.sender { forget(sender) }
  }

  /// The sender wants to send no more of it; what has come stays for a while.
  mutating func stop(_ id: TransferID) {
    guard let digest = digests[id] else { return }
    forget(id)
    uploads[digest]?.sender = nil
  }

  /// Drops what nobody goes on with. Costs all uploads; call it every few seconds.
  mutating func endSilent(at now: Instant) {
    for (digest, upload) in uploads where upload.lastActive < now - Self.memory { drop(digest) }
  }
}
