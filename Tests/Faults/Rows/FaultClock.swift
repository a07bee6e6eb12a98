// The wall clock that is wrong on command, as a row sees it: a library that is loaded into daemons,
// and a file by which both speak. See Preload/clock.c.

import FoundationEssentials
import Glibc
import RealCluster

final class FaultClock: Sendable {
  private let folder: String
  private let library: String
  private let file: Int32

  private init() async throws {
    folder = "/tmp/ofc-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    guard unsafe mkdir(folder, 0o700) == 0 else { throw Trouble("cannot make \(folder)") }
    library = try await Surroundings.library("clock", in: folder)
    file = unsafe open("\(folder)/number", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0, ftruncate(file, 8) == 0 else { throw Trouble("number: \(errno)") }
  }

  deinit {
    close(file)
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func with(_ body: (FaultClock) async throws -> Void) async throws {
    try await body(try await FaultClock())
  }

  /// How a daemon is started with it.
  var launch: Cluster.Launch {
    Cluster.Launch(variables: ["LD_PRELOAD=\(library)", "FAULT_CLOCK=\(folder)/number"])
  }

  /// Seconds that every wall clock with it is ahead from now on.
  func isAhead(by seconds: Int64) {
    var value = seconds
    _ = unsafe pwrite(file, &value, 8, 0)
  }

  /// The clocks show this second since 1970 now.
  func shows(_ moment: Int64) { isAhead(by: moment - Int64(time(nil))) }
}
