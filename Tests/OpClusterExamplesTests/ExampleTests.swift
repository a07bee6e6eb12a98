// The five classic programs, the same body on all three backends: what comes out is what a reader
// of the examples is promised.

import Citations
import ExampleMaterials
import FoundationEssentials
import OpCluster
import OpClusterExamples
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized, .timeLimit(.minutes(30))) struct Examples {
  // A limit of the queue; a completion block for each that ended.
  @Test(.checks("S63", "S68", "S109"), arguments: Backend.allCases) func downloadsKeepTheirLimit(
    _ backend: Backend
  ) async throws {
    try await backend.run { cluster, folder in
      var files = ["/0": Array("half of this".utf8)]
      for number in 1...12 { files["/\(number)"] = Array("file \(number)".utf8) }
      let server = try WebServer(files, stuck: ["/0"])
      defer { server.stop() }
      var addresses: [String: String] = [:]
      for path in files.keys { addresses[String(path.dropFirst())] = server.address(of: path) }
      let fetched = try await downloadAll(
        addresses, into: folder, atOnce: 3, givingUpOn: "0", on: cluster)
      #expect(fetched.count == 12)
      for number in 1...12 {
        #expect(text(of: "\(folder)/\(number)") == "file \(number)")
        #expect(fetched["\(number)"]?.path == "\(folder)/\(number)")
      }
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/0"))
      // The stuck one and another were under way together, and never four.
      #expect((2...3).contains(server.mostAtOnce))
    }
  }

  // The one that executes is cancelled by its id, and leaves the table.
  @Test(.checks("S87", "S109"), arguments: Backend.allCases) func aDownloadIsCancelled(
    _ backend: Backend
  ) async throws {
    try await backend.run { cluster, folder in
      let server = try WebServer(["/slow": Array("1234".utf8)], stuck: ["/slow"])
      defer { server.stop() }
      let downloads = Downloads(into: folder, atOnce: 1, on: cluster)
      let first = try await downloads.start("first", from: server.address(of: "/slow"))
      let second = try await downloads.start("second", from: server.address(of: "/slow"))
      try await eventually("the server answers") { server.mostAtOnce == 1 }
      #expect(downloads.underWay == ["first", "second"])
      try await downloads.cancel("second")
      try await second.waitUntilFinished()
      #expect(!first.isFinished)
      try await downloads.cancel("first")
      try await downloads.waitUntilAllAreFinished()
      #expect(first.outcome == .cancelled)
      #expect(second.outcome == .cancelled)
      #expect(second.run == 0)
      try await eventually("the table is empty") { downloads.underWay.isEmpty }
    }
  }

  // What depends on an asynchronous operation waits for its answer.
  @Test(.checks("S131"), arguments: Backend.allCases) func pairsAreAdded(_ backend: Backend)
    async throws
  {
    try await backend.run { cluster, _ in
      let result = try await sumOfPairs([(1, 5), (5, 8), (6, 1), (3, 9)], on: cluster)
      #expect(result.sums == [6, 13, 7, 12])
      #expect(result.total == 38)
    }
  }

  // Cancelled in the middle, of something that would go on for years.
  @Test(.checks("S87", "S100"), arguments: Backend.allCases) func aSumIsCancelled(
    _ backend: Backend
  ) async throws {
    try await backend.run { cluster, _ in
      #expect(try await sum(of: [1, 2, 3, 4], turns: 10, on: cluster) == 100)
      let cancelled = try await sum(
        of: [1, 2, 3, 4], turns: .max, cancelsInTheMiddle: true, on: cluster)
      #expect(cancelled == nil)
    }
  }

  // The filter and the writer find their inputs by type; S22: a broken one costs itself.
  @Test(.checks("S22", "S136"), arguments: Backend.allCases) func imagesBecomeMiniatures(
    _ backend: Backend
  ) async throws {
    try await backend.run { cluster, folder in
      for place in ToyTown.allCases {
        try place.picture(width: 120, height: 80).writePNG(to: "\(folder)/\(place).png")
      }
      try LocalFile.write(Array("not a picture".utf8), to: "\(folder)/broken.png")
      let result = try await tiltShiftImages(in: folder, into: "\(folder)/out", on: cluster)
      #expect(
        result.pictures.map(\.path)
          == ["harbour", "station", "town"].map { "\(folder)/out/\($0).png" })
      for file in result.pictures {
        let before = try Picture(png: file.path.replacing("/out/", with: "/"))
        #expect(try Picture(png: file.path) == before.tiltShifted(focus: 0.55, radius: 9))
      }
      let sheet = try Picture(png: result.contactSheet.path)
      // Three in one row.
      #expect(sheet.width == result.contactSheet.width)
      #expect(sheet.height == 80 + 2 * 10)
    }
  }

  // S22, S136
  @Test(.checks("S22", "S136"), arguments: Backend.allCases) func anArchiveIsUnpacked(
    _ backend: Backend
  ) async throws {
    try await backend.run { cluster, folder in
      let archive = try TarArchive.packed([("a", [1, 2, 3]), ("b/c", Array("hello".utf8))])
      let server = try WebServer(["/archive.tar": archive])
      defer { server.stop() }
      let unpacked = try await fetchAndUnpack(
        server.address(of: "/archive.tar"), into: folder, on: cluster)
      #expect(unpacked?.names == ["a", "b/c"])
      #expect(text(of: "\(folder)/contents/b/c") == "hello")
      let missing = try await fetchAndUnpack(
        server.address(of: "/other.tar"), into: "\(folder)/none", on: cluster)
      #expect(missing == nil)
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/none/contents"))
    }
  }
}
