// The result of a process, made by `ProcessHost` when the process and all its descendants are gone.

import Glibc

/// Names one running process of a host: the caller's token and the kernel's number.
public struct ProcessReference: Sendable, Hashable {
  public let token: UInt64
  /// For people and logs. Address the process by its token: the kernel reuses the number.
  public let process: Int32
}

/// The end of one operation's process tree (G26).
public struct EndedProcess: Sendable, Equatable {
  public enum Status: Sendable, Equatable {
    /// The main process returned this status, 0...255.
    case exited(Int32)
    /// This signal ended the main process.
    case signalled(Int32)
    /// Another part of the program waited for the process; its status is unknown.
    case unknown
  }

  /// The peak memory of the tree, in bytes.
  public enum PeakMemory: Sendable, Equatable {
    /// The peak resident memory of its largest process.
    case exactly(UInt64)
    /// The peak of all its processes together, as its cgroup counts.
    case together(UInt64)
    /// An upper limit only. The kernel counts a child's memory from the worker's, which the child
    /// shared until it executed, so a peak below the worker's own is not visible.
    case atMost(UInt64)

    /// The measured peak; nil if only an upper limit is known.
    public var measured: UInt64? {
      switch self {
      case .exactly(let bytes), .together(let bytes): bytes
      case .atMost: nil
      }
    }

    /// The error of the kernel's count of a process.
    static let tolerance: UInt64 = 1 << 20

    /// - Parameters:
    ///   - resident: The peak of the largest process, from the kernel at its end.
    ///   - floor: The worker's own peak when the tree began.
    ///   - group: The peak of all processes together, if it was counted.
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
  /// Processor time of the main process and of the descendants that were waited for.
  public let userTime: Duration
  public let systemTime: Duration
  /// Whether the stream was cut at its limit; its file then ends with
  /// ``ProcessHost/cutMarker(_:)``.
  public let outputWasCut: Bool
  public let errorWasCut: Bool
  /// Bytes in the stream's file; nil without a file of its own, or if the file was removed.
  public let outputSize: Int?
  public let errorSize: Int?
  /// Whether a process of the tree survived KILL for ``ProcessHost/settlingLimit``. It hangs in the
  /// kernel; ``Survival/gone(_:)`` reports its end.
  public let leftSomethingBehind: Bool
  /// Processes of the tree that the kernel killed at the memory limit.
  public let memoryKills: UInt64
  /// How often the tree was refused another process.
  public let refusedProcesses: UInt64
  /// Whether the guard may have killed it because the lease had run out.
  public let wasFenced: Bool
}

extension EndedProcess.Status {
  /// Decodes the status of wait4.
  init(raw: Int32) {
    let signal = raw & 0x7f
    self = signal == 0 ? .exited(raw >> 8 & 0xff) : .signalled(signal)
  }
}

/// News of trees with processes that KILL does not end: they hang in the kernel.
public enum Survival: Sendable, Equatable {
  /// The tree still lives after ``ProcessHost/settlingLimit`` of kills.
  case found(ProcessReference)
  /// The tree has ended after all.
  case gone(ProcessReference)
}

/// The end of a tree's main process, kept until the rest of the tree is gone.
struct MainEnd {
  var status: EndedProcess.Status
  var peakBytes: UInt64 = 0
  var userTime: Duration = .zero
  var systemTime: Duration = .zero

  /// Waits for an ended child without blocking; nil if it has not ended.
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
