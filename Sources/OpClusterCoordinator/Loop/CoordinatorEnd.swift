// The end of a coordinator, with its exit status. Values only.

public import OpClusterJournal
public import OpClusterSystem

/// The reason why a coordinator stopped serving.
public enum CoordinatorEnd: Sendable {
  /// It was asked to stop; everything accepted is durable.
  case stopped
  case failed(CoordinatorError)

  /// The status of the process (Operating.md, exit codes).
  public var status: Int32 {
    switch self {
    case .stopped: 0
    case .failed(let error): error.status
    }
  }
}

/// An error that prevented a start, or ended the service.
public enum CoordinatorError: Error, Sendable, CustomStringConvertible {
  /// The journal cannot be opened, read or written (G6, G7, F31).
  case journal(JournalError)
  /// A complete record that this program cannot interpret (G6).
  case unreadable(record: String, problem: String)
  /// An address cannot be bound, or a socket failed.
  case socket(SystemError)
  /// The address of the figures cannot be served.
  case metrics(String)
  /// The gate admits unknown keys, or its state is unknown (G35).
  case open(String)
  /// Others could replace files in a folder of the coordinator (G39, F59).
  case unsafeFolder(String)
  /// The settings contradict each other.
  case settings(String)
  /// The coordinator stopped before all had followed from the ends of operations: a snapshot would
  /// lose the rest.
  case endsPending

  public var status: Int32 {
    switch self {
    case .journal(let error): error.exitStatus
    case .unreadable: 65
    case .socket, .metrics: 74
    case .open: 70
    case .unsafeFolder: 77
    case .settings: 78
    case .endsPending: 73
    }
  }

  public var description: String {
    switch self {
    case .journal(let error): error.description
    case .unreadable(let record, let problem):
      "journal is damaged at \(record): \(problem); nothing was changed; restore a backup"
        + (record.hasPrefix("turn ") ? ", or cut before that turn ('opcoord journal cut')" : "")
    case .socket(let error): error.description
    case .metrics(let problem): "--metrics: \(problem)"
    case .open(let problem):
      "\(problem); nobody is served, because nobody could be kept out"
    case .unsafeFolder(let problem): problem
    case .settings(let problem): "bad configuration: \(problem)"
    case .endsPending:
      "the coordinator stopped while operations were ending; nothing was changed; "
        + "start it once with this folder, stop it, and try again"
    }
  }
}
