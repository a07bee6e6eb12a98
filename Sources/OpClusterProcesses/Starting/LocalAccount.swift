// An account of this machine that operations run as instead of the worker's own, which then is
// root. Looked up by the worker; used by `ProcessHost` at each start and whenever a file is opened
// for an operation. Any thread.

import CProcess
import Glibc

/// An account with its rights, and the values that its programs get.
public struct LocalAccount: Hashable, Sendable {
  /// The reason why an account cannot be used.
  public enum Problem: Error, Hashable, Sendable {
    case unknown
    /// The account is root, which has all rights.
    case root
    /// The list of accounts did not answer; carries the `errno`.
    case unavailable(Int32)
  }

  public let name: String
  public let user: UInt32
  public let group: UInt32
  /// All groups of the account.
  let groups: [UInt32]
  public let home: String

  /// Returns the account with this name. Reads the machine's list of accounts, which may be on
  /// another machine.
  public static func named(_ name: String) throws(Problem) -> LocalAccount {
    guard !name.isEmpty, !name.utf8.contains(0) else { throw .unknown }
    return try unsafe read { entry, buffer, found in
      unsafe getpwnam_r(name, entry, buffer.baseAddress!, buffer.count, found)
    }
  }

  /// Returns the account that owns a file. An account that is no longer in the machine's list has
  /// only the owner's rights.
  public static func owner(_ user: UInt32) -> LocalAccount {
    let account = try? unsafe read { entry, buffer, found in
      unsafe getpwuid_r(user, entry, buffer.baseAddress!, buffer.count, found)
    }
    let nobody = UInt32(65_534)
    return account
      ?? LocalAccount(name: "\(user)", user: user, group: nobody, groups: [], home: "/")
  }

  private typealias Lookup = (
    UnsafeMutablePointer<passwd>, UnsafeMutableBufferPointer<CChar>,
    UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
  ) -> Int32

  /// Maximum bytes of one entry.
  private static let entryLimit = 1 << 20

  private static func read(_ lookup: Lookup) throws(Problem) -> LocalAccount {
    var size = 4_096
    while true {
      let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: size)
      defer { unsafe buffer.deallocate() }
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>? = nil
      let error = unsafe lookup(&entry, buffer, &found)
      if error == EINTR { continue }
      if error == ERANGE, size < entryLimit {
        size *= 4
        continue
      }
      guard unsafe found != nil else {
        // Some lists return these codes for a missing entry.
        let isAbsent = [0, ENOENT, ESRCH, EBADF, EPERM].contains(error)
        throw isAbsent ? .unknown : .unavailable(error)
      }
      guard unsafe entry.pw_uid != 0 else { throw .root }
      return unsafe LocalAccount(
        name: String(cString: entry.pw_name), user: entry.pw_uid, group: entry.pw_gid,
        groups: groups(of: entry.pw_name, entry.pw_gid), home: String(cString: entry.pw_dir))
    }
  }

  private static func groups(of name: UnsafePointer<CChar>, _ group: UInt32) -> [UInt32] {
    var count = Int32(OP_GROUP_LIMIT)
    return unsafe [UInt32](unsafeUninitializedCapacity: Int(OP_GROUP_LIMIT)) { buffer, filled in
      let all = unsafe getgrouplist(name, group, buffer.baseAddress, &count)
      filled = all < 0 ? 0 : min(Int(count), Int(OP_GROUP_LIMIT))
    }
  }

  /// Runs `body` with the rights of the account and no others, on this thread. Only root may call
  /// it; nothing in `body` may leave the thread.
  public func withRights<Result: ~Copyable>(
    _ body: () throws(SpawnError) -> Result
  ) throws(SpawnError) -> Result {
    var own = op_groups()
    let error = unsafe withPointer { account in unsafe op_account_enter(account, &own) }
    guard error == 0 else {
      throw .refused(step: "take the rights of \(quoted(name)) on files", error: error)
    }
    defer { unsafe op_account_leave(&own) }
    return try body()
  }

  /// Whether the account may pass a folder.
  public func canPass(_ folder: String) throws(SpawnError) -> Bool {
    try withRights { () throws(SpawnError) in
      unsafe faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) == 0
    }
  }

  /// Passes the account to C, for the duration of the call.
  func withPointer<Result>(_ body: (UnsafePointer<op_account>) -> Result) -> Result {
    unsafe groups.withUnsafeBufferPointer { groups in
      var account = unsafe op_account(
        user: user, group: group, groups: groups.baseAddress, group_count: groups.count)
      return unsafe body(&account)
    }
  }
}

/// Runs `body` with the rights of an account; nil: with one's own.
public func withRights<Result: ~Copyable>(
  of account: LocalAccount?, _ body: () throws(SpawnError) -> Result
) throws(SpawnError) -> Result {
  guard let account else { return try body() }
  return try account.withRights(body)
}
