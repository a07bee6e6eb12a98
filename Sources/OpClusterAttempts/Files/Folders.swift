// Folders and small files through the C library. The worker's scratch folder is private and its
// names are numbers only; nothing in it is followed through a foreign link.

import Glibc
import OpClusterFolders
import OpClusterModel
import OpClusterProcesses
package import OpClusterSystem

package enum Folders {
  /// The reason why a folder or a file could not be made, as a sentence.
  struct Problem: Error, CustomStringConvertible {
    var description: String
    /// Others could have put something there (G39).
    var isUnsafe = false
  }

  fileprivate static let otherScratch = "choose another --scratch"

  package static func defaultScratch(worker: String) -> String {
    "\(UserFolders.stateOrTemporary)/worker-\(worker)"
  }

  /// The folder of root's worker for the files of operations that run as other accounts.
  package static func sharedScratch(worker: String) -> String { "/var/lib/opworker-\(worker)" }

  /// Makes one folder of mode 0700, or one that others may pass. An existing folder is no error.
  static func make(_ path: String, isPassed: Bool = false) throws(Problem) {
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw problem("cannot make folder '\(path)'")
    }
    if isPassed, unsafe chmod(path, 0o711) != 0 {
      throw problem("cannot let others pass '\(path)'")
    }
  }

  /// Lets everybody pass and list a folder.
  static func letPass(_ path: String) throws(Problem) {
    if unsafe chmod(path, 0o755) != 0 { throw problem("cannot open the folder '\(path)'") }
  }

  /// Makes a folder that everybody may pass and list; one that is there stays as it is.
  static func makeReadable(_ path: String) throws(Problem) {
    if unsafe mkdir(path, 0o755) == 0 { return try letPass(path) }
    if errno != EEXIST { throw problem("cannot make the folder '\(path)'") }
  }

  /// Makes the folders on the way to a path in a folder.
  static func makeReadableParents(of path: String, in root: String) throws(Problem) {
    var folder = root
    for name in path.pathNames.dropLast() {
      folder += "/\(name)"
      try makeReadable(folder)
    }
  }

  /// Makes a file that was not there.
  static func makeFile(_ path: String, with bytes: [UInt8]) throws(Problem) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    let file = unsafe open(path, flags, 0o600)
    guard file >= 0 else { throw problem("cannot make '\(path)'") }
    defer { close(file) }
    if FileDescriptor(file).writeAll(bytes) != nil { throw problem("cannot write '\(path)'") }
  }

  /// Writes what an open file has from where it stands to a new file.
  package static func copy(_ source: Int32, to path: String) throws(SystemError) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    let target = unsafe open(path, flags, 0o600)
    guard target >= 0 else { throw SystemError(action: "make \(path)", code: errno) }
    defer { close(target) }
    // What could be executed can be.
    if try facts(ofFile: source, at: path).isExecutable { _ = fchmod(target, 0o700) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = unsafe read(source, &buffer, buffer.count)
      if count == 0 { return }
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw SystemError(action: "read what goes to \(path)", code: errno) }
      if let error = FileDescriptor(target).writeAll(Array(buffer[..<count])) {
        throw SystemError(action: "write \(path)", code: error.code)
      }
    }
  }

  /// Size and mode of an open plain file.
  static func facts(
    ofFile descriptor: Int32, at path: String
  ) throws(SystemError) -> (size: Int64, isExecutable: Bool) {
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw SystemError(
        action: "read \(path)", code: EINVAL,
        advice: "it is no plain file; put a folder into an archive")
    }
    return (Int64(facts.st_size), facts.st_mode & 0o100 != 0)
  }

  /// Gives an open file a second name, or copies it where it can have none: on another disk, or for
  /// another owner.
  static func nameAgain(
    _ descriptor: Int32, at path: String, as name: String
  ) throws(SystemError) {
    if unsafe linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 { return }
    try copy(descriptor, to: name)
  }

  package static func removeFile(_ path: String) { _ = unsafe unlink(path) }

  /// Appends to a file in one write, so that lines of several threads do not mix. Creates the file
  /// if needed.
  static func append(_ text: String, to path: String) {
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW
    let file = unsafe open(path, flags, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
  }

  /// Returns the number of the path's owner; nil if nothing is there.
  static func owner(of path: String) -> UInt32? {
    var information = stat()
    return unsafe lstat(path, &information) == 0 ? information.st_uid : nil
  }

  /// Returns the first folder on the path, itself included, that the account may not pass; without
  /// an account, that not everybody may pass.
  static func firstImpassable(on path: String, for account: LocalAccount?) -> String? {
    var folder = ""
    for part in path.pathNames {
      folder += "/\(part)"
      let canPass: Bool
      if let account {
        canPass = (try? account.canPass(folder)) ?? false
      } else {
        var information = stat()
        canPass = unsafe stat(folder, &information) == 0 && information.st_mode & 0o001 != 0
      }
      if !canPass { return folder }
    }
    return nil
  }

  /// Makes the folder and its parents, and sets whether others may pass it. Throws unless it is
  /// ours alone and nobody can replace it.
  static func makePrivate(_ path: String, isPassed: Bool = false) throws(Problem) {
    do throws(FolderError) {
      _ = try TrustedPath.resolve(path, lastLink: .refused)
      try TrustedPath.makeFolders(path)
      try TrustedPath.checkFolder(path, lastLink: .refused)
    } catch {
      throw Problem(error)
    }
    // The folder is ours; others could at most look into it until here.
    guard unsafe chmod(path, isPassed ? 0o711 : 0o700) == 0 else {
      throw problem("cannot make folder '\(path)' private")
    }
  }

  /// Returns the first 64 KiB of a small file; nil if it cannot be read.
  package static func text(of path: String) -> String? {
    bytes(of: path, atMost: 1 << 16).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns at most `most` bytes of a regular file; nil if there is none.
  static func bytes(of path: String, atMost most: Int) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    while bytes.count < most {
      let wanted = min(most - bytes.count, 1 << 16)
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
        unsafe count = max(0, read(file, buffer.baseAddress, wanted))
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    return bytes
  }

  /// Returns the size of the file itself in bytes; nil if there is none.
  package static func size(of path: String) -> Int64? {
    var information = stat()
    return unsafe lstat(path, &information) == 0 ? Int64(information.st_size) : nil
  }

  /// What is in a file of a child's output.
  enum StreamContent { case nothing, some, givenUp, gone }

  /// Looks at a file of a child's output. One without rights was given up by the child: processes
  /// that its attempt has left behind may still write there.
  static func content(of path: String) -> StreamContent {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return .gone }
    if information.st_mode & 0o777 == 0 { return .givenUp }
    return information.st_size > 0 ? .some : .nothing
  }

  /// A fingerprint of a folder: it changes when an entry is made, removed or renamed, and when the
  /// folder itself changes.
  struct State: Equatable, Sendable {
    private let inode: UInt64
    private let mode: mode_t
    /// Nanoseconds since 1970.
    let changed: Int64

    /// Nil if there is nothing at the path.
    init?(of path: String) {
      var information = stat()
      guard unsafe lstat(path, &information) == 0 else { return nil }
      inode = UInt64(information.st_ino)
      mode = information.st_mode
      changed = Self.nanoseconds(information.st_ctim)
    }

    /// Whether it is a folder of mode 0700.
    var isPrivate: Bool { mode == S_IFDIR | 0o700 }

    /// The clock of the kernel's time stamps: that of its ticks.
    static func clock() -> Int64 {
      nanoseconds(FileClock.now())
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
      Int64(time.tv_sec).saturatingMultiply(1_000_000_000).saturatingAdd(Int64(time.tv_nsec))
    }
  }

  /// Returns the target of a symbolic link; nil for anything else.
  package static func target(of path: String) -> String? {
    let target = unsafe [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
      let length = unsafe buffer.withMemoryRebound(to: CChar.self) {
        unsafe readlink(path, $0.baseAddress!, 4_096)
      }
      count = max(0, length)
    }
    return target.isEmpty ? nil : String(decoding: target, as: UTF8.self)
  }

  package static func remove(_ path: String) { _ = unsafe unlink(path) }

  /// Removes a file or a folder with its content, whatever modes the owner set. Removes links
  /// without following them. On false something stays, and `errno` tells why.
  @discardableResult
  package static func removeTree(_ path: String) -> Bool {
    errno = RootFolder.removeTree(path)
    return errno == 0
  }

  /// Makes an empty folder; replaces what is there.
  static func makeEmpty(_ path: String) throws(Problem) {
    if unsafe mkdir(path, 0o700) == 0 { return }
    if errno == EEXIST, removeTree(path), unsafe mkdir(path, 0o700) == 0 { return }
    throw problem("cannot make an empty folder '\(path)'")
  }

  package static func names(in path: String) -> [String] {
    guard let folder = unsafe opendir(path) else { return [] }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Whether the path is a folder of this user, no link, in which nobody else can put anything.
  static func isOwnFolder(_ path: String) -> Bool {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return false }
    return information.st_mode & S_IFMT == S_IFDIR && information.st_uid == geteuid()
      && information.st_mode & 0o022 == 0
  }

  /// Whether the file exists and nobody holds its lock.
  static func isUnlocked(_ path: String) -> Bool {
    let descriptor = unsafe open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  /// Returns the seconds since the folder's content last changed.
  static func age(of path: String) -> Int64? {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return nil }
    // A folder's owner can set any time, on some file systems any number.
    return Int64(time(nil)).saturatingSubtract(Int64(information.st_mtim.tv_sec))
  }

  /// Returns the disk usage of a regular file in bytes and its last change in seconds since 1970;
  /// nil for anything else.
  package static func weight(of path: String) -> (bytes: Int64, changed: Int64)? {
    var information = stat()
    guard unsafe lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
      return nil
    }
    let taken = Int64(information.st_blocks).saturatingMultiply(512)
    return (max(Int64(information.st_size), taken), Int64(information.st_mtim.tv_sec))
  }

  package static func secondsSince1970() -> Int64 { Int64(time(nil)) }

  /// Makes an empty file; an existing one is no error.
  package static func touch(_ path: String) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if file >= 0 { close(file) }
  }

  /// Returns the size of the file system that holds the folder.
  package static func diskBytes(of path: String) -> Int64? {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0 else { return nil }
    return Int64(clamping: UInt64(status.f_blocks).saturatingMultiply(UInt64(status.f_frsize)))
  }

  static func problem(_ what: String) -> Problem {
    let error = errno
    let cause = ErrorNumber(error).text
    let advice: String
    switch error {
    case ENOSPC, EDQUOT: advice = "free space on its disk"
    case EROFS: advice = "its file system is read-only"
    case EXDEV: advice = "another file system is mounted in it; unmount that"
    case EMFILE, ENFILE: advice = "raise the worker's limit of open files"
    default: advice = "check its owner and permissions"
    }
    return Problem(description: "\(what): \(cause); \(advice)")
  }
}

extension Folders.Problem {
  fileprivate init(_ error: FolderError) {
    self.init(
      description: "\(error.description), or \(Folders.otherScratch)", isUnsafe: error.isExposed)
  }
}
