// Threads for tasks that block: as many as wanted, no more, and every job runs.

import Glibc
import OpClusterSystem
import Synchronization
import Testing

/// What tasks count.
private final class Seen: Sendable {
  let inside = Atomic<Int>(0)
  let most = Atomic<Int>(0)
  let began = Atomic<Int>(0)
}

@Suite struct OperationThreadsTests {
  @Test("S64: as many tasks block at once as there may be threads, and no more")
  func many() async throws {
    let threads = OperationThreads(most: 8)
    let seen = Seen()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<24 {
        group.addTask(executorPreference: threads) {
          let now = seen.inside.add(1, ordering: .acquiringAndReleasing).newValue
          _ = seen.most.max(now, ordering: .relaxed)
          seen.began.add(1, ordering: .acquiringAndReleasing)
          // The first eight hold their threads until all of them are there.
          while seen.began.load(ordering: .acquiring) < 8 { usleep(200) }
          usleep(2_000)
          seen.inside.subtract(1, ordering: .acquiringAndReleasing)
        }
      }
    }
    #expect(seen.most.load(ordering: .relaxed) == 8)
  }

  @Test("jobs come from many threads, one after the other, and all run") func bursts() async throws
  {
    let threads = OperationThreads(most: 3)
    let seen = Seen()
    for _ in 0..<200 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask(executorPreference: threads) {
            await Task.yield()
            seen.began.add(1, ordering: .relaxed)
          }
        }
      }
    }
    #expect(seen.began.load(ordering: .relaxed) == 4_000)
  }
}
