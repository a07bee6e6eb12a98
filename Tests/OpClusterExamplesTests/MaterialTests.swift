// What the examples work on: pictures, archives, addresses of the web.

import ExampleMaterials
import FoundationEssentials
import Testing

@Suite struct Materials {
  /// The pictures of the README are what the programs make today.
  @Test(arguments: ToyTown.allCases) func thePicturesAreOurs(_ place: ToyTown) throws {
    let path = file("deploy/examples/images/\(place).png")
    #expect(try Picture(png: path) == place.picture())
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64
    #expect(try #require(size) < 150_000)
    #expect(
      try Picture(png: file("deploy/examples/miniatures/\(place).png"))
        == place.picture().tiltShifted(focus: 0.55, radius: 9))
  }

  @Test func sharpInTheMiddleBlurredAtTheEnds() throws {
    // Columns, black and white: their contrast tells how sharp a row is.
    var stripes = Picture(width: 60, height: 100, filledWith: Colour(0, 0, 0))
    for y in 0..<100 {
      for x in 0..<60 where x / 3 % 2 == 0 { stripes[x, y] = Colour(255, 255, 255) }
    }
    let shifted = stripes.tiltShifted(focus: 0.5, radius: 9)
    func contrast(_ y: Int) -> Int {
      (12..<48).reduce(0) { $0 + abs(Int(shifted[$1, y].red) - Int(shifted[$1 + 1, y].red)) }
    }
    #expect(contrast(50) > 10 * contrast(2))
    #expect(contrast(50) > 10 * contrast(97))
    #expect(contrast(2) > 0)
  }

  @Test func picturesOutOfRange() {
    #expect(throws: MaterialError.self) { try Picture(width: 0, height: 5, bytes: []) }
    #expect(throws: MaterialError.self) { try Picture(width: 2, height: 1, bytes: [0]) }
    #expect(throws: MaterialError.self) { try Picture(png: "/nowhere.png") }
    #expect(throws: MaterialError.self) { try Picture(png: #filePath) }
  }

  @Test func archivesComeBack() throws {
    let files: [(name: String, bytes: [UInt8])] = [
      ("empty", []), ("block", [UInt8](repeating: 7, count: 512)), ("a/b", [1, 2]),
    ]
    let read = try TarArchive.files(in: TarArchive.packed(files))
    #expect(read.map(\.name) == files.map(\.name))
    #expect(read.map(\.bytes) == files.map(\.bytes))
  }

  @Test(arguments: ["../out", "/etc/x", "a/../../b"]) func archivesThatLeadOut(
    _ name: String
  ) throws {
    let archive = try TarArchive.packed([(name, [1])])
    #expect(throws: MaterialError.self) { try TarArchive.files(in: archive) }
  }

  @Test func archivesThatBreakOff() throws {
    let archive = try TarArchive.packed([("a", [UInt8](repeating: 1, count: 2_000))])
    #expect(throws: MaterialError.self) { try TarArchive.files(in: Array(archive[..<1_000])) }
    #expect(throws: MaterialError.self) {
      try TarArchive.files(in: [UInt8](repeating: 9, count: 600))
    }
  }

  @Test(arguments: ["ftp://a/b", "http://", "http://a:x/", "http://a b/", "http://a:1:2/"])
  func addressesThatAreNone(_ address: String) {
    #expect(throws: MaterialError.self) { try WebResource(address) }
  }

  @Test func anAddressInParts() throws {
    let resource = try WebResource("http://localhost:8080/a/b?c")
    #expect(resource.host == "localhost")
    #expect(resource.port == 8_080)
    #expect(resource.path == "/a/b?c")
    #expect(try WebResource("http://localhost").path == "/")
    #expect(try WebResource("http://localhost").port == 80)
  }

  @Test func whatIsNotThere() async throws {
    let server = try WebServer([:])
    defer { server.stop() }
    await #expect(throws: MaterialError("/a: the server says 404")) {
      try await WebResource(server.address(of: "/a")).get()
    }
  }
}
