// A folder in which the worker makes files of its own while operations of the same user may meddle
// with what is in it: nothing here leaves it through a link or a name (G38). Any thread.

import CProcess
import Glibc

/// An opened folder, and what is done beneath it. Paths are relative to it.
public struct RootFolder: ~Copyable, Sendable {
  private let folder: Descriptor

  /// Nil leaves `errno` behind.
  public init?(_ path: String) {
    let number = unsafe op_open_root(path)
    guard number >= 0 else {
      errno = -number
      return nil
    }
    folder = Descriptor(number)
  }

  /// Makes an empty file, or leaves one as it is. Returns an `errno`, 0 for success.
  public func touch(_ path: String) -> Int32 {
    let number = unsafe op_open_beneath(
      folder.number, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard number >= 0 else { return -number }
    close(number)
    return 0
  }

  /// Moves a file, over one that is there. Returns an `errno`, 0 for success.
  public func move(_ path: String, to target: String) -> Int32 {
    unsafe op_move_beneath(folder.number, path, target)
  }

  /// Makes a symbolic link to wherever `target` is. Returns an `errno`, 0 for success.
  public func link(_ path: String, to target: String) -> Int32 {
    unsafe op_link_beneath(folder.number, path, target)
  }

  /// Gives a file, a folder or a link itself to an account. Returns an `errno`, 0 for success.
  public func give(_ path: String, to account: LocalAccount) -> Int32 {
    unsafe op_give_beneath(folder.number, path, account.user, account.group)
  }

  /// Removes what is in a folder, whatever modes it was given, in at most so many steps. Returns an
  /// `errno`: 0 when it is empty, EAGAIN when there is more.
  public func empty(_ path: String, atMost budget: Int) -> Int32 {
    unsafe op_empty_beneath(folder.number, path, budget)
  }

  /// Removes a file, or a folder with what is in it. Returns an `errno`, 0 when it is not there.
  public func remove(_ path: String) -> Int32 {
    unsafe op_remove_beneath(folder.number, path, Int.max)
  }

  /// The same by a path; those above it are believed.
  public static func removeTree(_ path: String) -> Int32 {
    guard !path.utf8.contains(0) else { return EINVAL }
    return unsafe op_remove_tree(path, Int.max)
  }
}
