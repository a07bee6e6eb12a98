// The children that this process started on purpose. As a subreaper the process also gets the
// orphans of its operations as children: every unclaimed child is an orphan. One table per process,
// since the kernel has only one list of children; used from any thread.

import Synchronization

enum ChildClaims {
  enum Kind {
    /// The main process of an operation; only its host waits for it.
    case operation
    /// A guard; any host waits for it.
    case guardian
    /// A child of another part of this program, which waits for it itself.
    case foreign
  }

  private static let claims = Mutex<[Int32: Kind]>([:])

  static func kind(of process: Int32) -> Kind? {
    claims.withLock { $0[process] }
  }

  /// Claims a process. Call it before anyone can have waited for the process.
  static func claim(_ process: Int32, as kind: Kind) {
    claims.withLock { $0[process] = kind }
  }

  /// Starts a process that no host waits for or takes for an orphan, however soon it ends.
  static func startForeign(_ start: () throws -> Int32) rethrows -> Int32 {
    try claims.withLock { claims in
      let process = try start()
      claims[process] = .foreign
      return process
    }
  }

  /// Releases a claim. Call it before waiting for the process: its number is free afterwards.
  static func release(_ process: Int32) {
    claims.withLock { _ = $0.removeValue(forKey: process) }
  }

  /// Returns the unclaimed children.
  static func orphans(among children: [Int32]) -> [Int32] {
    claims.withLock { claims in children.filter { claims[$0] == nil } }
  }
}
