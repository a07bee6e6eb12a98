// Opens and reads the files of operations' output streams (G26, G38). Opens on the loop thread at a
// start; reads on any thread that wants a tail.

import CProcess
import Glibc

/// A file for one output stream. The worker makes it with mode 0600; the process writes it, always
/// in append mode, so that it can be cut meanwhile.
public struct OutputFile: Sendable, Equatable {
  /// Relative to `root` if there is one.
  public var path: String
  /// The folder that the path may not leave, neither by `..` nor by a symbolic link (openat2).
  /// Without it only the last component may not be a link. Files of kernel file systems (proc, sys,
  /// cgroup) are never opened.
  public var root: String?
  /// Whether to follow symbolic links on the way that stay beneath `root`; the file itself may not
  /// be one.
  public var followsInnerLinks: Bool
  /// Whether to keep the file's content; otherwise it is emptied.
  public var appends: Bool
  /// Whether the host keeps the file open for the next process that names it, if this one leaves it
  /// empty and untouched. Opening and closing two files is a good part of a short process.
  public var isUsedAgain: Bool

  public init(
    path: String, beneath root: String? = nil, followsInnerLinks: Bool = false,
    appends: Bool = false, isUsedAgain: Bool = false
  ) {
    self.path = path
    self.root = root
    self.followsInnerLinks = followsInnerLinks
    self.appends = appends
    self.isUsedAgain = isUsedAgain
  }

  func openForWriting() throws(SpawnError) -> OpenOutput {
    // Non-blocking for the open only: a pipe in the file's place would block it.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | (appends ? 0 : O_TRUNC)
    guard let file = OpenOutput(try open(flags), path: isUsedAgain ? path : nil) else {
      throw .file(path: path, error: EINVAL)
    }
    return file
  }

  func openForReading() throws(SpawnError) -> Descriptor {
    try open(O_RDONLY | O_NONBLOCK)
  }

  private func open(_ flags: Int32) throws(SpawnError) -> Descriptor {
    guard !path.utf8.contains(0), !(root?.utf8.contains(0) ?? false) else {
      throw .unusable(reason: "the path \(quoted(path)) holds a NUL byte; choose another name")
    }
    guard let root else {
      let number = unsafe op_open_named(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw .file(path: path, error: -number) }
      return Descriptor(number)
    }
    // Opening for passage is enough: the file's owner may not be allowed to list the folder.
    let opened = unsafe op_open_root(root)
    guard opened >= 0 else { throw .file(path: root, error: -opened) }
    let folder = Descriptor(opened)
    let all = flags | O_NOFOLLOW | O_CLOEXEC
    let number =
      followsInnerLinks
      ? unsafe op_open_within(folder.number, path, all, 0o600)
      : unsafe op_open_beneath(folder.number, path, all, 0o600)
    guard number >= 0 else { throw .file(path: path, error: -number) }
    return Descriptor(number)
  }
}

/// A piece of an output file.
public struct OutputPart: Sendable, Equatable {
  /// The position of the bytes in the file.
  public var offset: Int
  public var bytes: [UInt8]
  /// The length of the file at the read; a follower continues at `offset + bytes.count`.
  public var fileSize: Int
}

/// Reads output files piece by piece, also while they are written.
public enum OutputTail {
  /// Maximum bytes of one read: 64 KiB (G26).
  public static let readLimit = 64 << 10

  /// Returns the last `count` bytes, at most ``readLimit``.
  public static func last(_ count: Int = readLimit, of file: OutputFile) throws(SpawnError)
    -> OutputPart
  {
    let opened = try open(file)
    let wanted = min(max(count, 0), readLimit, opened.size)
    return try read(opened, file, from: opened.size - wanted, upTo: wanted)
  }

  /// Returns up to `limit` bytes from `offset`, at most ``readLimit``. An offset past the end gives
  /// an empty part at the end, so that a follower of a cut file finds its position again.
  public static func read(
    _ file: OutputFile, from offset: Int, upTo limit: Int = readLimit
  ) throws(SpawnError) -> OutputPart {
    let opened = try open(file)
    let start = min(max(offset, 0), opened.size)
    let wanted = min(max(limit, 0), readLimit, opened.size - start)
    return try read(opened, file, from: start, upTo: wanted)
  }

  private static func open(_ file: OutputFile) throws(SpawnError) -> OpenedOutput {
    let descriptor = try file.openForReading()
    guard let size = descriptor.fileSize else { throw .file(path: file.path, error: EINVAL) }
    return OpenedOutput(descriptor: descriptor, size: size)
  }

  private static func read(
    _ opened: borrowing OpenedOutput, _ file: OutputFile, from offset: Int, upTo limit: Int
  ) throws(SpawnError) -> OutputPart {
    guard let bytes = opened.descriptor.read(upTo: limit, from: offset) else {
      throw .file(path: file.path, error: errno)
    }
    return OutputPart(offset: offset, bytes: bytes, fileSize: opened.size)
  }
}

private struct OpenedOutput: ~Copyable {
  let descriptor: Descriptor
  let size: Int
}
