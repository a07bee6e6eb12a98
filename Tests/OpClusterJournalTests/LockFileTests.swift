// The lock file of a journal: an opener that is refused closes its own descriptor, once.

import Glibc
import OpClusterSystem
import Synchronization
import Testing

@testable import OpClusterJournal

/// Another thread's use of descriptors.
private final class Others: Sendable {
  let isOver = Atomic(false)
  /// Descriptors that were closed by somebody else.
  let strange = Atomic(0)

  func openAndClose() {
    while !isOver.load(ordering: .relaxed) {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      var facts = stat()
      let isOpen = unsafe fstat(descriptor, &facts) == 0
      if close(descriptor) != 0 || !isOpen { strange.add(1, ordering: .relaxed) }
    }
  }
}

@Suite struct LockFileTests {
  /// A second close would close what another thread has opened in between, under the same number.
  @Test func aRefusedOpenerClosesNothingOfOthers() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/lock"
    let held = try LockFile(path: path)
    let others = Others()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for _ in 0..<300_000 { _ = try? LockFile(path: path) }
        others.isOver.store(true, ordering: .relaxed)
      }
      for _ in 0..<3 { group.addTask { others.openAndClose() } }
    }
    #expect(others.strange.load(ordering: .relaxed) == 0)
    withExtendedLifetime(held) {}
  }
}
