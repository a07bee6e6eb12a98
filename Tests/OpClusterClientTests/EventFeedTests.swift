// The hand-over of batches from the connection's thread to a reader's task.

import Citations
import OpClusterModel
import OpClusterSystem
import Synchronization
import Testing

@testable import OpClusterClient

@Suite struct EventFeedTests {
  /// The batches read so far, as the delivering thread sees it.
  private final class Progress: Sendable {
    let read = Atomic<UInt64>(0)
  }

  /// A batch comes at the moment at which its reader begins to wait: it is read, every time.
  @Test(.checks("S115")) func noBatchIsLeftBehind() throws {
    let rounds: UInt64 = 100_000
    let feed = EventFeed(credit: 8) {}
    let progress = Progress()
    let batch = EventBatch(
      subscription: 1, first: 0, runs: EventStreamTests.runs(1...1), caughtUp: false,
      resumeAt: 1)
    let thread = try startThread(name: "delivers") {
      for number in 1...rounds {
        let deadline = MonotonicClock.now() + 240_000_000_000
        // Busy, so that both are at work in the same moment.
        while progress.read.load(ordering: .acquiring) < number - 1 {
          guard MonotonicClock.now() < deadline else { return feed.end(.success(())) }
        }
        // Sooner or later than the reader, by some nanoseconds.
        for _ in 0..<number % 512 { _ = progress.read.load(ordering: .acquiring) }
        _ = feed.deliver(batch)
      }
      feed.end(.success(()))
    }
    // A task on a thread of its own: other tests may keep those of the pool busy.
    let read = try runOnThisThread {
      var read: UInt64 = 0
      while let batch = try? await feed.next() {
        read += UInt64(batch.events.count)
        progress.read.store(read, ordering: .releasing)
      }
      return read
    }
    thread.join()
    #expect(read == rounds)
  }
}
