// Checks that the written files are still those that a start would find. The journal's thread
// checks before it reports anything durable, and readers check now and then.

struct WrittenFiles: Sendable {
  private let folder: StateFolder
  private let known: [(path: String, identity: FileIdentity)]

  /// Make it when both files exist.
  init(_ folder: StateFolder) throws(JournalError) {
    self.folder = folder
    var known: [(path: String, identity: FileIdentity)] = []
    for path in [folder.database, folder.writeAheadLog] {
      guard let identity = FileSystem.identity(path) else {
        throw .lostFiles(folder.path, because: "\(path) is not there")
      }
      known.append((path, identity))
    }
    self.known = known
  }

  /// Costs two system calls.
  func check() throws(JournalError) {
    for (path, identity) in known where FileSystem.identity(path) != identity {
      let isGone = FileSystem.identity(path) == nil
      throw .lostFiles(
        folder.path, because: "\(path) was \(isGone ? "removed" : "replaced by another file")")
    }
  }
}
