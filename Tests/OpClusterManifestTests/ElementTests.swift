// Arrays and matrices: counts, numbers, values, and their framing.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct ElementTests {
  @Test(
    arguments: [
      ("5", [5]), ("1-4", [1, 2, 3, 4]), ("0-9:3", [0, 3, 6, 9]), ("1-3,7", [1, 2, 3, 7]),
      ("7,1-2", [7, 1, 2]), ("1_000-1_001", [1000, 1001]), ("1-2,3-4", [1, 2, 3, 4]),
      ("4294967295", [4_294_967_295]),
    ] as [(String, [UInt32])])
  func rangesCount(text: String, numbers: [UInt32]) throws {
    let compiled = compile("version: 1\noperations: {a: {run: x, array: '\(text)'}}")
    let template = try compiled.template("a")
    #expect(Int(template.count) == numbers.count)
    #expect((0..<template.count).map { template.shownIndex(ofElement: $0) } == numbers)
    #expect(template.elementArguments.isEmpty)
  }

  @Test(arguments: [
    "", "a", "1-", "-1", "3-1", "1-2-3", "1:2", "1-4:0", "1,,2", "4294967296", "1-3,2", "5,5",
    "1-4000001", "_", "1-9:",
  ])
  func wrongRangesAreRefused(text: String) {
    #expect(
      compile("version: 1\noperations: {a: {run: x, array: '\(text)'}}").errors.count == 1)
  }

  /// The limit itself, and one past it.
  @Test func theLargestArray() throws {
    let compiled = compile("version: 1\noperations: {a: {run: x, array: 1-4000000}}")
    #expect(try compiled.template("a").count == 4_000_000)
    let two = compile("version: 1\noperations: {a: {run: x, array: 1-4000000}, b: {run: x}}")
    #expect(two.errors == ["the graph has more than 4000000 operations"])
  }

  @Test func sourcesOfItems() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        items: {run: x, array: {items: [a b, "", 007]}}
        lines: {run: x, array: {lines: ./in/list.txt, max_parallel: 3}}
        none: {run: x, array: {lines: empty}}
        glob: {run: x, array: {glob: "in/*.t[xy]?"}}
        json: {run: x, array: {json: /abs/list.json}}
        one: {run: x, array: {range: 3}}
      """,
      files: [
        "/base/in/list.txt": "p\n\nq r\n", "/base/in/b.txt": "", "/base/in/.h.txt": "",
        "/base/in/a.tyz": "", "/base/empty": "\n", "/abs/list.json": #"["x", 1.50, true]"#,
      ])
    func values(_ name: String) throws -> [String] {
      let arguments = try compiled.template(name).elementArguments
      return (0..<arguments.count).map { String(decoding: arguments[$0], as: UTF8.self) }
    }
    #expect(try values("items") == ["a b", "", "007"])
    #expect(try values("lines") == ["p", "q r"])
    #expect(try compiled.template("lines").maximumParallel == 3)
    #expect(try compiled.template("none").count == 0)
    #expect(try compiled.template("none").isArray)
    #expect(try values("glob") == ["in/a.tyz", "in/b.txt", "in/list.txt"])
    #expect(try values("json") == ["x", "1.50", "true"])
    #expect(try compiled.template("one").indexRuns == [IndexRun(first: 3, count: 1)])
    // Items are numbered from 1.
    #expect(try compiled.template("items").shownIndex(ofElement: 0) == 1)
  }

  @Test func aMatrixIsTheProductWithoutAndWith() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        a:
          run: x
          matrix:
            w: [1, 2]
            f: [jpg, webp]
            exclude: [{w: 2, f: webp}]
            include: [{w: 9, f: "p\\u00fc"}]
            max_parallel: 2
      """)
    let template = try compiled.template("a")
    let rows = (0..<template.elementArguments.count).map {
      ElementValues.decode(template.elementArguments[$0], keyCount: 2)
    }
    #expect(rows == [["1", "jpg"], ["1", "webp"], ["2", "jpg"], ["9", "pü"]])
    #expect(template.count == 4)
    let element = compiled.result.expanded[0].element(3)
    #expect(element.keys == ["w", "f"])
    #expect(element.values == ["9", "pü"])
    #expect(element.index == 4)
  }

  @Test(arguments: [
    [], ["x"], [""], ["", ""], ["a", "b", "c"], [String(repeating: "ü", count: 100), "'\n"],
    [String(repeating: "x", count: 20_000), ""],
  ])
  func framingComesBack(values: [String]) {
    let bytes = ElementValues.encode(values)
    #expect(ElementValues.decode(bytes, keyCount: values.count) == values)
  }

  @Test func damagedFramingIsRefused() {
    let bytes = ElementValues.encode(["ab", "c"])
    for length in 0..<bytes.count {
      #expect(ElementValues.decode(Array(bytes[..<length]), keyCount: 2) == nil)
    }
    #expect(ElementValues.decode(bytes + [0], keyCount: 2) == nil)
    #expect(ElementValues.decode([0xFF, 0xFF, 0xFF, 0x7F], keyCount: 2) == nil)
    #expect(ElementValues.decode([0xFF], keyCount: 1) == nil)
  }

  /// An item at the limit of its bytes, and one past it.
  @Test func theLargestItem() {
    let most = String(repeating: "x", count: Limits.elementArgumentBytes)
    func errors(_ line: String) -> [String] {
      compile(
        "version: 1\noperations: {a: {run: x, array: {lines: f}}}", files: ["/base/f": line]
      ).errors
    }
    #expect(errors(most) == [])
    #expect(errors(most + "y") == ["an item has more than 65536 bytes"])
  }

  /// Random manifests expand to the number of elements that they say.
  @Test(arguments: 0..<60)
  func randomManifestsExpandToTheRightCount(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var yaml = "version: 1\noperations:\n"
    var expected: [Int] = []
    for at in 0..<Int.random(in: 1...12, using: &random) {
      var needs = ""
      if at > 0, Bool.random(using: &random) {
        needs = ", needs: [o\(Int.random(in: 0..<at, using: &random))]"
      }
      let (elements, count) = Self.elements(&random)
      yaml += "  o\(at): {run: echo\(needs)\(elements)}\n"
      expected.append(count)
    }
    let submission = try compile(yaml).submission
    #expect(submission.templates.map { Int($0.count) } == expected, "\(yaml)")
    #expect(submission.operationCount == expected.reduce(0, +))
  }

  private static func elements(_ random: inout SplitMix) -> (String, Int) {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return ("", 1)
    case 1:
      let first = Int.random(in: 0...50, using: &random)
      let last = first + Int.random(in: 0...50, using: &random)
      let step = Int.random(in: 1...7, using: &random)
      return (
        ", array: '\(first)-\(last):\(step)'",
        Array(stride(from: first, through: last, by: step)).count
      )
    case 2:
      let count = Int.random(in: 0...9, using: &random)
      let items = (0..<count).map { "i\($0)" }.joined(separator: ", ")
      return (", array: {items: [\(items)]}", count)
    default:
      let axes = (1...3).map { _ in Int.random(in: 1...4, using: &random) }
      let text = axes.enumerated().map { at, size in
        "k\(at): [\((0..<size).map(String.init).joined(separator: ", "))]"
      }
      let excluded = ", exclude: [{k0: 0, k1: 0, k2: 0}]"
      return (
        ", matrix: {\(text.joined(separator: ", "))\(excluded)}", axes.reduce(1, *) - 1
      )
    }
  }
}

/// A small generator with a seed.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
