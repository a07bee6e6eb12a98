// Runs a program that has little to do: its stdin is given to it, its output is kept for what went
// wrong, and its time is limited. Any task; OpClusterProcesses, not this file, runs operations.

import CSystem
import Glibc

package enum ShortProgram {
  package enum End: Equatable, Sendable {
    /// With what it wrote, to both streams.
    case exited(Int32, output: String)
    case killed(Int32)
    case tookTooLong
    case notStarted(String)
  }

  /// Of its output; the rest is dropped.
  private static let mostBytes = 16 * 1024

  /// Runs it on a thread of its own: where Swift's threads are busy, neither its input nor the
  /// limit of its time waits for one of them. A cancelled task kills it.
  ///
  /// - Parameters:
  ///   - words: `NAME=VALUE` of further variables, then the program and its arguments.
  ///   - longest: Then it is killed, with what it has started in its session.
  package static func run(_ words: [String], input: String, longest: Duration) async -> End {
    let cancellation: WakeUp
    do throws(SystemError) {
      cancellation = try WakeUp()
    } catch {
      return .notStarted("\(error)")
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        do throws(SystemError) {
          _ = try startThread(name: "short program", takesSignals: false) {
            continuation.resume(
              returning: run(words, input: input, longest: longest, until: cancellation))
          }
        } catch {
          continuation.resume(returning: .notStarted("\(error)"))
        }
      }
    } onCancel: {
      cancellation.signal()
    }
  }

  private static func run(
    _ words: [String], input: String, longest: Duration, until cancellation: borrowing WakeUp
  ) -> End {
    let (ours, theirs): (Int32, Int32)
    let process: Int32
    do throws(ErrorNumber) {
      (ours, theirs) = try DaemonStart.socketPair()
      defer { close(theirs) }
      do throws(ErrorNumber) {
        process = try DaemonStart.spawn(
          "/usr/bin/env", ["env"] + words, input: theirs, log: nil)
      } catch {
        close(ours)
        throw error
      }
    } catch {
      return .notStarted(error.text)
    }
    defer { close(ours) }
    let wait = EndWait(of: process)
    var pipe = ChildPipe(ours, Array(input.utf8))
    let deadline = MonotonicClock.now() + nanoseconds(of: longest)
    while true {
      pipe.move(atMost: mostBytes)
      if let status = DaemonStart.takeEnd(of: process) {
        pipe.move(atMost: mostBytes)
        return end(status, pipe.output)
      }
      if MonotonicClock.now() >= deadline || cancellation.take() {
        // It is the leader of a session of its own.
        kill(-process, SIGKILL)
        collect(process, wait)
        return .tookTooLong
      }
      wait.sleep(pipe, cancellation.descriptor, until: deadline)
    }
  }

  /// Collects the end of a killed process. Not for ever: one that waits for a disk that is not
  /// there does not end.
  private static func collect(_ process: Int32, _ wait: borrowing EndWait) {
    let deadline = MonotonicClock.now() + 5_000_000_000
    while DaemonStart.takeEnd(of: process) == nil, MonotonicClock.now() < deadline {
      wait.sleep(nil, nil, until: deadline)
    }
  }

  /// At most the year that nobody waits for.
  private static func nanoseconds(of duration: Duration) -> Int64 {
    let (seconds, rest) = duration.components
    return min(max(seconds, 0), 366 * 86_400) * 1_000_000_000 + rest / 1_000_000_000
  }

  /// By the numbers of `waitpid`.
  private static func end(_ status: Int32, _ output: [UInt8]) -> End {
    let signal = status & 0x7f
    guard signal == 0 else { return .killed(signal) }
    return .exited((status >> 8) & 0xff, output: String(decoding: output, as: UTF8.self))
  }
}

/// Sleeps until a child has ended, or something else has come.
private struct EndWait: ~Copyable {
  /// Readable once it has ended; -1 where the kernel has no such descriptors.
  private let descriptor: Int32
  /// How often it is looked at there, in nanoseconds.
  private static let interval: Int64 = 10_000_000

  init(of process: Int32) { descriptor = opcluster_process_descriptor(process) }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// - Parameters:
  ///   - pipe: What it can be given or has said ends the sleep.
  ///   - signal: A descriptor that ends it when it is readable.
  ///   - deadline: `MonotonicClock` nanoseconds.
  func sleep(_ pipe: borrowing ChildPipe?, _ signal: Int32?, until deadline: Int64) {
    var poller = Poller()
    var deadline = deadline
    if descriptor >= 0 {
      _ = poller.add(descriptor: descriptor)
    } else {
      deadline = min(deadline, MonotonicClock.now() + Self.interval)
    }
    pipe?.watch(&poller)
    if let signal { _ = poller.add(descriptor: signal) }
    // If the kernel cannot wait, the loop looks again at once, and ends with its deadline.
    _ = try? poller.wait(until: deadline)
  }
}

/// The near end of a child's stdin and outputs, which is a socket. Never waits.
private struct ChildPipe {
  private let descriptor: Int32
  private var input: ArraySlice<UInt8>
  private(set) var output: [UInt8] = []
  private var isInputOpen = true
  /// Whether anybody there may still say something.
  private var isOutputOpen = true
  /// Whether all of the input was taken.
  var hasGiven: Bool { input.isEmpty && !isInputOpen }

  init(_ descriptor: Int32, _ input: [UInt8]) {
    self.descriptor = descriptor
    self.input = input[...]
  }

  /// Adds what `move` waits for. A socket that was hung up would end every sleep.
  func watch(_ poller: inout Poller) {
    guard isOutputOpen else { return }
    _ = poller.add(
      descriptor: descriptor, for: isInputOpen ? [.readable, .writable] : .readable)
  }

  /// Hands on what there is room for, and takes what there is; of too much output the beginning is
  /// kept.
  mutating func move(atMost limit: Int) {
    while isInputOpen {
      if input.isEmpty {
        // Its end of file.
        shutdown(descriptor, Int32(SHUT_WR))
        isInputOpen = false
        break
      }
      let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
      let count = unsafe input.withUnsafeBytes { bytes in
        unsafe send(descriptor, bytes.baseAddress, bytes.count, flags)
      }
      if count > 0 {
        input = input.dropFirst(count)
      } else {
        // It may have closed its stdin, which is its own affair.
        if errno != EAGAIN, errno != EINTR { isInputOpen = false }
        break
      }
    }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      guard count > 0 else {
        if count == 0 || (errno != EAGAIN && errno != EINTR) { isOutputOpen = false }
        return
      }
      output += bytes.prefix(min(count, max(0, limit - output.count)))
    }
  }
}

extension ShortProgram {
  /// Starts a program that goes on without us, in a session of its own, and gives it its stdin.
  ///
  /// - Returns: Its process number: who lives longer than it has to collect its end.
  /// - Parameters:
  ///   - arguments: With the name of the program.
  ///   - log: The file to which both output streams are appended.
  @discardableResult
  package static func leave(
    _ executable: String, _ arguments: [String], input: [UInt8], log: String
  ) throws(ErrorNumber) -> Int32 {
    let (ours, theirs) = try DaemonStart.socketPair()
    defer {
      close(ours)
      close(theirs)
    }
    // Before the start: the whole has room in the socket, or nothing is started.
    var pipe = ChildPipe(ours, input)
    pipe.move(atMost: 0)
    guard pipe.hasGiven else { throw ErrorNumber(EMSGSIZE) }
    return try DaemonStart.spawn(executable, arguments, input: theirs, log: log)
  }
}
