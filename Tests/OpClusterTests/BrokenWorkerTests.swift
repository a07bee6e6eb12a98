// A cluster of which one worker lacks the folder that the operations run in: the graph ends well
// elsewhere, and everybody can see what is wrong with that worker.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.enabled(if: geteuid() == 0, "hides a folder from one worker, which takes root"))
struct BrokenWorkerTests {
  @Test func theOthersDoTheWork() async throws {
    var shape = Cluster.Shape(workers: 2, slots: 2)
    shape.prepare = { folder in
      guard unsafe mkdir("\(folder)/data", 0o700) == 0 else { throw Trouble("mkdir \(errno)") }
    }
    // An empty disk in place of the folder that holds it.
    shape.launches["w1"] = Cluster.Launch(through: [
      "/usr/bin/unshare", "-m", "/bin/sh", "-c",
      "mount -t tmpfs none \"$HOME/data\" && exec \"$0\" \"$@\"",
    ])
    try await Cluster.with(shape) { cluster in
      let inner = "\(cluster.folder)/data/inner"
      guard unsafe mkdir(inner, 0o700) == 0 else { throw Trouble("mkdir \(errno)") }
      let path = "\(cluster.folder)/graph.yaml"
      // They end only when the broken worker has been given one: the other one, if it is faster,
      // would take them all.
      try write(
        """
        version: 1
        operations:
          a: {array: 1-60, workdir: \(inner), run: [sh, -c, "until [ -e go ]; do sleep 0.05; done"]}
        """, to: path)
      let said = try await cluster.opbatch("submit", path, "-o", "name")
      #expect(said.status == 0, "\(said.error)")
      try await eventually("the broken worker is given an operation") {
        try await cluster.opbatch("why", "last").output.contains("worker w1 could not start it")
      }
      try write("", to: "\(inner)/go")
      let waited = try await cluster.opbatch("wait", "last")
      #expect(waited.status == 0, "\(waited.error)")
      let graph = GraphID(try #require(UInt32(said.output.prefix { $0.isNumber })))
      let connection = try await cluster.connect()
      let rows = try await connection.operations(.graph(graph))
      #expect(rows.count == 60 && rows.allSatisfy { $0.state == .succeeded })
      await connection.close()
      // What nobody can start says so once, with what the workers said.
      try write(
        "version: 1\noperations:\n  a: {array: 1-3, workdir: /none-of-us, run: [\"true\"]}\n",
        to: path)
      let failed = try await cluster.opbatch("submit", path, "--wait", "-o", "name")
      #expect(failed.status != 0)
      let why = try await cluster.opbatch("why", "last")
      #expect(why.output.contains("3 failed"), "\(why.output)")
      #expect(why.output.contains("\"/none-of-us\" cannot be entered"), "\(why.output)")
      let listed = try await cluster.opbatch("worker", "ls", "-o", "json")
      #expect(listed.output.contains("cannot be entered"), "\(listed.output)")
      let shown = try await cluster.opbatch("worker", "ls")
      #expect(shown.output.contains("connected, in part"))
      #expect(shown.error.contains("worker resume w1"))
      let doctor = try await cluster.opbatch("doctor")
      #expect(doctor.output.contains("worker resume w1"), "\(doctor.output)")
      let resumed = try await cluster.opbatch("worker", "resume", "w1")
      #expect(resumed.status == 0 && resumed.output.contains("takes work"))
      let again = try await cluster.opbatch("worker", "ls", "-o", "json")
      #expect(!again.output.contains("cannot be entered"))
    }
  }
}
