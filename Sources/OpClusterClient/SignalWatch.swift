// Delivers Ctrl-C and TERM to async code. Made first in `main`; its own thread waits.

import Glibc
import OpClusterSystem
import Synchronization

/// Turns SIGINT and SIGTERM into a stream, for the rest of the process's life.
public final class SignalWatch: Sendable {
  /// The number of each signal. For one reader.
  public let signals: AsyncStream<Int32>

  private static let numbers = [SIGINT, SIGTERM]

  /// Call this before the first thread starts: threads inherit the signal mask, and a signal would
  /// end the process through a thread that does not block it.
  ///
  /// - Throws: `.unreachable` if the signals cannot be watched.
  public init() throws(ClientError) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int32.self, bufferingPolicy: .bufferingNewest(8))
    signals = stream
    do throws(SystemError) {
      // Blocks the signals here and in the new thread, which reads them from its own descriptor.
      _ = try SignalDescriptor(Self.numbers)
      _ = try startThread(name: "opcluster-signals") { Self.watch(continuation) }
    } catch {
      throw ClientError(.unreachable, "cannot watch for signals: \(error)")
    }
  }

  private static func watch(_ continuation: AsyncStream<Int32>.Continuation) {
    do throws(SystemError) {
      let source = try SignalDescriptor(numbers)
      var poller = Poller()
      _ = poller.add(descriptor: source.descriptor)
      while true {
        _ = try poller.wait(until: nil)
        while let signal = source.next() { continuation.yield(signal.number) }
      }
    } catch {
      continuation.finish()
    }
  }
}
