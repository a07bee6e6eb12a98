// Looks at folders and files that others have made. Blocking; any thread. Links are followed only
// where it says so.

import Glibc

/// What is at a path.
package enum FileKind: Hashable, Sendable {
  case file(isExecutable: Bool)
  case folder
  /// A device, a socket, a pipe.
  case other

  /// Where the path leads, through links; nil: nowhere.
  package init?(ofTarget path: String) {
    var facts = stat()
    guard unsafe stat(path, &facts) == 0 else { return nil }
    self.init(facts)
  }

  /// At the path itself; nil: a link, or nothing.
  package init?(of path: String) {
    var facts = stat()
    guard unsafe lstat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFLNK else { return nil }
    self.init(facts)
  }

  private init(_ facts: stat) {
    switch facts.st_mode & S_IFMT {
    case S_IFREG: self = .file(isExecutable: facts.st_mode & 0o100 != 0)
    case S_IFDIR: self = .folder
    default: self = .other
    }
  }

  package var isFile: Bool { if case .file = self { true } else { false } }
}

package enum FileTree {
  /// When what a path leads to was last written, in nanoseconds since 1970; nil: there is nothing.
  package static func lastWritten(_ path: String) -> Int64? {
    var facts = stat()
    guard unsafe stat(path, &facts) == 0 else { return nil }
    let (nanoseconds, overflows) = Int64(facts.st_mtim.tv_sec)
      .multipliedReportingOverflow(by: 1_000_000_000)
    if overflows { return facts.st_mtim.tv_sec < 0 ? .min : .max }
    return nanoseconds.addingReportingOverflow(Int64(facts.st_mtim.tv_nsec)).partialValue
  }

  /// The names in a folder that `isWanted` takes, in the order of their bytes; none if there is no
  /// such folder. Reads all of them, and keeps at most `limit`; nil: there are more.
  package static func names(
    in folder: String, atMost limit: Int, where isWanted: (String) -> Bool
  ) throws(SystemError) -> [String]? {
    guard let stream = unsafe opendir(folder) else {
      if errno == ENOENT || errno == ENOTDIR { return [] }
      throw SystemError(action: "list the folder \(folder)", code: errno)
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let bytes = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe Array(bytes.prefix { $0 != 0 })
      }
      guard let name = String(validating: bytes, as: UTF8.self) else {
        throw SystemError(
          action: "read the names in \(folder)", code: EILSEQ,
          advice: "one is not UTF-8; give the file another name")
      }
      if name == "." || name == ".." || !isWanted(name) { continue }
      if names.count >= limit { return nil }
      names.append(name)
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Makes the folders on the way to a file; those that are there stay as they are.
  package static func makeParents(of path: String) throws(SystemError) {
    var folder = path.hasPrefix("/") ? "/" : ""
    for part in path.utf8.split(separator: UInt8(ascii: "/")).dropLast() {
      let name = String(Substring(part))
      folder += folder.isEmpty || folder == "/" ? name : "/\(name)"
      if unsafe mkdir(folder, 0o777) == 0 || errno == EEXIST { continue }
      throw SystemError(action: "make the folder \(folder)", code: errno)
    }
  }

  /// Opens a file for reading, and runs `body` with its descriptor. Never waits for a writer.
  package static func reading<Value>(
    _ path: String, followsLinks: Bool, _ body: (Int32) throws -> Value
  ) throws -> Value {
    let descriptor = try descriptor(path, followsLinks: followsLinks)
    defer { close(descriptor) }
    return try body(descriptor)
  }

  /// A descriptor for reading; the caller closes it.
  package static func descriptor(
    _ path: String, followsLinks: Bool
  ) throws(SystemError) -> Int32 {
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
    let descriptor = unsafe open(path, flags)
    guard descriptor >= 0 else { throw SystemError(action: "open \(path)", code: errno) }
    return descriptor
  }
}
