// Whoever reads contents from a store or leaves some there, as its holder knows them. Values.

package import OpClusterModel
package import OpClusterZeroMQ

package enum ContentReader: Hashable, Sendable {
  /// The owner of a key, over TCP.
  case key(PublicKey)
  /// A process of this user, over a socket file, where nobody is asked.
  case local

  package init(_ sender: Sender) { self = sender.key.map(ContentReader.key) ?? .local }
}

/// Whose transfers are counted together: those of one key, over however many connections; who comes
/// without one is this user, and has a share for each connection.
enum TransferOwner: Hashable, Sendable {
  case key(PublicKey)
  case connection(RoutingID)

  init(_ reader: ContentReader, over connection: RoutingID) {
    self =
      switch reader {
      case .key(let key): .key(key)
      case .local: .connection(connection)
      }
  }
}

/// The coordinator's word that somebody may read a content, or leave one, until a moment.
package struct ContentGrant: Hashable, Sendable {
  package var digest: ContentDigest
  package var reader: ContentReader
  package var until: Instant
  /// Whether it may be left here, and not read.
  package var mayWrite: Bool

  package init(
    digest: ContentDigest, reader: ContentReader, until: Instant, mayWrite: Bool = false
  ) {
    self.digest = digest
    self.reader = reader
    self.until = until
    self.mayWrite = mayWrite
  }
}
