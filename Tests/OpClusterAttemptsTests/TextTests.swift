// What is pure in the body: rendering, quoting, outputs, the argument of `sleep`, times.

import Citations
import OpClusterModel
import OpClusterWire
import Testing

@testable import OpClusterAttempts

@Suite struct TextTests {
  // No value is a part of the text that a shell parses; equal ones are one variable.
  @Test(.checks("G38")) func valuesReachShellsByTheirEnvironment() throws {
    let values = AttemptValues(index: 7, elements: ["it's $(x)", "it's $(x)", ""], inputs: [])
    func place(_ at: Int) -> CommandText.Segment { .value(.element(at), quoting: .shell) }
    let text = CommandText(segments: [
      .literal("f "), place(0), .literal(" "), place(2), place(1), .literal(" "),
      .value(.known("a;b"), quoting: .shell), .value(.element(0), quoting: .none),
      .value(.index, quoting: .shell),
    ])
    let rendering = try values.renderForShell(text)
    #expect(
      rendering.text
        == "f \"${OP_VALUE_1?}\" \"${OP_VALUE_2?}\"\"${OP_VALUE_1?}\" \"${OP_VALUE_3?}\""
        + "it's $(x)\"${OP_VALUE_4?}\"")
    #expect(rendering.values == ["it's $(x)", "", "a;b", "7"])
    #expect(rendering.variables.map(\.name).last == "OP_VALUE_4")
  }

  @Test func rendering() throws {
    let values = AttemptValues(index: 7, elements: ["x y"], inputs: [])
    let text = CommandText(segments: [
      .literal("n="), .value(.index, quoting: .none), .literal(" "),
      .value(.element(0), quoting: .none),
    ])
    #expect(try values.render(text) == "n=7 x y")
    #expect(throws: AttemptProblem.self) {
      try values.render(CommandText(segments: [.value(.element(1), quoting: .none)]))
    }
  }

  // Values of an array's elements come in the order of their indices, each a word.
  @Test func outputsOfAnArray() throws {
    func input(_ index: UInt32, _ value: String) -> DependencyInput {
      DependencyInput(
        operation: OperationID(graph: GraphID(1), index: 100 - index), name: "make", index: index,
        outcome: .succeeded, output: Wire.encode(outputs: [("path", value)]))
    }
    let values = AttemptValues(index: 1, elements: [], inputs: [input(2, "b c"), input(1, "a")])
    let place = CommandText.Segment.value(
      .output(operation: "make", key: "path"), quoting: .shell)
    let rendering = try values.renderForShell(CommandText(segments: [place]))
    #expect(rendering.text == "\"a\" \"${OP_VALUE_1?}\"" && rendering.values == ["b c"])
    #expect(try values.render(CommandText(segments: [place])) == "a b c")
    var failed = values
    failed.inputs[0].output = nil
    failed.inputs[0].outcome = .failed
    let problem = #expect(throws: AttemptProblem.self) {
      try failed.renderForShell(CommandText(segments: [place]))
    }
    #expect(problem?.cause == .missingInput)
  }

  @Test func outputLines() throws {
    let pairs = try OutputValues.parse(Array("a=1\n\nb==2\na=3\n".utf8))
    #expect(pairs.map(\.key) == ["a", "b"] && pairs.map(\.value) == ["3", "=2"])
    for bad in ["novalue\n", "=x\n"] {
      #expect(throws: AttemptProblem.self) { try OutputValues.parse(Array(bad.utf8)) }
    }
    #expect(throws: AttemptProblem.self) { try OutputValues.parse([0x61, 0x3D, 0xFF]) }
    let limit = [UInt8]("k=".utf8) + [UInt8](repeating: 0x78, count: Limits.outputBytes - 2)
    #expect(try OutputValues.parse(limit).count == 1)
    #expect(throws: AttemptProblem.self) { try OutputValues.parse(limit + [0x78]) }
  }

  @Test func matrixVariables() {
    #expect(CommandRunner.variableName("tile-size") == "OP_MATRIX_TILE_SIZE")
    #expect(CommandRunner.text(ResourceAmount(tenThousandths: 5_000)) == "0.5")
    #expect(CommandRunner.text(ResourceAmount(3)) == "3")
  }
}
