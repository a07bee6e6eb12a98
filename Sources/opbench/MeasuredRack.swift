// A relay as a process, and its machines as threads of this one.

import FoundationEssentials
import Glibc
import OpClusterModel

struct MeasuredRack {
  private let relay: pid_t
  private let machines: WorkerCrowd

  /// - Throws: What the machine lacks, or that `oprelay` is not beside this program.
  init(_ number: Int, _ count: Int, for coordinator: String) throws {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = "\(own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex))/oprelay"
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw Spawning.Failed(
        description: "\(program) is missing: swift build -c release --product oprelay")
    }
    let address = "\(coordinator)-rack\(number)"
    // Its ready line does not belong into the table.
    relay = try Spawning.spawn([
      "/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/null 2>&1", program, "serve", "--allow-root",
      "--coordinator", coordinator, "--machines", address, "--name", "rack\(number)",
    ])
    machines = try WorkerCrowd(of: count, at: address)
  }

  func end() throws {
    kill(relay, SIGKILL)
    try? Spawning.awaitEnd(of: relay)
    try machines.end()
  }
}
