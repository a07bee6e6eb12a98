// Delivers Ctrl-C and TERM to async code. Made first in `main`; its own thread waits.

import Glibc
import OpClusterSystem
import Synchronization

/// Turns SIGINT and SIGTERM into streams, for the rest of the process's life.
public final class SignalWatch: Sendable {
  private struct Readers {
    var last = 0
    var continuations: [Int: AsyncStream<Int32>.Continuation] = [:]
    /// Signals that came while nobody read; the next reader gets them.
    var missed: [Int32] = []
  }
  private let readers = Mutex(Readers())

  /// The number of each signal from now on, and those that nobody has read; a stream for each
  /// reader, which ends with its task.
  public var signals: AsyncStream<Int32> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int32.self, bufferingPolicy: .bufferingNewest(Self.mostMissed))
    let number = readers.withLock { readers in
      readers.last += 1
      readers.continuations[readers.last] = continuation
      for signal in readers.missed { continuation.yield(signal) }
      readers.missed = []
      return readers.last
    }
    continuation.onTermination = { [self] _ in
      readers.withLock { $0.continuations[number] = nil }
    }
    return stream
  }

  private func tell(_ signal: Int32) {
    readers.withLock { readers in
      for continuation in readers.continuations.values { continuation.yield(signal) }
      guard readers.continuations.isEmpty else { return }
      readers.missed = readers.missed.suffix(Self.mostMissed - 1) + [signal]
    }
  }

  private static let mostMissed = 8
  private static let numbers = [SIGINT, SIGTERM]

  /// Call this before the first thread starts: threads inherit the signal mask, and a signal would
  /// end the process through a thread that does not block it.
  ///
  /// - Throws: `.unreachable` if the signals cannot be watched.
  public init() throws(ClientError) {
    do throws(SystemError) {
      // Blocks the signals here and in the new thread, which reads them from its own descriptor.
      _ = try SignalDescriptor(Self.numbers)
      _ = try startThread(name: "opcluster-signals") { [self] in watch() }
    } catch {
      throw ClientError(.unreachable, "cannot watch for signals: \(error)")
    }
  }

  private func watch() {
    do throws(SystemError) {
      let source = try SignalDescriptor(Self.numbers)
      var poller = Poller()
      _ = poller.add(descriptor: source.descriptor)
      while true {
        _ = try poller.wait(until: nil)
        while let signal = source.next() { tell(signal.number) }
      }
    } catch {
      let all = readers.withLock { Array($0.continuations.values) }
      for continuation in all { continuation.finish() }
    }
  }
}
