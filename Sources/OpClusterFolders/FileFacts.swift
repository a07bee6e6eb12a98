// What the kernel knows of one path or open file, links not followed, and who is trusted with it.
// Blocking, but never on what is in a file; any thread.

import Glibc

/// Kind, owner and mode.
struct FileFacts {
  enum Kind { case folder, file, link, other }

  let kind: Kind
  let owner: uid_t
  /// Permission bits, with those for sticky folders and for set identities.
  let mode: mode_t
  let size: Int64

  /// Of what is at the path itself; an `errno` where nothing can be said.
  static func of(_ path: String) -> Result<FileFacts, FolderError> {
    var found = stat()
    guard unsafe lstat(path, &found) == 0 else {
      return .failure(.machine("look at \(path)", errno))
    }
    return .success(FileFacts(found))
  }

  /// Of an open file; nil when the system does not say.
  static func of(descriptor: Int32) -> FileFacts? {
    var found = stat()
    return unsafe fstat(descriptor, &found) == 0 ? FileFacts(found) : nil
  }

  private init(_ found: stat) {
    kind =
      switch found.st_mode & S_IFMT {
      case S_IFDIR: .folder
      case S_IFREG: .file
      case S_IFLNK: .link
      default: .other
      }
    owner = found.st_uid
    mode = found.st_mode & 0o7777
    size = Int64(found.st_size)
  }

  /// Root can do anything to us anyway.
  var isOwnerTrusted: Bool { owner == geteuid() || owner == 0 || owner == Self.unmappedRoot }

  /// As whom root's files are shown in a user namespace that does not know root, such as that of
  /// some containers on machines that many share; nil everywhere else.
  private static let unmappedRoot: uid_t? = {
    let lines = text(of: "/proc/self/uid_map").split(separator: "\n")
    let knowsRoot = lines.contains { $0.split(separator: " ").first == "0" }
    guard !lines.isEmpty, !knowsRoot else { return nil }
    return uid_t(text(of: "/proc/sys/kernel/overflowuid").prefix { $0.isNumber })
  }()

  /// The beginning of a file of the kernel.
  private static func text(of path: String) -> String {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Whether nobody but its owner can remove or replace what others have in it: a sticky folder,
  /// such as /tmp, lets everybody add, and each remove only what is theirs.
  var keepsEntries: Bool { mode & 0o022 == 0 || mode & mode_t(S_ISVTX) != 0 }

  var shownMode: String { "0" + String(mode, radix: 8) }
}

extension FolderError {
  /// The system refused.
  static func machine(_ action: String, _ code: Int32) -> FolderError {
    let cause = unsafe String(cString: strerror(code))
    let hint =
      switch code {
      case ENOSPC, EDQUOT: "free space on its disk"
      case EROFS: "its file system is read-only"
      case EMFILE, ENFILE: "raise the limit of open files"
      case ENOENT, ENOTDIR: "check the path"
      default: "check its owner and permissions"
      }
    return FolderError(.machine(code: code), "cannot \(action): \(cause)", hint: hint)
  }

  /// Nothing is there.
  var isAbsence: Bool { kind == .machine(code: ENOENT) }
}
