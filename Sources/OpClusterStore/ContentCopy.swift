// How a content becomes a file outside of the store. Blocking; any thread.

import Glibc

/// A file that is to have the bytes of a content.
package struct ContentCopy {
  package let path: String
  /// Where it is written before it appears, in a folder of the same disk.
  let temporary: String
  let mode: UInt32
  /// Whether the user's mask takes from the mode, as of any file that he makes.
  let obeysMask: Bool
  /// Whether it takes the place of a file that is there.
  let replaces: Bool
  /// Asked now and then; false: nobody wants it any more.
  let goesOn: () -> Bool

  /// - Parameter folder: Where it is written, if that is on the same disk; nil, or on another one:
  ///   in the folder where it appears.
  package init(
    to path: String, mode: UInt32, obeysMask: Bool = false, replaces: Bool = false,
    by folder: String? = nil, goesOn: @escaping () -> Bool = { true }
  ) {
    let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    let usable = folder.flatMap { Self.areOnOneDisk($0, parent) ? $0 : nil }
    let name = ".opcluster-\(UInt64.random(in: .min ... .max))"
    self.path = path
    temporary = usable.map { "\($0)/\(name)" } ?? parent + name
    self.mode = mode
    self.obeysMask = obeysMask
    self.replaces = replaces
    self.goesOn = goesOn
  }

  private static func areOnOneDisk(_ one: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    let codes = unsafe (stat(one, &first), stat(other, &second))
    return codes == (0, 0) && first.st_dev == second.st_dev
  }

  /// Gives the file its name; the code of what went wrong.
  func appear() -> Int32? {
    if replaces { return unsafe rename(temporary, path) == 0 ? nil : errno }
    // Unlike `rename` it replaces nothing.
    if unsafe link(temporary, path) == 0 {
      _ = unsafe unlink(temporary)
      return nil
    }
    let code = errno
    // Some disks have no second names.
    guard code == EPERM || code == EOPNOTSUPP || code == ENOSYS || code == EMLINK else {
      return code
    }
    var facts = stat()
    if unsafe lstat(path, &facts) == 0 { return EEXIST }
    return unsafe rename(temporary, path) == 0 ? nil : errno
  }
}
