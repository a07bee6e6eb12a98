// G19 with the real `opbatch`: the same key from another folder is another content only where the
// content uses the folder.

import Citations
import FoundationEssentials
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct SubmissionKeyCommandTests {
  /// Submits a manifest from a folder; what was said, and the exit status.
  private func submit(
    _ scene: Scene, _ path: String, from folder: String, key: String
  ) async throws -> (status: Int32, said: String) {
    let program = try ChildProgram(
      "submit-\(UInt32.random(in: 0 ... .max))", "/usr/bin/env",
      ["-C", folder, try Cluster.executable("opbatch"), "submit", path, "--key", key],
      environment: scene.cluster.environment
        + ["OPBATCH_COORDINATOR=\(scene.cluster.address)"],
      folder: scene.cluster.folder, input: "/dev/null")
    let status = try await program.ended()
    return (status, program.output + program.error)
  }

  private func folders(_ scene: Scene) throws -> (String, String) {
    for name in ["home", "home/deeper"] {
      try FileManager.default.createDirectory(
        atPath: "\(scene.folder)/\(name)", withIntermediateDirectories: true)
    }
    return ("\(scene.folder)/home", "\(scene.folder)/home/deeper")
  }

  // Calls, and commands that name their folder, by itself or from the manifest's.
  @Test(.checks("G19")) func contentThatUsesNoFolder() async throws {
    let scene = try await SharedCluster.scene("keys-apart")
    let (home, deeper) = try folders(scene)
    let key = "apart-\(scene.folder)"
    try write(
      """
      version: 1
      operations:
        a: {call: {type: noop}}
        b: {needs: a, workdir: /, run: "true"}
        c: {needs: b, workdir: deeper, run: "true", stdout: out.txt}

      """, to: "\(home)/graph.yaml")
    let first = try await submit(scene, "graph.yaml", from: home, key: key)
    #expect(first.status == 0, "\(first.said)")
    for (folder, path) in [
      (deeper, "../graph.yaml"), ("/", "\(home)/graph.yaml"), (home, "./graph.yaml"),
      (home, "deeper/../graph.yaml"),
    ] {
      let again = try await submit(scene, path, from: folder, key: key)
      #expect(again.status == 0 && again.said.contains("was submitted before"), "\(again.said)")
    }
  }

  // A command runs in the folder that it was submitted from: there it is another content.
  @Test(.checks("G19")) func contentThatUsesTheFolder() async throws {
    let scene = try await SharedCluster.scene("keys-within")
    let (home, deeper) = try folders(scene)
    let key = "within-\(scene.folder)"
    try write(
      "version: 1\noperations: {a: {run: \"true\"}}\n", to: "\(home)/graph.yaml")
    let first = try await submit(scene, "graph.yaml", from: home, key: key)
    #expect(first.status == 0, "\(first.said)")
    let same = try await submit(scene, "\(home)/graph.yaml", from: home, key: key)
    #expect(same.status == 0 && same.said.contains("was submitted before"), "\(same.said)")
    let other = try await submit(scene, "../graph.yaml", from: deeper, key: key)
    #expect(other.status == 5 && other.said.contains("content is another"), "\(other.said)")
  }
}
