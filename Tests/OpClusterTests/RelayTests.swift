// A relay between a real coordinator and real machines: batches run through it, and go on when it
// or a machine dies.

import Citations
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite struct RelayTests {
  /// Two machines behind a relay, and none beside it.
  private func withRack(_ body: (Cluster) async throws -> Void) async throws {
    var shape = Cluster.Shape(workers: 2, slots: 2)
    shape.relays = ["rack"]
    shape.routes = ["w1": "ipc://{folder}/rack", "w2": "ipc://{folder}/rack"]
    try await Cluster.with(shape.losingSoon) { cluster in
      try await hasCPUs(4, cluster)
      try await body(cluster)
    }
  }

  private func hasCPUs(_ count: Int64, _ cluster: Cluster) async throws {
    let connection = try await cluster.connect()
    try await eventually("the rack has \(count) cpus") {
      try await connection.workers().map(\.capacity.cpus) == [ResourceAmount(count)]
    }
    await connection.close()
  }

  private func submit(_ manifest: String, _ cluster: Cluster) async throws {
    let path = "\(cluster.folder)/batch.yaml"
    try write(manifest, to: path)
    let submitted = try await cluster.opbatch("submit", path)
    #expect(submitted.status == 0, "\(submitted.error)")
  }

  /// Arrays, dependencies, outputs and logs as without a relay.
  @Test func batchesRunThroughARelay() async throws {
    try await withRack { cluster in
      try await submit(
        """
        version: 1
        operations:
          part:
            array: 1-12
            run: |
              sleep 0.05
              echo "part $OP_INDEX of $OP_GRAPH"
              echo "v=$OP_INDEX" >> "$OP_OUTPUT"
          sum: {needs: part, run: "echo total"}
        """, cluster)
      let waited = try await cluster.opbatch("wait", "1")
      #expect(waited.status == 0, "\(waited.error) \(waited.output)")
      let log = try await cluster.opbatch("logs", "1/part/7")
      #expect(log.output == "part 7 of 1\n", "\(log.error)")
      #expect(try await cluster.opbatch("logs", "1/sum").output.hasSuffix("total\n"))
      let shown = try await cluster.opbatch("show", "1/part/7", "-o", "json")
      #expect(try JSONValue(shown.output)["operations"].elements[0]["output"]["v"].text == "7")
    }
  }

  /// An operation larger than any machine says so, although the rack has as much together.
  @Test func whatFitsNoMachineWaits() async throws {
    try await withRack { cluster in
      try await submit(
        """
        version: 1
        operations:
          large: {run: "true", resources: {cpus: 3}}
        """, cluster)
      let why = try await cluster.opbatch("why", "1/large")
      #expect(why.status == 0)
      #expect(why.output.contains("cpus"), "\(why.output)")
    }
  }

  /// A cancelled operation gets its signal and its grace at the machine.
  @Test func cancellationsReachMachines() async throws {
    try await withRack { cluster in
      try await submit(
        """
        version: 1
        operations:
          long:
            run: 'trap "echo told; exit 0" TERM; echo begun; sleep 1000 & wait'
        """, cluster)
      try await eventually("it runs") {
        try await cluster.opbatch("logs", "1/long").output == "begun\n"
      }
      #expect(try await cluster.opbatch("cancel", "1").status == 0)
      _ = try await cluster.opbatch("wait", "1")
      #expect(try await cluster.opbatch("logs", "1/long").output == "begun\ntold\n")
    }
  }

  /// A machine that is killed loses what it ran: it runs again on the other one.
  @Test(.checks("S147")) func aMachineIsKilled() async throws {
    try await withRack { cluster in
      try await submit(
        """
        version: 1
        operations:
          part:
            array: 1-4
            run: |
              cd \(cluster.folder)
              if [ -e go ]; then exit 0; fi
              echo $PPID > worker-$OP_INDEX
              sleep 1000
        """, cluster)
      try await eventually("all run") {
        (1...4).allSatisfy { !text(of: "\(cluster.folder)/worker-\($0)").isEmpty }
      }
      try write("", to: "\(cluster.folder)/go")
      try await cluster.kill("w1")
      try await cluster.kill("w2")
      try cluster.startWorker("w2")
      let waited = try await cluster.opbatch("wait", "1")
      #expect(waited.status == 0, "\(waited.output) \(waited.error)")
    }
  }

  /// A relay that stands still is given up, and what it had is given to it again when it goes on:
  /// nothing of it is left running beside that.
  @Test(.checks("S147")) func aRelayStandsStill() async throws {
    try await withRack { cluster in
      try await submit(
        """
        version: 1
        operations:
          part:
            array: 1-20
            run: 'while [ ! -e \(cluster.folder)/go ]; do sleep 0.1; done'
        """, cluster)
      let connection = try await cluster.connect()
      try await eventually("some run") {
        try await connection.graphs(Selection(graphs: .all)).first?.counts[.executing] ?? 0 > 0
      }
      cluster.daemon("rack")?.signal(SIGSTOP)
      try await eventually("it is given up") {
        try await connection.workers().isEmpty
      }
      cluster.daemon("rack")?.signal(SIGCONT)
      // Not before: on a busy machine all could have ended before anybody looked.
      try write("", to: "\(cluster.folder)/go")
      await connection.close()
      let waited = try await cluster.opbatch("wait", "1")
      #expect(waited.status == 0, "\(waited.output) \(waited.error)")
    }
  }

  /// A relay that is killed loses what its machines ran, as a worker does; they end it when they
  /// find the next one, and the batch goes on.
  @Test(.checks("S147")) func aRelayIsKilled() async throws {
    try await withRack { cluster in
      try await submit(
        """
        version: 1
        operations:
          part:
            array: 1-40
            run: 'sleep 0.2; echo done'
        """, cluster)
      let connection = try await cluster.connect()
      try await eventually("some have ended") {
        try await connection.graphs(Selection(graphs: .all)).first?.counts.finished ?? 0 > 3
      }
      await connection.close()
      try await cluster.kill("rack")
      try cluster.startRelay("rack")
      let waited = try await cluster.opbatch("wait", "1")
      #expect(waited.status == 0, "\(waited.output) \(waited.error)")
    }
  }
}
