// Durations, sizes, amounts, and the bounds of a manifest's text.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct QuantityTests {
  @Test(
    arguments: [
      ("90s", 90_000_000_000), ("1h30m", 5_400_000_000_000), ("1.5h", 5_400_000_000_000),
      ("250ms", 250_000_000), ("2d", 172_800_000_000_000), ("0s", 0), ("0.001s", 1_000_000),
      ("1m1ms", 60_001_000_000), ("36500d", 3_153_600_000_000_000_000),
    ] as [(String, Int64)])
  func durations(text: String, nanoseconds: Int64) {
    #expect(Quantities.duration(text) == Span(nanoseconds: nanoseconds))
  }
  @Test(arguments: [
    "", "90", "s", "1 s", "-1s", "1S", "1.s", ".5s", "1..5s", "1e3s", "36501d",
    "99999999999999999999s",
    "36500d36500d36500d", "١s",
  ])
  func noDurations(text: String) { #expect(Quantities.duration(text) == nil) }

  @Test(
    arguments: [
      ("512MiB", 512 << 20), ("1.5 GB", 1_500_000_000), ("4096", 4096), ("0B", 0), ("1.5KiB", 1536),
      ("8388607TiB", 8_388_607 << 40), ("2kB", 2000),
    ] as [(String, Int64)])
  func sizes(text: String, bytes: Int64) { #expect(Quantities.bytes(text) == bytes) }
  @Test(arguments: ["", "GB", "1G", "1 ", "1  GB", "-1GB", "8388608TiB", "1.GB", "0x1", "1gb"])
  func noSizes(text: String) { #expect(Quantities.bytes(text) == nil) }

  @Test(
    arguments: [("0", 0), ("1", 10_000), ("0.5", 5000), ("0.0001", 1), ("12.25", 122_500)]
      as [(String, Int64)])
  func amounts(text: String, tenThousandths: Int64) {
    #expect(Quantities.amount(text)?.tenThousandths == tenThousandths)
  }
  @Test(arguments: ["", "-1", "0.00001", "1e3", "all", "999999999999999999"])
  func noAmounts(text: String) { #expect(Quantities.amount(text) == nil) }

  @Test(arguments: [
    ("a*c", "abbc", true), ("a*c", "ab", false), ("?", "ü", true), ("[a-c]x", "bx", true),
    ("[!a-c]x", "bx", false), ("*.t[!x]t", "a.txt", false),
    ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaa", false),
    ("[", "[", true), ("[]", "[]", true), ("**", "", true), ("[]a]", "a", true),
    ("*", ".hidden", false), (".*", ".hidden", true),
  ])
  func globs(pattern: String, name: String, matches: Bool) {
    #expect(FileNamePattern(pattern).matches(name) == matches)
  }

  @Test func theLargestText() {
    let start = "version: 1\noperations: {a: {run: x}}\n#"
    let most = start + String(repeating: "x", count: YAMLReader.maximumBytes - start.utf8.count)
    #expect(compile(most).errors == [])
    #expect(compile(most + "x").errors == ["the manifest is larger than 64 MiB"])
  }

  /// What would take more memory than 4 MiB of any text could before is refused unparsed.
  @Test func asManyNodesAsTextsOfFourMebibytesHave() {
    let start = "version: 1\noperations: {a: {run: x}}\nx-a: ["
    // Two lines, three keys with their values, two braces and a bracket, and a dash.
    let marks = start.utf8.count { ",:[{-?\n".utf8.contains($0) }
    let most = start + String(repeating: "1,", count: YAMLReader.maximumMarks - marks) + "]"
    #expect(YAMLReader.hasRoomForNodes(most))
    #expect(!YAMLReader.hasRoomForNodes(most + ",,"))
    #expect(
      compile(most + ",,").errors == [
        "the manifest has more than 2,097,152 lines, list items and keys"
      ])
    // A long text has room.
    let long = "run: " + String(repeating: "echo a b; ", count: 2 * 1024 * 1024)
    #expect(long.utf8.count > 16 << 20 && YAMLReader.hasRoomForNodes(long))
  }

  /// 200,000 nodes, aliases counted where they are used, and one more.
  @Test func theMostNodes() {
    let start = "version: 1\noperations: {a: {run: x}}\nx-a: ["
    // The root, three values, the operation, its run: six, and the list's items.
    let most = start + String(repeating: "1,", count: YAMLReader.maximumNodes - 6) + "]"
    #expect(compile(most).errors == [])
    let more = start + String(repeating: "1,", count: YAMLReader.maximumNodes - 5) + "]"
    #expect(compile(more).errors == ["the manifest has more than 200,000 nodes"])
  }

  @Test func deepTextsAreRefused() {
    for depth in [50, 200, 5000, 200_000] {
      let text =
        "x-a: " + String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      let errors = compile("version: 1\noperations: {a: {run: x}}\n" + text).errors
      #expect(errors.isEmpty == (depth == 50), "\(depth): \(errors)")
    }
  }

  @Test func aliasBombsAreRefused() {
    var bomb = "version: 1\nx-0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in 1...20 {
      let list = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
      bomb += "x-\(level): &a\(level) [\(list)]\n"
    }
    let good = "operations: {a: {run: x}}\n"
    #expect(compile(bomb + good).errors == ["the manifest has more than 200,000 nodes"])
    for key in ["*a20 : 1\n", "? *a20\n: 1\n", "{[*a20]: 1}: 2\n", "x-z: {? [*a20] : 1}\n"] {
      #expect(compile(bomb + key + good).errors == ["an alias cannot be a key"], "\(key)")
    }
  }

  /// What looks like an alias in a key, but is none.
  @Test(arguments: [
    "sed 's/,? *x//'", "case $x in *a) echo;; esac", "ls *a b: c", "[ ? *b ]", "echo &&  *a :",
  ])
  func textsWithStarsAreFine(text: String) {
    let start =
      "version: 1\nx-a: &a [x]\nx-b: [*a, *a]\noperations:\n  a:\n    run: |\n      true\n"
    #expect(compile(start + "      true \(text)\n").errors == [])
    #expect(compile(start + "      \(text)\n").errors == [])
  }

  @Test func bytesThatAreNotText() {
    let surroundings = Surroundings(baseFolder: "/")
    let bytes: [UInt8] = [0x61, 0xFF]
    let result = ManifestCompiler.decoding(bytes, fileName: "f", surroundings: surroundings)
    #expect(throws: ManifestCompiler.NotText.self) { try result.get() }
  }

  @Test(arguments: [
    ("rna seq.yaml", "rna_seq"), ("/a/b/c.d.yml", "c.d"), ("-", "_-"), ("2x.yaml", "_2x"),
    ("", "graph"),
    (".yaml", "_.yaml"),
  ])
  func theDefaultName(file: String, name: String) throws {
    let compiler = ManifestCompiler(
      source: "version: 1\noperations: {a: {run: x}}", fileName: file,
      surroundings: Surroundings(baseFolder: "/"))
    #expect(compiler.compile(encoders: .empty).submission?.name == name)
  }
}
