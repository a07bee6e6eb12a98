// Files between commands and registered operations, with the real `opbatch` and workers with
// folders of their own: each reads what the other leaves.

import Citations
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized) struct CallFileTests {
  private var shape: Cluster.Shape {
    var shape = Cluster.Shape(workers: 2)
    shape.program = "ConformanceWorker"
    return shape
  }

  private func manifest(_ type: String, _ paths: String) -> String {
    """
    version: 1
    operations:
      make:
        array: 0-1
        run: printf 'made ${{ index }}. ' > out
        outputs: {files: {text: out}}
        require: {worker: w1}
      append:
        call: {type: \(type), input: {paths: [\(paths)]}}
        needs: {make: {files: [text]}}
        inputs: {raw: raw.txt}
        require: {worker: w2}
      show:
        needs: {append: {files: [all]}}
        require: {worker: w1}
        run: |
          cat "$OP_INPUTS/append/all"
          echo "${{ needs.append.outputs.bytes }} bytes"

    """
  }

  /// In the worker's own process, and in one of theirs.
  @Test(
    .checks("S140"),
    arguments: ["conformance.append-files", "conformance.append-files-apart"])
  func thereAndBack(type: String) async throws {
    try await Cluster.with(shape) { cluster in
      let home = cluster.folder
      try write("raw. ", to: "\(home)/raw.txt")
      try write(manifest(type, "raw, make/0/text, make/1/text"), to: "\(home)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "--wait")
      #expect(said.status == 0, "\(said.error)")
      let expected = "raw. made 0. made 1. "
      let shown = try await cluster.opbatch("logs", "1/show")
      #expect(shown.output == "\(expected)\(expected.utf8.count) bytes\n", "\(shown.output)")
      let listed = try await cluster.opbatch("files", "1/append")
      #expect(listed.status == 0 && listed.output.contains("all"), "\(listed.output)")
      let fetched = try await cluster.opbatch("fetch", "1/append", "all", "-o", "\(home)/fetched")
      #expect(fetched.status == 0, "\(fetched.error)")
      #expect(
        FileManager.default.contents(atPath: "\(home)/fetched") == Data(expected.utf8))
      let written = try await cluster.opbatch("fetch", "1/append", "-o", "-")
      #expect(written.status == 0 && written.output == expected && written.error == "")
      let several = try await cluster.opbatch("fetch", "1", "-o", "-")
      #expect(several.status == 65 && several.output == "")
      #expect(several.error.contains("3 files cannot go to standard output"), "\(several.error)")
    }
  }

  /// What is not there is said with what is.
  @Test(.checks("S138")) func missing() async throws {
    try await Cluster.with(shape) { cluster in
      let home = cluster.folder
      try write("raw. ", to: "\(home)/raw.txt")
      for (type, paths, message) in [
        (
          "conformance.append-files", "other",
          "there is no input file 'other'; there are make/0/text, make/1/text, "
            + "raw"
        ),
        ("conformance.append-files-apart", "../raw", "'../raw' is no path of an input file"),
      ] {
        try write(manifest(type, paths), to: "\(home)/graph.yaml")
        let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "--wait", "-o", "name")
        #expect(said.status != 0)
        let graph = said.output.prefix { $0 != "\n" }
        let shown = try await cluster.opbatch("show", "\(graph)/append")
        #expect(shown.output.contains(message), "\(shown.output)")
      }
      // A command names a file that the value does not have.
      let other = manifest("conformance.append-files", "raw")
        .replacing("files: [all]", with: "files: [every]")
      try write(other, to: "\(home)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "--wait", "-o", "name")
      #expect(said.status != 0)
      let graph = said.output.prefix { $0 != "\n" }
      let shown = try await cluster.opbatch("show", "\(graph)/show")
      #expect(shown.output.contains("'append' left no file 'every'"), "\(shown.output)")
    }
  }
}
