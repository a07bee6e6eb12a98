// A folder in which the worker makes files while operations of the same user may change its
// content. Nothing here leaves the folder through a link or a name (G38). Any thread.

import CProcess
import Glibc

/// An opened folder and operations beneath it. Paths are relative to it.
public struct RootFolder: ~Copyable, Sendable {
  private let folder: Descriptor

  /// On nil `errno` tells why.
  public init?(_ path: String) {
    let number = unsafe op_open_root(path)
    guard number >= 0 else {
      errno = -number
      return nil
    }
    folder = Descriptor(number)
  }

  /// Makes an empty file; leaves an existing one unchanged. Returns an `errno`, 0 for success.
  public func touch(_ path: String) -> Int32 {
    let number = unsafe op_open_beneath(
      folder.number, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard number >= 0 else { return -number }
    close(number)
    return 0
  }

  /// Moves a file; replaces an existing target. Returns an `errno`, 0 for success.
  public func move(_ path: String, to target: String) -> Int32 {
    unsafe op_move_beneath(folder.number, path, target)
  }

  /// Makes a symbolic link to any `target`. Returns an `errno`, 0 for success.
  public func link(_ path: String, to target: String) -> Int32 {
    unsafe op_link_beneath(folder.number, path, target)
  }

  /// Gives a file, a folder or a link (not its target) to an account. Returns an `errno`, 0 for
  /// success.
  public func give(_ path: String, to account: LocalAccount) -> Int32 {
    unsafe op_give_beneath(folder.number, path, account.user, account.group)
  }

  /// Removes the content of a folder, whatever its modes, in at most `budget` steps. Returns an
  /// `errno`: 0 if it is empty, EAGAIN if there is more.
  public func empty(_ path: String, atMost budget: Int) -> Int32 {
    unsafe op_empty_beneath(folder.number, path, budget)
  }

  /// Removes a file, or a folder with its content. Returns an `errno`, 0 if it does not exist.
  public func remove(_ path: String) -> Int32 {
    unsafe op_remove_beneath(folder.number, path, Int.max)
  }

  /// Removes a file or a folder by its path; trusts the folders above it.
  public static func removeTree(_ path: String) -> Int32 {
    guard !path.utf8.contains(0) else { return EINVAL }
    return unsafe op_remove_tree(path, Int.max)
  }
}
