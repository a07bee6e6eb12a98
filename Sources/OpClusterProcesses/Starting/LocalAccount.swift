// An account of this machine that operations run as in place of the worker's own, which then is
// root's. Looked up by the worker; used at each start by `ProcessHost` and wherever a file is
// opened for an operation. Any thread.

import CProcess
import Glibc

/// An account as the kernel knows it: what it may do, and what its programs are told of it.
public struct LocalAccount: Hashable, Sendable {
  /// Why there is no such account to be had.
  public enum Problem: Error, Hashable, Sendable {
    case unknown
    /// It is root's, which may do everything.
    case root
    /// The list of accounts did not answer: the `errno`.
    case unavailable(Int32)
  }

  public let name: String
  public let user: UInt32
  public let group: UInt32
  /// All of its groups.
  let groups: [UInt32]
  public let home: String

  /// The account of a name. Reads the machine's list of accounts, which can be on another machine.
  public static func named(_ name: String) throws(Problem) -> LocalAccount {
    guard !name.isEmpty, !name.utf8.contains(0) else { throw .unknown }
    return try unsafe read { entry, buffer, found in
      unsafe getpwnam_r(name, entry, buffer.baseAddress!, buffer.count, found)
    }
  }

  /// The account that owns a file. One that the machine's list does not have any more has no rights
  /// but the owner's.
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

  /// Bytes of one entry at most.
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
        // Some lists answer so where they have no such entry.
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

  /// Does something to files with the rights of the account and no others, on this thread. To be
  /// called by root; nothing in `body` may leave the thread.
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

  /// Whether it may pass a folder.
  public func canPass(_ folder: String) throws(SpawnError) -> Bool {
    try withRights { () throws(SpawnError) in
      unsafe faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) == 0
    }
  }

  /// The account as C takes it, for the duration of the call.
  func withPointer<Result>(_ body: (UnsafePointer<op_account>) -> Result) -> Result {
    unsafe groups.withUnsafeBufferPointer { groups in
      var account = unsafe op_account(
        user: user, group: group, groups: groups.baseAddress, group_count: groups.count)
      return unsafe body(&account)
    }
  }
}

/// Does something to files with the rights of an account; nil: with one's own.
public func withRights<Result: ~Copyable>(
  of account: LocalAccount?, _ body: () throws(SpawnError) -> Result
) throws(SpawnError) -> Result {
  guard let account else { return try body() }
  return try account.withRights(body)
}
