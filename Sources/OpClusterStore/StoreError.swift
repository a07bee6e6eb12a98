// What can be wrong with a store or with a content. Plain values.

import Glibc
package import OpClusterFolders
package import OpClusterModel
package import OpClusterSystem

/// Why a store did not take a content, or did not give one.
package enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no room: so many bytes are wanted, so many are allowed, and so many of these have to
  /// stay.
  case full(wanted: Int64, limit: Int64, kept: Int64)
  /// There are as many contents as a store may have, and all have to stay.
  case crowded(limit: Int)
  /// The store does not have it.
  case absent(ContentDigest)
  /// The file under this name has other bytes; the store has dropped it.
  case damaged(ContentDigest)
  /// Other bytes came than were announced.
  case different(expected: StoredContent, found: StoredContent)
  case folder(FolderError)
  case machine(SystemError)

  /// Whether it is only a lack of room, of the store or of its disk.
  package var isLackOfRoom: Bool {
    switch self {
    case .full, .crowded: true
    case .machine(let error): error.code == ENOSPC || error.code == EDQUOT
    case .absent, .damaged, .different, .folder: false
    }
  }

  package var description: String {
    switch self {
    case .full(let wanted, let limit, let kept):
      "the store is full: \(wanted) bytes are wanted, and \(kept) of its \(limit) have to stay; "
        + "give it more with --store, or free the disk"
    case .crowded(let limit):
      "the store has \(limit) files and values that have to stay, and takes no more; leave many "
        + "small files as one, such as an archive"
    case .absent(let digest): "the store has no content \(digest.short)"
    case .damaged(let digest):
      "the content \(digest.short) was damaged on disk, and is dropped; look at the disk"
    case .different(let expected, let found):
      "\(found.size) bytes with the digest \(found.digest.short) came in place of "
        + "\(expected.size) with \(expected.digest.short)"
    case .folder(let error): error.description
    case .machine(let error): error.description
    }
  }
}
