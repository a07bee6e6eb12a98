// A cluster for the life of one program, of which parts are killed. Real programs.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization
import Testing

@Suite struct EmbeddedClusterTests {
  /// A machine without enough memory ends a worker. Nobody was there to start it again, and
  /// operations waited for ever.
  @Test func partsThatAreKilledComeBack() async throws {
    let told = Mutex<[String]>([])
    var settings = EmbeddedCluster.Settings(
      workers: 1, cpusPerWorker: 1, workerExecutable: try Cluster.executable("opworker"))
    settings.told = { line in told.withLock { $0.append(line) } }
    let cluster = try await EmbeddedCluster.start(settings)
    do {
      try await Lodging.with { lodging in
        for killed in [1, 0] {
          let old = cluster.processes[killed].number
          kill(old, SIGKILL)
          try await eventually("it is started again") { cluster.processes[killed].number != old }
          // A coordinator that does not listen is an error of the command.
          _ = try await cluster.connection.request(.workers, timeout: .seconds(120))
          let run = try await lodging.run(
            "opbatch", "--coordinator", cluster.address, "run", "--", "echo", "ran")
          #expect(run.end == 0 && run.output.contains("ran"), "\(killed): \(run.error)")
        }
      }
    } catch {
      await cluster.end()
      throw error
    }
    await cluster.end()
    #expect(
      told.withLock { $0 } == [
        "opworker-1 has ended (signal 9) and is started again",
        "opcoord has ended (signal 9) and is started again",
      ])
  }
}
