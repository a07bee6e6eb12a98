// The entry of the test program. With one of its own, SwiftPM needs no index of all sources to find
// tests of XCTest, of which there are none, and the build is shorter by a fifth.

import Glibc
import Testing

@main struct TestProgram {
  /// Runs the tests that the arguments choose. Without a library the caller looks for tests of
  /// XCTest, as `swift test` does first.
  static func main() async {
    guard CommandLine.arguments.contains("--testing-library") else {
      print("There are no tests of XCTest here; --testing-library swift-testing runs the others.")
      exit(0)
    }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
