// Checks whether others can replace the file or folder at a path: from the root down, before
// anything at the path is read, created or trusted. Blocking; any thread.

import Glibc
import OpClusterModel

/// The path to a file or folder, checked as `sshd` does: a user who can write to a parent folder
/// can move its contents away and replace them.
public enum TrustedPath {
  /// The treatment of a link in the last component.
  public enum LastLink: Sendable {
    /// A link of this user or of root is followed, like those above.
    case followed
    /// A link is refused, since others may know the path before it exists.
    case refused
  }

  /// The limit of followed links on one path.
  static let mostLinks = 40

  /// The path without links, after a check of every folder and link above it, and of the last link.
  /// The caller must check the last component, and whether it exists. Costs one or two system calls
  /// per component.
  ///
  /// - Throws: `.exposed` with the folder or link that others can change.
  public static func resolve(
    _ path: String, lastLink: LastLink = .followed
  ) throws(FolderError) -> String {
    // In reverse order.
    var rest = Array(try absolute(path).pathNames.reversed())
    var done = ""
    var links = 0
    try checkFolder("/", above: path)
    while let part = rest.popLast() {
      if part == "." { continue }
      if part == ".." {
        // Its folders have been checked.
        done = String(done[..<(done.utf8.lastIndex(of: UInt8(ascii: "/")) ?? done.startIndex)])
        continue
      }
      let next = "\(done)/\(part)"
      let facts: FileFacts
      switch FileFacts.of(next) {
      case .success(let found): facts = found
      case .failure(let error) where error.isAbsence:
        // A missing entry can only be created by users who can write to the last existing folder:
        // this user, or everybody if it is sticky, which the owner of the new entry will reveal.
        guard !rest.contains("..") else { throw error }
        return ([next] + rest.reversed().filter { $0 != "." }).joined(separator: "/")
      case .failure(let error): throw error
      }
      if facts.kind == .link {
        if rest.isEmpty, lastLink == .refused {
          throw FolderError(
            .exposed, "\(path) is a link", hint: "put there what it points to, or name that")
        }
        links += 1
        let target = try target(of: next, facts, above: path, isOneTooMany: links > mostLinks)
        if target.hasPrefix("/") { done = "" }
        rest += target.pathNames.reversed()
        continue
      }
      if !rest.isEmpty { try check(facts, next, above: path) }
      done = next
    }
    return done.isEmpty ? "/" : done
  }

  private static func checkFolder(_ folder: String, above path: String) throws(FolderError) {
    try check(FileFacts.of(folder).get(), folder, above: path)
  }

  /// Checks a folder on the path.
  private static func check(
    _ facts: FileFacts, _ folder: String, above path: String
  ) throws(FolderError) {
    guard facts.kind == .folder else { throw .machine("go through \(folder)", ENOTDIR) }
    guard facts.isOwnerTrusted else {
      throw FolderError(
        .exposed,
        "\(path) is not safe: the folder \(folder) above it belongs to user \(facts.owner), who "
          + "can put something else in its place",
        hint: "name a folder below one of your own or of root's")
    }
    guard facts.keepsEntries else {
      throw FolderError(
        .exposed,
        "\(path) is not safe: the folder \(folder) above it has mode \(facts.shownMode), so that "
          + "others can put something else in its place",
        hint: "chmod go-w \(folder), or name another folder")
    }
  }

  /// The target of a link on the path.
  private static func target(
    of link: String, _ facts: FileFacts, above path: String, isOneTooMany: Bool
  ) throws(FolderError) -> String {
    guard !isOneTooMany else { throw .machine("follow the links of \(path)", ELOOP) }
    guard facts.isOwnerTrusted else {
      throw FolderError(
        .exposed,
        "\(path) is not safe: the link \(link) belongs to user \(facts.owner), who can let it "
          + "point somewhere else", hint: "name the folder itself")
    }
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(link, &bytes, bytes.count)
    guard count > 0 else { throw .machine("read the link \(link)", count == 0 ? ENOENT : errno) }
    return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Relative paths begin at the current directory of the process.
  private static func absolute(_ path: String) throws(FolderError) -> String {
    guard !path.utf8.contains(0) else { throw .machine("use a path with a zero byte", EINVAL) }
    if path.hasPrefix("/") { return path }
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard unsafe getcwd(&bytes, bytes.count) != nil else {
      throw .machine("find out the working directory", errno)
    }
    let folder = bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    return "\(String(decoding: folder, as: UTF8.self))/\(path)"
  }

  /// Creates the missing folders of a path, private to this user; checks all of them.
  public static func makeFolders(_ path: String) throws(FolderError) {
    let whole = try resolve(path)
    var made = ""
    for part in whole.pathNames {
      made += "/\(part)"
      if case .success = FileFacts.of(made) { continue }
      if unsafe mkdir(made, 0o700) != 0, errno != EEXIST {
        throw .machine("make the folder \(made)", errno)
      }
    }
    // In a sticky folder another user may have been faster.
    _ = try resolve(path)
  }

  /// Throws unless there is an own folder that nobody else can change or replace.
  public static func checkFolder(
    _ path: String, lastLink: LastLink = .followed
  ) throws(FolderError) {
    let place = try resolve(path, lastLink: lastLink)
    try OwnFiles.check(FileFacts.of(place).get(), place, is: .folder, forbidden: 0o022)
  }

  /// The reason why others can change the folder at a path; nil if they cannot. Does not check
  /// whether it exists, or is a folder.
  public static func problem(ofFolder path: String) -> FolderError? {
    do throws(FolderError) {
      let place = try resolve(path)
      if case .success(let facts) = FileFacts.of(place), facts.kind == .folder {
        try OwnFiles.check(facts, place, is: .folder, forbidden: 0o022)
      }
      return nil
    } catch {
      return error.isExposed ? error : nil
    }
  }
}
