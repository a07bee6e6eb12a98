// What is known of a process once it and everything it started are gone. Made by `ProcessHost`.

import Glibc

/// Names one running process of a host; the token is the caller's, the number the kernel's.
public struct ProcessReference: Sendable, Hashable {
  public let token: UInt64
  /// For people and logs. Use the token to address the process: the number is used again.
  public let process: Int32
}

/// The end of one operation's process tree (G26).
public struct EndedProcess: Sendable, Equatable {
  public enum Status: Sendable, Equatable {
    /// The main process returned this status, 0...255.
    case exited(Int32)
    /// The main process was ended by this signal.
    case signalled(Int32)
    /// Somebody else waited for the process; its status is unknown.
    case unknown
  }

  /// The most memory that the tree had at a time, in bytes.
  public enum PeakMemory: Sendable, Equatable {
    /// So much had one process of it resident.
    case exactly(UInt64)
    /// So much had all of it together, as its cgroup counts.
    case together(UInt64)
    /// No more than this: the kernel counts a child's memory from that of the worker, which the
    /// child shared until it executed, so that less than the worker's own peak cannot be told.
    case atMost(UInt64)

    /// nil where the worker's own is all that is known.
    public var measured: UInt64? {
      switch self {
      case .exactly(let bytes), .together(let bytes): bytes
      case .atMost: nil
      }
    }

    /// What the kernel counts of processes is not exact to the page: no more than this off.
    static let tolerance: UInt64 = 1 << 20

    /// - Parameters:
    ///   - resident: of the process that had the most, as the kernel tells it at its end.
    ///   - floor: the worker's own peak when the tree began.
    ///   - group: of all together, where somebody counted.
    init(resident: UInt64, floor: UInt64, group: UInt64?) {
      if resident > floor, resident - floor > Self.tolerance {
        self = .exactly(resident)
      } else if let group, group < resident {
        self = .together(group)
      } else {
        self = .atMost(resident)
      }
    }
  }

  public let reference: ProcessReference
  public let status: Status
  public let peakMemory: PeakMemory
  /// Processor time of the main process and the descendants that were waited for.
  public let userTime: Duration
  public let systemTime: Duration
  /// Whether the stream was cut at its limit; its file then ends with
  /// ``ProcessHost/cutMarker(_:)``.
  public let outputWasCut: Bool
  public let errorWasCut: Bool
  /// Bytes in the stream's file; nil where it has none of its own, or the file was removed.
  public let outputSize: Int?
  public let errorSize: Int?
  /// Whether something of the tree could not be killed within ``ProcessHost/settlingLimit``:
  /// it hangs in the kernel and ends when the kernel lets it, of which ``Survival/gone(_:)`` tells.
  public let leftSomethingBehind: Bool
  /// Processes of the tree that the kernel killed since the memory limit was reached.
  public let memoryKills: UInt64
  /// Times that the tree was refused another process.
  public let refusedProcesses: UInt64
  /// Whether the guard may have killed it, since the lease had run out.
  public let wasFenced: Bool
}

extension EndedProcess.Status {
  /// Decodes what wait4 reports.
  init(raw: Int32) {
    let signal = raw & 0x7f
    self = signal == 0 ? .exited(raw >> 8 & 0xff) : .signalled(signal)
  }
}

/// What becomes of trees that KILL does not end: what is left of them hangs in the kernel.
public enum Survival: Sendable, Equatable {
  /// It has been killed for ``ProcessHost/settlingLimit``, and lives.
  case found(ProcessReference)
  /// It has ended after all.
  case gone(ProcessReference)
}

/// How the main process of a tree ended, kept until the rest of the tree is gone.
struct MainEnd {
  var status: EndedProcess.Status
  var peakBytes: UInt64 = 0
  var userTime: Duration = .zero
  var systemTime: Duration = .zero

  /// Waits for a child that has ended, without blocking; nil if it has not.
  static func collect(_ process: Int32) -> MainEnd? {
    var raw: Int32 = 0
    var usage = rusage()
    let outcome = unsafe wait4(process, &raw, WNOHANG, &usage)
    if outcome == 0 { return nil }
    guard outcome == process else { return MainEnd(status: .unknown) }
    return MainEnd(
      status: .init(raw: raw), peakBytes: UInt64(max(usage.ru_maxrss, 0)) * 1_024,
      userTime: duration(usage.ru_utime), systemTime: duration(usage.ru_stime))
  }

  private static func duration(_ time: timeval) -> Duration {
    .seconds(time.tv_sec) + .microseconds(time.tv_usec)
  }
}
