// Inputs of calls with outputs of dependencies, filled in at the start of an attempt.

import Citations
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// Leaves its own argument, so that tests see what came.
private struct Echo: RegisteredOperation {
  static let typeName = "test.echo"
  var count: Int
  var flag: Bool
  var word: String
  var parts: [Double]
  var pair: [String: String]

  func main(_ context: OperationContext) async throws -> String {
    "\(count) \(flag) \(word) \(parts) \(pair.sorted { $0.key < $1.key })"
  }
}

extension WorkerTests {
  private static func place(
    _ key: String, of operation: String = "make", _ form: CallInput.Form = .json
  ) -> CallInput.Segment {
    .value(
      CommandText(segments: [
        .value(.output(operation: operation, key: key), quoting: .none)
      ]), form)
  }

  private static let input = CallInput(
    segments: [
      .json("{\"count\":"), place("n"), .json(",\"flag\":"), place("yes"),
      .json(",\"word\":"),
      .value(
        CommandText(segments: [
          .literal("say \""), .value(.output(operation: "make", key: "w"), quoting: .none),
          .literal("\" "), .value(.element(0), quoting: .none),
        ]), .string),
      .json(",\"parts\":"), place("p", of: "many", .list),
      .json(",\"pair\":"), place("o"), .json("}"),
    ], elementKeys: ["item"])

  private static func inputs(_ change: (inout [(String, String)]) -> Void = { _ in })
    -> [DependencyInput]
  {
    var pairs = [("n", "42"), ("yes", "true"), ("w", "a\\b"), ("o", #"{"k":"v"}"#)]
    change(&pairs)
    func id(_ index: UInt32) -> OperationID {
      OperationID(graph: FakeCoordinator.graph, index: index)
    }
    func output(_ pairs: [(String, String)]) -> [UInt8] {
      Wire.encode(outputs: pairs.map { (key: $0.0, value: $0.1) })
    }
    return [
      DependencyInput(
        operation: id(50), name: "make", index: nil, outcome: .succeeded, output: output(pairs)),
      DependencyInput(
        operation: id(52), name: "many", index: 2, outcome: .succeeded,
        output: output([("p", "0.5")])),
      DependencyInput(
        operation: id(51), name: "many", index: 1, outcome: .succeeded,
        output: output([("p", "7")])),
    ]
  }

  // Numbers, truth values and objects keep their kind; an array gives a list in its order.
  @Test func anInputIsFilledIn() throws {
    let coordinator = try FakeCoordinator()
    var types = OperationRegistry()
    types.add(Echo.self)
    let worker = try TestWorker(coordinator.endpoint, types: types)
    var template = FakeCoordinator.template(
      work: .call(OperationType(name: Echo.typeName)),
      payload: Wire.encode(callInput: Self.input))
    template.fillsInput = true
    let result = try coordinator.run(
      template, argument: ElementValues.encode(["item"]), inputs: Self.inputs())
    #expect(result.isSuccess, "\(result)")
    let expected = #"42 true say "a\b" item [7.0, 0.5] [(key: "k", value: "v")]"#
    #expect(try OutputValue.decode(String.self, from: result.output) == expected)
    // The same as a block.
    let blocks = FakeCoordinator.template(
      at: 1, firstIndex: 1, work: .blocks([OperationType(name: Echo.typeName)]),
      payload: Wire.encode(blocks: [
        .filledCall(OperationType(name: Echo.typeName), Self.input)
      ]))
    let whole = try coordinator.run(
      blocks, argument: Wire.encode(blockElement: ElementValues.encode(["item"])),
      inputs: Self.inputs())
    guard case .succeeded(let own) = try Wire.decodeBlockResults(whole.output).first else {
      Issue.record("\(whole)")
      return
    }
    #expect(try OutputValue.decode(String.self, from: own) == expected)
    withExtendedLifetime(worker) {}
  }

  // What is not there ends the attempt before main, in a way that is not retried.
  @Test(.checks("S138")) func aMissingOutputFailsTheAttempt() throws {
    let coordinator = try FakeCoordinator()
    var types = OperationRegistry()
    types.add(Echo.self)
    let worker = try TestWorker(coordinator.endpoint, types: types)
    var template = FakeCoordinator.template(
      work: .call(OperationType(name: Echo.typeName)),
      payload: Wire.encode(callInput: Self.input))
    template.fillsInput = true
    let result = try coordinator.run(
      template, argument: ElementValues.encode(["item"]),
      inputs: Self.inputs { $0.removeFirst() })
    #expect(result.cause == .missingInput)
    #expect(result.diagnostic.contains("needs.make.outputs.n is not there"), "\(result)")
    var second = template
    (second.template, second.firstIndex) = (1, 1)
    let none = try coordinator.run(
      second, argument: ElementValues.encode(["item"]),
      inputs: Self.inputs().filter { $0.name == "make" })
    #expect(none.cause == .missingInput)
    var broken = template
    (broken.template, broken.firstIndex, broken.payload) = (2, 2, [7, 7, 7])
    #expect(try coordinator.run(broken).cause == .badArgument)
    withExtendedLifetime(worker) {}
  }

  // What a text is as JSON, and what it is not.
  @Test(arguments: [
    ("42", "42"), ("-0.5e3", "-0.5e3"), ("007", "\"007\""), ("1.", "\"1.\""), ("", "\"\""),
    ("true", "true"), ("null", "\"null\""), ("True", "\"True\""), ("[1, 2]", "[1, 2]"),
    ("[1, 2", "\"[1, 2\""), ("{\"a\":[]}", "{\"a\":[]}"), ("{a}", "\"{a}\""),
    ("\"quoted\"", "\"\\\"quoted\\\"\""), ("a\u{1}\tb", "\"a\\u0001\\tb\""), (" 1", "\" 1\""),
  ])
  func textsAsJSON(text: String, json: String) {
    let output = OperationOutput(pairs: [.init(key: "k", value: text)])
    #expect(OutputField.json("k", of: output) == json)
    #expect(OutputField.json("other", of: output) == nil)
  }

  // The fields of a typed value are what they are there, a string of digits too.
  @Test func fieldsOfTypedValues() throws {
    struct Left: Codable {
      var digits = "42"
      var list = [1, 2]
      var number = 1.5
    }
    let output = try Wire.decodeOutput(try OutputValue.encode(Left()))
    #expect(OutputField.json("digits", of: output) == "\"42\"")
    #expect(OutputField.json("list", of: output) == "[1,2]")
    #expect(OutputField.json("number", of: output) == "1.5")
    #expect(OutputField.json("nothing", of: output) == nil)
  }

  // Values at the limit of an argument, and one byte past it.
  @Test(arguments: [0, 1]) func theLargestInput(further: Int) throws {
    let text = String(repeating: "x", count: 50_000)
    let rest = Limits.payloadBytes - 5 * (text.utf8.count + 2) + further
    let input = CallInput(
      segments: Array(repeating: Self.place("n"), count: 5)
        + [.json(String(repeating: " ", count: rest))])
    let values = AttemptValues(
      index: 1, elements: [], inputs: Self.inputs { $0[0].1 = text })
    do throws(AttemptProblem) {
      let argument = try values.argument(input)
      #expect(argument.count == Limits.payloadBytes && further == 0)
    } catch {
      #expect(further == 1 && error.cause == .badArgument)
    }
  }
}
