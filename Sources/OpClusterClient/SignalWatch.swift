// Ctrl-C and TERM as values for async code. Made first thing in `main`; its own thread waits.

import Glibc
import OpClusterZeroMQ
import Synchronization

/// Turns SIGINT and SIGTERM into values of a stream, for the rest of the process's life.
public final class SignalWatch: Sendable {
  /// One value for each signal, its number. For one reader.
  public let signals: AsyncStream<Int32>

  private static let numbers = [SIGINT, SIGTERM]

  /// To be called before the first thread starts: threads inherit which signals are blocked, and
  /// one that does not block them would be ended by them.
  public init() throws(ClientError) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int32.self, bufferingPolicy: .bufferingNewest(8))
    signals = stream
    do throws(SocketError) {
      // Blocks them here and for the thread to come, which reads them from its own descriptor.
      _ = try SignalDescriptor(Self.numbers)
      _ = try startThread(name: "opcluster-signals") { Self.watch(continuation) }
    } catch {
      throw ClientError(.unreachable, "cannot watch for signals: \(error)")
    }
  }

  private static func watch(_ continuation: AsyncStream<Int32>.Continuation) {
    do throws(SocketError) {
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
