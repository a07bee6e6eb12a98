// Whether others can put something else in the place of a path: looked at from the root down before
// anything at the path is read, made or believed. Blocking; any thread.

import Glibc

/// The way to a file or folder, as `sshd` looks at it: whoever can write to a folder above it can
/// move it away, with everything in it, and put their own there.
public enum TrustedPath {
  /// What may be in the last place of a path.
  public enum LastLink: Sendable {
    /// A link of ours or of root's leads on, as those above do.
    case followed
    /// None: the path is one that others can know before it is there.
    case refused
  }

  /// Links that are followed on one way.
  static let mostLinks = 40

  /// The path without links, after a look at every folder and link above it, and at the last link.
  /// What is in the last place, and whether anything is there, is for the caller to judge. Costs
  /// one or two calls of the system for each part of the path.
  ///
  /// - Throws: `.exposed` with the folder or link that others can change.
  public static func resolve(
    _ path: String, lastLink: LastLink = .followed
  ) throws(FolderError) -> String {
    // From the end to the beginning.
    var rest = Array(try absolute(path).split(separator: "/").map(String.init).reversed())
    var done = ""
    var links = 0
    try checkFolder("/", above: path)
    while let part = rest.popLast() {
      if part == "." { continue }
      if part == ".." {
        // Its folders have been looked at.
        done = String(done[..<(done.lastIndex(of: "/") ?? done.startIndex)])
        continue
      }
      let next = "\(done)/\(part)"
      let facts: FileFacts
      switch FileFacts.of(next) {
      case .success(let found): facts = found
      case .failure(let error) where error.isAbsence:
        // Nobody can make what is missing but who can write to the last folder there is: we, or
        // everybody where it is sticky, which shows in the owner of what is there then.
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
        rest += target.split(separator: "/").map(String.init).reversed()
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

  /// A folder on the way.
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

  /// Where a link on the way leads.
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

  /// Relative paths begin where the process is now.
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

  /// Makes the folders of a path that are missing, each for us alone; looks at all of them.
  public static func makeFolders(_ path: String) throws(FolderError) {
    let whole = try resolve(path)
    var made = ""
    for part in whole.split(separator: "/") {
      made += "/\(part)"
      if case .success = FileFacts.of(made) { continue }
      if unsafe mkdir(made, 0o700) != 0, errno != EEXIST {
        throw .machine("make the folder \(made)", errno)
      }
    }
    // Somebody else may have been quicker where everybody can add.
    _ = try resolve(path)
  }

  /// Throws unless there is a folder of ours that nobody else can change, or exchange for another.
  public static func checkFolder(
    _ path: String, lastLink: LastLink = .followed
  ) throws(FolderError) {
    let place = try resolve(path, lastLink: lastLink)
    try OwnFiles.check(FileFacts.of(place).get(), place, is: .folder, forbidden: 0o022)
  }

  /// Why the folder at a path is none that only its user can change; nil: it is one. Whether it is
  /// there, and is a folder, is for others to judge.
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
