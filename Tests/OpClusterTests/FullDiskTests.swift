// A worker whose disk is full: what needs it fails and says why, the worker lives on, and what
// needs none of it succeeds. A small tmpfs in a mount namespace of the worker's own, which takes
// root.

import Citations
import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite struct FullDiskTests {
  private static var shape: Cluster.Shape {
    var shape = Cluster.Shape(workers: 1)
    shape.launches = [
      "w1": Cluster.Launch(
        through: [
          "/usr/bin/unshare", "-m", "/bin/sh", "-c",
          "mkdir -m 700 \"$ROOM\" && mount -t tmpfs -o size=2m,mode=700 none \"$ROOM\" && "
            + "exec \"$0\" \"$@\"",
        ], variables: ["ROOM={folder}/scratch-w1"])
    ]
    return shape
  }

  @Test(.checks("G8"), .enabled(if: geteuid() == 0, "mounts take root"))
  func operationsSayThatTheDiskIsFull()
    async throws
  {
    try await Cluster.with(Self.shape) { cluster in
      let scene = try await Scene("full", on: cluster)
      let words = "the disk of this worker's folder '\(cluster.folder)/scratch-w1' is full"
      // In its scratch folder, which is emptied behind it; as an output; and at last as its log.
      for (name, text) in [
        ("scratch", "head -c 8M /dev/zero > big"),
        ("values", "head -c 8M /dev/zero > big; echo key=value > \"$OP_OUTPUT\""),
        ("log", "head -c 8M /dev/zero"),
      ] {
        let members = try await scene.submit { try $0.add(name, .shell(text)) }
        try await scene.ended(members)
        let row = try await scene.row(members[name])
        #expect(row.outcome == .failed, "\(name)")
        let said = row.attempts.map(\.result.diagnostic).joined()
        #expect(said.contains(words), "\(name): \(said)")
      }
      let after = try await scene.submit { try $0.add("after", .mark) }
      try await scene.ended(after)
      #expect(try await scene.row(after["after"]).outcome == .succeeded)
      #expect(cluster.daemon("w1")?.end == nil)
      await scene.connection.close()
    }
  }
}
