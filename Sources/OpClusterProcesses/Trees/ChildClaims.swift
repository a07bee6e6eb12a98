// Which children of this process were started on purpose. As a subreaper the process also gets
// the orphans of its operations as children; what is not claimed here is an orphan. One table per
// process, since the kernel knows only one list of children; used from any thread.

import Synchronization

enum ChildClaims {
  enum Kind {
    /// The main process of an operation, waited for by its host alone.
    case operation
    /// A guard, waited for by any host.
    case guardian
    /// A child of another part of this program, which waits for it itself.
    case foreign
  }

  private static let claims = Mutex<[Int32: Kind]>([:])

  static func kind(of process: Int32) -> Kind? {
    claims.withLock { $0[process] }
  }

  /// Must be told before the process can have been waited for.
  static func claim(_ process: Int32, as kind: Kind) {
    claims.withLock { $0[process] = kind }
  }

  /// Starts a process that no host shall wait for or take for an orphan, however soon it ends.
  static func startForeign(_ start: () throws -> Int32) rethrows -> Int32 {
    try claims.withLock { claims in
      let process = try start()
      claims[process] = .foreign
      return process
    }
  }

  /// To be called before the process is waited for: its number is free afterwards.
  static func release(_ process: Int32) {
    claims.withLock { _ = $0.removeValue(forKey: process) }
  }

  /// Those of the given children that nobody started on purpose.
  static func orphans(among children: [Int32]) -> [Int32] {
    claims.withLock { claims in children.filter { claims[$0] == nil } }
  }
}
