// The disk that fails on command, as a row sees it: a library that is loaded into a daemon, and a
// file of numbers by which both speak. See Preload/disk.c.

import FoundationEssentials
import Glibc
import RealCluster
import Synchronization

final class FaultDisk: Sendable {
  enum Deed: Int64 {
    case killBefore = 1
    case failOnce, failForEver
    case killAfter
  }

  private let folder: String
  private let library: String
  private let file: Int32

  private init() async throws {
    folder = "/tmp/ofd-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    guard unsafe mkdir(folder, 0o700) == 0 else { throw Trouble("cannot make \(folder)") }
    library = try await Surroundings.library("disk", in: folder)
    file = unsafe open("\(folder)/numbers", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0, ftruncate(file, 40) == 0 else { throw Trouble("numbers: \(errno)") }
  }

  deinit {
    close(file)
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func with(_ body: (FaultDisk) async throws -> Void) async throws {
    try await body(try await FaultDisk())
  }

  /// How a daemon is started on it.
  var launch: Cluster.Launch {
    Cluster.Launch(variables: ["LD_PRELOAD=\(library)", "FAULT_DISK=\(folder)/numbers"])
  }

  /// Something happens at the n-th sync from now on.
  func arm(at number: Int, _ deed: Deed) {
    self[1] = 0
    self[2] = deed.rawValue
    self[0] = 0
    self[1] = Int64(number)
  }

  func disarm() { self[1] = 0 }

  /// Data syncs since it was armed.
  var syncs: Int { Int(self[0]) }
  var failures: Int { Int(self[3]) }

  /// What every sync takes in addition.
  func slow(milliseconds: Int) { self[4] = Int64(milliseconds) }

  private subscript(place: Int) -> Int64 {
    get {
      var value: Int64 = 0
      _ = unsafe pread(file, &value, 8, place * 8)
      return value
    }
    set {
      var value = newValue
      _ = unsafe pwrite(file, &value, 8, place * 8)
    }
  }
}

/// n → count, of which a few are shown.
final class AckTally: Sendable {
  private let pairs = Mutex<[(Int, Int)]>([])
  func add(_ number: Int, _ count: Int) { pairs.withLock { $0.append((number, count)) } }
  var text: String {
    pairs.withLock { pairs in
      pairs.indices.filter { $0 % max(1, pairs.count / 10) == 0 || $0 == pairs.count - 1 }
        .map { "\(pairs[$0].0)→\(pairs[$0].1)" }.joined(separator: " ")
    }
  }
}
