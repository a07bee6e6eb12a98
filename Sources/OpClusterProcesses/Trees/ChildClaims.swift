// The children that this process started on purpose. As a subreaper the process also gets the
// orphans of its operations as children: every unclaimed child is an orphan. One table per process,
// since the kernel has only one list of children; used from any thread.

import Glibc
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

  private struct Table {
    var kinds: [Int32: Kind] = [:]
    /// Processes that are being started, by any host: an unclaimed child may be one of them.
    var starting = 0
  }

  private static let claims = Mutex(Table())

  static func kind(of process: Int32) -> Kind? {
    claims.withLock { $0.kinds[process] }
  }

  /// Says that a process is about to be started. Until `endStart` no child is taken for an orphan:
  /// it may end before it is claimed, and another host would wait for it.
  static func beginStart() {
    claims.withLock { $0.starting += 1 }
  }

  /// Claims a process that was started; nil: the start has failed.
  static func endStart(_ process: Int32?, as kind: Kind) {
    claims.withLock { claims in
      claims.starting -= 1
      if let process { claims.kinds[process] = kind }
    }
  }

  /// Waits for a claimed process, and releases it if that has ended it: in one step, since another
  /// host would take it for an orphan without the claim, and its number is free after the wait.
  static func collect<End>(_ process: Int32, _ wait: () -> End?) -> End? {
    claims.withLock { claims in
      guard let end = wait() else { return nil }
      claims.kinds[process] = nil
      return end
    }
  }

  /// Waits for an ended child that is an orphan, or a guard.
  /// - Returns: false if it may be a process that is being started; try again later.
  static func reap(_ process: Int32) -> Bool {
    claims.withLock { claims in
      switch claims.kinds[process] {
      case .guardian: claims.kinds[process] = nil
      case nil: if claims.starting > 0 { return false }
      case .operation, .foreign: return false
      }
      _ = waitpid(process, nil, WNOHANG)
      return true
    }
  }

  /// Starts a process that no host waits for or takes for an orphan, however soon it ends.
  static func startForeign(_ start: () throws -> Int32) rethrows -> Int32 {
    try claims.withLock { claims in
      let process = try start()
      claims.kinds[process] = .foreign
      return process
    }
  }

  /// Releases a claim. Call it before waiting for the process: its number is free afterwards.
  static func release(_ process: Int32) {
    claims.withLock { _ = $0.kinds.removeValue(forKey: process) }
  }

  /// Returns the unclaimed children.
  static func orphans(among children: [Int32]) -> [Int32] {
    claims.withLock { claims in children.filter { claims.kinds[$0] == nil } }
  }
}
