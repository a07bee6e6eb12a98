// Reads small files that must be ours: opens them without following a link and without waiting for
// the other end of a pipe, and checks them before the first byte. Blocking; any thread.

import Glibc
import OpClusterSystem

public enum OwnFiles {
  /// The bytes of a file that only root or this user can change, such as a configuration; nil if
  /// there is none. Follows links of this user and of root.
  ///
  /// - Parameter isSecret: Others must not be able to read it, except a group that root or we
  ///   chose.
  public static func contents(
    ofTrusted path: String, limit: Int, isSecret: Bool = false
  ) throws(FolderError) -> [UInt8]? {
    // An unreachable file counts as missing, whoever could change it.
    guard case .success = FileFacts.of(path) else { return nil }
    let place = try TrustedPath.resolve(path)
    return try contents(at: place, limit: limit) { facts throws(FolderError) in
      guard facts.isOwnerTrusted else { throw foreign(facts, place) }
      guard facts.mode & 0o022 == 0 else { throw open(facts, place, hint: "chmod go-w \(place)") }
      guard !isSecret || facts.mode & 0o004 == 0 else {
        throw open(facts, place, hint: "chmod 0600 \(place)")
      }
    }
  }

  /// The bytes of a file that only this user can read, in a checked folder; nil if there is none.
  static func contents(ofPrivate path: String, limit: Int) throws(FolderError) -> [UInt8]? {
    try contents(at: path, limit: limit) { facts throws(FolderError) in
      try check(facts, path, is: .file, forbidden: ~0o600)
    }
  }

  private static func contents(
    at path: String, limit: Int, _ check: (FileFacts) throws(FolderError) -> Void
  ) throws(FolderError) -> [UInt8]? {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: return nil
      case ELOOP:
        throw FolderError(
          .exposed, "\(path) is a link", hint: "put the file itself there, with mode 0600")
      // The path is a socket.
      case ENXIO: throw noFile(path)
      default: throw .machine("open \(path)", errno)
      }
    }
    defer { close(descriptor) }
    guard let facts = FileFacts.of(descriptor: descriptor) else {
      throw .machine("look at \(path)", errno)
    }
    guard facts.kind == .file else { throw noFile(path) }
    try check(facts)
    guard facts.size <= limit else { throw tooLong(path, limit) }
    do throws(ErrorNumber) {
      return try FileDescriptor(descriptor).readAll(limit: limit)
    } catch {
      throw error.isTooLarge ? tooLong(path, limit) : .machine("read \(path)", error.code)
    }
  }

  /// Checks that it is ours, of this kind, and that others lack the forbidden rights.
  static func check(
    _ facts: FileFacts, _ path: String, is kind: FileFacts.Kind, forbidden: mode_t
  ) throws(FolderError) {
    guard facts.kind == kind else {
      if facts.kind == .link {
        throw FolderError(
          .exposed, "\(path) is a link", hint: "put there what it points to, or name that")
      }
      throw kind == .folder
        ? FolderError(.exposed, "\(path) is not a folder", hint: "name a folder") : noFile(path)
    }
    guard facts.owner == geteuid() else { throw foreign(facts, path) }
    guard facts.mode & forbidden == 0 else {
      throw open(facts, path, hint: "chmod \(kind == .folder ? "0700" : "0600") \(path)")
    }
  }

  private static func foreign(_ facts: FileFacts, _ path: String) -> FolderError {
    FolderError(
      .exposed, "\(path) belongs to user \(facts.owner), not to \(geteuid()), who runs this",
      hint: "run this as the owner, or: chown \(geteuid()) \(path)")
  }

  private static func open(_ facts: FileFacts, _ path: String, hint: String) -> FolderError {
    FolderError(
      .exposed, "\(path) has mode \(facts.shownMode): others may get at it", hint: hint)
  }

  private static func noFile(_ path: String) -> FolderError {
    FolderError(.exposed, "\(path) is not a file", hint: "remove it")
  }

  private static func tooLong(_ path: String, _ limit: Int) -> FolderError {
    FolderError(.tooLong, "\(path) has more than \(limit) bytes", hint: "restore a copy")
  }
}
