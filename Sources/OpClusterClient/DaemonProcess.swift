// A daemon that this process started: opcoord or opworker, watched and ended. Operations are
// started by OpClusterProcesses, not here. Any thread.

import Glibc
import Synchronization

/// A daemon and, if it is to end with us, the line that it hangs on.
final class DaemonProcess: Sendable {
  /// How a daemon is bound to us.
  enum Attachment: Sendable {
    /// Its stdin is a socket whose other end we hold: it stops when that closes, however we end.
    case lifeline
    /// It goes on without us.
    case none
  }

  /// The number by which the kernel knows it; ours until its end has been taken in.
  let number: Int32
  /// What people call it, e.g. `opworker-1`.
  let name: String
  private let lifeline: Int32?
  private let status = Mutex<Int32?>(nil)

  /// Starts a program with both output streams appended to `log`.
  ///
  /// - Throws: `.unreachable` with the kernel's reason.
  init(
    _ name: String, executable: String, arguments: [String], log: String, attachment: Attachment
  ) throws(ClientError) {
    self.name = name
    do throws(Kernel.Failure) {
      let all = [executable] + arguments
      switch attachment {
      case .none:
        lifeline = nil
        number = try Kernel.spawn(executable, all, input: nil, log: log)
      case .lifeline:
        let (ours, theirs) = try Kernel.socketPair()
        defer { close(theirs) }
        lifeline = ours
        do throws(Kernel.Failure) {
          number = try Kernel.spawn(executable, all, input: theirs, log: log)
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

  /// Its end as `waitpid` tells it, if it has ended.
  var endStatus: Int32? {
    status.withLock { status in
      if status == nil { status = Kernel.takeEnd(of: number) }
      return status
    }
  }

  /// Asks it to stop, kills it after `grace`, returns when it has ended.
  func end(grace: Duration) async {
    signal(SIGTERM)
    guard await !hasEnded(within: grace) else { return }
    signal(SIGKILL)
    _ = await hasEnded(within: .seconds(10))
  }

  private func signal(_ signal: Int32) {
    status.withLock { status in
      // Under the lock: its number cannot be given to another process meanwhile.
      if status == nil { status = Kernel.takeEnd(of: number) }
      if status == nil { kill(number, signal) }
    }
  }

  private func hasEnded(within time: Duration) async -> Bool {
    let deadline = ContinuousClock().now + time
    while endStatus == nil {
      guard ContinuousClock().now < deadline else { return false }
      // In a task of its own: also the daemons of a cancelled task are awaited.
      await Task.detached { try? await Task.sleep(for: .milliseconds(10)) }.value
    }
    return true
  }
}
