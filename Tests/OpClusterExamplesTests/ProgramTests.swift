// The examples as people start them: manifests of deploy/examples by `opbatch`, and `opexamples`,
// both as commands that run on the cluster they talk to.

import ExampleMaterials
import FoundationEssentials
import OpCluster
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized, .timeLimit(.minutes(30))) struct Programs {
  /// Runs a program of ours to its end; what it complained about is in the failure.
  private func run(_ arguments: [String], on cluster: OperationCluster) async throws {
    let operation = ClusterOperation(
      ClusterCommand([try Cluster.executable(arguments[0])] + arguments.dropFirst()))
    try await ClusterOperationQueue(on: cluster).addOperation(operation)
    try await operation.waitUntilFinished()
    if operation.outcome != .succeeded {
      Issue.record("\(arguments): \(try await operation.result())")
    }
  }

  private func submit(
    _ manifest: String, _ parameters: [String: String], on cluster: OperationCluster
  ) async throws {
    let pairs = parameters.sorted { $0.key < $1.key }.flatMap { ["-p", "\($0.key)=\($0.value)"] }
    try await run(
      [
        "opbatch", "submit", "--wait", file("deploy/examples/\(manifest)"),
        "--coordinator", try #require(cluster.address),
      ] + pairs,
      on: cluster)
  }

  @Test func theManifestOfTheImages() async throws {
    try await Backend.embedded.run { cluster, folder in
      for place in ToyTown.allCases {
        try place.picture(width: 120, height: 80).writePNG(to: "\(folder)/\(place).png")
      }
      try LocalFile.makeFolder("\(folder)/out")
      try await submit(
        "images.yaml", ["source": folder, "output": "\(folder)/out"], on: cluster)
      let first = try Picture(png: "\(folder)/harbour.png")
      #expect(
        try Picture(png: "\(folder)/out/1.png") == first.tiltShifted(focus: 0.55, radius: 9))
      #expect(try Picture(png: "\(folder)/out/contact-sheet.png").width > 240)
    }
  }

  @Test func theManifestOfTheArchive() async throws {
    try await Backend.embedded.run { cluster, folder in
      let archive = try TarArchive.packed([("a", [1]), ("b/c", Array("hello".utf8))])
      let server = try WebServer(["/archive.tar": archive])
      defer { server.stop() }
      try await submit(
        "unpack.yaml", ["from": server.address(of: "/archive.tar"), "folder": folder], on: cluster)
      // Unpacked by `tar` itself.
      #expect(text(of: "\(folder)/b/c") == "hello")
    }
  }

  @Test func theCommand() async throws {
    try await Backend.embedded.run { cluster, folder in
      let place = ["--coordinator", try #require(cluster.address)]
      try await run(["opexamples", "draw", "\(folder)/drawn"], on: cluster)
      #expect(
        try LocalFile.names(in: "\(folder)/drawn") == ["harbour.png", "station.png", "town.png"])
      try await run(["opexamples", "sum-of-pairs"] + place, on: cluster)
      try await run(["opexamples", "sum", "--cancel"] + place, on: cluster)
      try await run(["opexamples", "unpack", "\(folder)/poem"] + place, on: cluster)
      #expect(
        text(of: "\(folder)/poem/contents/poem/second.txt") == "the workers strong.\n")
      try await run(["opexamples", "downloads", "\(folder)/files", "--local"], on: cluster)
      #expect(try LocalFile.names(in: "\(folder)/files").count == 12)
    }
  }
}
