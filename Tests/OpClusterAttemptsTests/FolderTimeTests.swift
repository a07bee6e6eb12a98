// The age of a folder whose owner set its time to the end of the type (G33).

import Glibc
import Testing

@testable import OpClusterAttempts

@Suite struct FolderTimeTests {
  /// Such a folder has some age, and nobody's process ends.
  @Test(arguments: [Int.min, Int.min / 2, -1, Int.max / 2, .max])
  func anyTimeIsAnAge(seconds: Int)
    throws
  {
    // Memory file systems keep any time; others the nearest that they can.
    for parent in ["/dev/shm", "/tmp"] where unsafe access(parent, W_OK) == 0 {
      let path = "\(parent)/opcluster-age-\(UInt32.random(in: 0 ... .max))"
      try #require(unsafe mkdir(path, 0o700) == 0)
      defer { _ = unsafe rmdir(path) }
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      _ = unsafe utimensat(AT_FDCWD, path, times, 0)
      #expect(Folders.age(of: path) != nil)
      #expect(Folders.State(of: path) != nil)
    }
  }
}
