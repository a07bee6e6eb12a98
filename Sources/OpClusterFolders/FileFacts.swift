// The kernel's data about one path or open file, without following links, and its trusted owners.
// Blocking, but never on the content of a file; any thread.

import Glibc
import OpClusterSystem

/// Kind, owner and mode.
struct FileFacts {
  enum Kind { case folder, file, link, other }

  let kind: Kind
  let owner: uid_t
  /// Permission bits, including the sticky bit and the set-identity bits.
  let mode: mode_t
  let size: Int64

  /// The data about the path itself; an `errno` if they are unavailable.
  static func of(_ path: String) -> Result<FileFacts, FolderError> {
    var found = stat()
    guard unsafe lstat(path, &found) == 0 else {
      return .failure(.machine("look at \(path)", errno))
    }
    return .success(FileFacts(found))
  }

  /// The data about an open file; nil if they are unavailable.
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

  /// Whether the owner is this user or root, who has all power over this user in any case.
  var isOwnerTrusted: Bool { owner == geteuid() || owner == 0 || owner == Self.unmappedRoot }

  /// The owner shown for root's files in a user namespace without root, for example in some
  /// containers on shared machines; nil everywhere else.
  private static let unmappedRoot: uid_t? = {
    let lines = (FileDescriptor.text(ofKernelFile: "/proc/self/uid_map") ?? "").split(
      separator: "\n")
    let knowsRoot = lines.contains { $0.split(separator: " ").first == "0" }
    guard !lines.isEmpty, !knowsRoot else { return nil }
    let number = FileDescriptor.text(ofKernelFile: "/proc/sys/kernel/overflowuid") ?? ""
    return uid_t(number.prefix { $0.isNumber })
  }()

  /// Whether only the owner can remove or replace others' entries: in a sticky folder, such as
  /// /tmp, everybody may add, and each may remove only their own.
  var keepsEntries: Bool { mode & 0o022 == 0 || mode & mode_t(S_ISVTX) != 0 }

  var shownMode: String { "0" + String(mode, radix: 8) }
}

extension FolderError {
  /// The system refused an action.
  static func machine(_ action: String, _ code: Int32) -> FolderError {
    let cause = ErrorNumber(code).text
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

  /// Whether the path does not exist.
  var isAbsence: Bool { kind == .machine(code: ENOENT) }
}
