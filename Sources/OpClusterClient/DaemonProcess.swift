// A daemon that this process started: opcoord or opworker; watched and ended here.
// OpClusterProcesses, not this file, starts operations. Any thread.

import Glibc
import OpClusterSystem
import Synchronization

/// A daemon and its lifeline, if it ends with us.
final class DaemonProcess: Sendable {
  /// The tie between a daemon and us.
  enum Attachment: Sendable {
    /// Its stdin is a socket whose other end we hold. It stops when that end closes, however we
    /// end.
    case lifeline
    /// It continues without us.
    case none
  }

  /// The process number; it stays ours until its end is collected.
  let number: Int32
  /// The name for people, e.g. `opworker-1`.
  let name: String
  private let executable: String
  private let arguments: [String]
  private let log: String
  private let attachment: Attachment
  private let lifeline: Int32?
  private let status = Mutex<Int32?>(nil)

  /// Starts a program with both output streams appended to `log`.
  ///
  /// - Throws: `.unreachable` with the kernel's reason.
  init(
    _ name: String, executable: String, arguments: [String], log: String, attachment: Attachment
  ) throws(ClientError) {
    self.name = name
    self.executable = executable
    self.arguments = arguments
    self.log = log
    self.attachment = attachment
    do throws(ErrorNumber) {
      let all = [executable] + arguments
      switch attachment {
      case .none:
        lifeline = nil
        number = try DaemonStart.spawn(executable, all, input: nil, log: log)
      case .lifeline:
        let (ours, theirs) = try DaemonStart.socketPair()
        defer { close(theirs) }
        lifeline = ours
        do throws(ErrorNumber) {
          number = try DaemonStart.spawn(executable, all, input: theirs, log: log)
        } catch {
          close(ours)
          throw error
        }
      }
    } catch {
      throw ClientError(.unreachable, "cannot start \(executable): \(error.text)")
    }
  }

  deinit { if let lifeline { close(lifeline) } }

  /// Starts the same daemon, whose end was collected, once more.
  ///
  /// - Throws: As the first start.
  func startedAgain() throws(ClientError) -> DaemonProcess {
    try DaemonProcess(
      name, executable: executable, arguments: arguments, log: log, attachment: attachment)
  }

  /// The status of `waitpid` if the daemon has ended; else nil.
  var endStatus: Int32? {
    status.withLock { status in
      if status == nil { status = DaemonStart.takeEnd(of: number) }
      return status
    }
  }

  /// Sends TERM, sends KILL after `grace`, and returns when the daemon has ended.
  func end(grace: Duration) async {
    signal(SIGTERM)
    guard await !hasEnded(within: grace) else { return }
    signal(SIGKILL)
    _ = await hasEnded(within: .seconds(10))
  }

  private func signal(_ signal: Int32) {
    status.withLock { status in
      // Under the lock: no other process can get the number meanwhile.
      if status == nil { status = DaemonStart.takeEnd(of: number) }
      if status == nil { kill(number, signal) }
    }
  }

  private func hasEnded(within time: Duration) async -> Bool {
    let deadline = ContinuousClock().now + time
    while endStatus == nil {
      guard ContinuousClock().now < deadline else { return false }
      // A detached task: daemons of a cancelled task are awaited, too.
      await Task.detached { try? await Task.sleep(for: .milliseconds(10)) }.value
    }
    return true
  }
}
