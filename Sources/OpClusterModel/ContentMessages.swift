// What a reader of contents and their holder say to each other (content.proto). Values.

/// From a reader, or from a writer.
public enum ContentRequest: Hashable, Sendable {
  /// Begins a transfer; `number` names it on this connection.
  case wish(number: UInt64, ContentWish)
  /// So many bytes more may be sent.
  case credit(number: UInt64, bytes: Int64)
  /// Whoever asked wants no more of it.
  case stop(number: UInt64)
  /// Begins to leave a content.
  case offer(number: UInt64, StoredContent)
  /// The next bytes of what was offered, from this position on.
  case piece(number: UInt64, offset: Int64, [UInt8])
}

public struct ContentWish: Hashable, Sendable {
  public var digest: ContentDigest
  /// The first byte that the reader wants, 0 to `Limits.contentBytes`.
  public var offset: Int64
  /// Bytes that it takes at once, 0 to `Limits.contentBytes`.
  public var credit: Int64
  /// Whether the coordinator tells the reader of further holders: while some others read a large
  /// content here, it may be refused as busy.
  public var hearsOfHolders: Bool

  public init(
    digest: ContentDigest, offset: Int64, credit: Int64, hearsOfHolders: Bool = false
  ) {
    self.digest = digest
    self.offset = offset
    self.credit = credit
    self.hearsOfHolders = hearsOfHolders
  }
}

/// From a holder, about the transfer with this number.
public enum ContentAnswer: Hashable, Sendable {
  /// The next bytes, from this position on.
  case piece(number: UInt64, offset: Int64, [UInt8])
  case refused(number: UInt64, ContentRefusal)
  /// To a writer: so many bytes more may be sent; the first time from this position on.
  case wanted(number: UInt64, offset: Int64, credit: Int64)
  /// To a writer: the content is in the store.
  case kept(number: UInt64)
}

/// Why a holder sends nothing, or nothing more; or why it takes nothing.
public enum ContentRefusal: Int, Hashable, Sendable, CaseIterable {
  /// The coordinator has not told of the reader, or not any more; it may be on its way.
  case notGranted = 1
  case absent
  /// The file had other bytes; the holder has dropped it.
  case damaged
  /// Too many transfers at once.
  case busy
  /// It cannot be read or written, or is of a kind that this release does not know.
  case failed
  /// The store has no room for it.
  case full
}

/// Where a content can be read.
public struct ContentSource: Hashable, Sendable {
  /// The address of a holder's store.
  public var endpoint: String
  /// The holder's public key, 32 bytes; empty where there are no keys.
  public var key: [UInt8]
  /// The name of the worker, for people; empty where nobody asked for it.
  public var worker: String

  public init(endpoint: String, key: [UInt8] = [], worker: String = "") {
    self.endpoint = endpoint
    self.key = key
    self.worker = worker
  }
}

/// A client that reads contents, or leaves them.
public struct ContentAsker: Hashable, Sendable {
  /// The public key by which stores over TCP know it, 32 bytes; empty: it has none.
  public var key: [UInt8]
  /// Whether it is on the machine of the coordinator, where it reaches stores without keys.
  public var isLocal: Bool

  public init(key: [UInt8] = [], isLocal: Bool = false) {
    self.key = key
    self.isLocal = isLocal
  }
}
