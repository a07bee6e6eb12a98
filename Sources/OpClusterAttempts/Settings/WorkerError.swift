// Why a worker, or a program that runs operations itself, could not start or continue. A plain
// value.

/// The reason why a worker could not start or continue.
public struct WorkerError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// A setting is invalid.
    case configuration
    /// Another worker uses the folder.
    case inUse
    /// Other users can access the folder (G39).
    case unsafeFolder
    /// A system call failed.
    case machine
  }
  public var kind: Kind
  /// The problem and the remedy.
  public var description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// The exit status of the process (Operating.md, exit codes).
  public var status: Int32 {
    switch kind {
    case .configuration: 78
    case .inUse: 73
    case .machine: 74
    case .unsafeFolder: 77
    }
  }
}
