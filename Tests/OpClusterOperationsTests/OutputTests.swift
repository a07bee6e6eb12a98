// Typed outputs and their envelope.

import Citations
import FoundationEssentials
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Testing

@Suite struct OutputTests {
  struct Report: Codable, Hashable, Sendable {
    var title = "a \"b\"\n\\ é/💡"
    var pages: UInt64 = .max
    var ratio = 0.1
    var isFinal = true
    var note: String?
    var lines = ["{\"not\": \"a key\"}", "]"]
    var inner = ["deep": ["deeper": 1]]
    var zone = -3
    var empty = ""
    var last = [Int]()
  }

  private func round<Value: Codable & Equatable>(_ value: Value) throws -> Bool {
    try OutputValue.decode(Value.self, from: OutputValue.encode(value)) == value
  }

  // Any value comes back as it was.
  @Test(.checks("S126")) func valuesComeBack() throws {
    #expect(try round(Report()))
    #expect(try round(7) && round("text") && round(true) && round(0.1) && round([1, 2]))
    #expect(
      try round(["a": "b"]) && round(Data([1, 2, 3])) && round(Date(timeIntervalSince1970: 1)))
    #expect(try round(Int?.none) && round(Int?.some(1)))
    #expect(try round(NoOutput()))
    #expect(try OutputValue.encode(NoOutput()).isEmpty)
  }

  // The scalar fields are there for commands, exactly as they were written.
  @Test func scalarFieldsArePairs() throws {
    let pairs = try Wire.decodeOutputs(OutputValue.encode(Report()))
    #expect(
      pairs.map { "\($0.key)=\($0.value)" } == [
        "empty=", "isFinal=true", "pages=18446744073709551615", "ratio=0.1",
        "title=a \"b\"\n\\ é/💡", "zone=-3",
      ])
    for value in [try OutputValue.encode([1]), try OutputValue.encode("{\"a\":1}")] {
      #expect(try Wire.decodeOutputs(value).isEmpty)
    }
    #expect(
      try Wire.decodeOutputs(OutputValue.encode(["a": 1, "b": 2])).map(\.value) == ["1", "2"])
    #expect(try Wire.decodeOutputs(OutputValue.encode([String: Int]())).isEmpty)
    #expect(
      try Wire.decodeOutputs(OutputValue.encode(["k\"\\,:{": "v"])).map(\.key) == ["k\"\\,:{"])
  }

  // At the limit, and one past it; pairs never make a value too large.
  @Test func limits() throws {
    func text(_ count: Int) -> String { String(repeating: "a", count: count) }
    let around = try OutputValue.encode(text(60_000)).count - 60_000
    let most = Limits.outputBytes - around
    #expect(try OutputValue.encode(text(most)).count == Limits.outputBytes)
    #expect(try OutputValue.encode(text(most + 1)).count == Limits.outputBytes + 1)

    let field = [
      "long": text(Limits.outputFieldBytes - 2), "longer": text(Limits.outputFieldBytes),
    ]
    #expect(try Wire.decodeOutputs(OutputValue.encode(field)).map(\.key) == ["long"])
    let many = Dictionary(uniqueKeysWithValues: (100..<130).map { ("\($0)", text(2_000)) })
    let bytes = try OutputValue.encode(many)
    #expect(bytes.count <= Limits.outputBytes)
    #expect(try OutputValue.decode([String: String].self, from: bytes) == many)
    #expect(try Wire.decodeOutputs(bytes).map(\.key) == ["100", "101"])
  }

  // The wrong type, an older one, nothing, rubbish: a sentence each.
  @Test func wrongTypes() throws {
    func problem<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> String? {
      #expect(throws: BadOutput.self) { try OutputValue.decode(type, from: bytes) }?.description
    }
    let seven = try OutputValue.encode(7)
    #expect(problem(String.self, seven) == "it left a value of type Int, not a String")
    #expect(problem(NoOutput.self, seven) == "it left a value of type Int, not a NoOutput")
    #expect(
      problem([String: String].self, seven)?.hasSuffix("not a Dictionary<String, String>") == true)
    #expect(problem(Int.self, []) == "there is no output, where a Int was expected")
    #expect(problem(Int.self, [0xFF])?.hasPrefix("the output cannot be read") == true)
    let older = Wire.encode(
      output: OperationOutput(typeName: "Picture", value: Array(#"{"width":1}"#.utf8)))
    #expect(
      problem(Picture.self, older)
        == "the Picture that was left does not fit the type here: 'name' is missing")
  }

  @Test func names() {
    #expect(OutputValue.typeName(of: Report.self) == "Report")
    #expect(OutputValue.typeName(of: [Report].self) == "Array<Report>")
  }
}
