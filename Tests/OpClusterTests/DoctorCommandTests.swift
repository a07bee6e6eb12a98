// `opbatch doctor` on real clusters: one that is well, one without workers, one that is not there.

import OpClusterModel
import RealCluster
import Testing

@Suite struct DoctorCommandTests {
  @Test func itSaysWhatIsWrong() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1).losingSoon) { cluster in
      let well = try await cluster.opbatch("doctor", "-o", "json")
      #expect(well.status == 0, "\(well.output)")
      let report = try JSONValue(well.output)
      #expect(report["schema"].text == "opbatch/v1")
      for subject in ["opbatch", "configuration", "coordinator", "clock", "disk", "workers"] {
        #expect(well.output.contains("\"subject\":\"\(subject)\""), "\(well.output)")
      }
      let scene = try await Scene("doctor", on: cluster)
      let queue = try await scene.queue(suspended: true)
      _ = try await scene.submit { try $0.add("waits", .mark, queue: queue) }
      let suspended = try await cluster.opbatch("doctor")
      #expect(suspended.status == 0)
      #expect(suspended.output.contains("opbatch queue resume \(queue)"), "\(suspended.output)")
      try await cluster.kill("w1")
      try await eventually("the worker is given up") {
        try await scene.connection.workers().isEmpty
      }
      let alone = try await cluster.opbatch("doctor")
      #expect(alone.status == 1)
      #expect(alone.output.contains("opworker serve"), "\(alone.output)")
      let nobody = try await cluster.opbatch(
        "doctor", variables: ["OPBATCH_COORDINATOR=ipc://\(cluster.folder)/nobody"])
      #expect(nobody.status == 69)
      #expect(nobody.output.contains("nobody"), "\(nobody.output)")
      let none = try await cluster.opbatch("doctor", variables: ["HOME=/nonexistent"])
      #expect(none.status == 69)
      #expect(none.output.contains("opbatch up"), "\(none.output)")
    }
  }
}
