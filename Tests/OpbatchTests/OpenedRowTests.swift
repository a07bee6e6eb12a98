// Outputs of either kind of operation, opened for people.

import OpClusterModel
import OpClusterWire
import Testing

@testable import opbatch

@Suite struct OpenedRowTests {
  private func shown(_ output: [UInt8]) -> String {
    var row = OperationRow(
      id: OperationID(graph: GraphID(1), index: 0), name: "a", index: nil, state: .succeeded)
    row.result = AttemptResult()
    row.result?.output = output
    return String(decoding: row.withReadableOutputs().result?.output ?? [], as: UTF8.self)
  }

  @Test func outputsOfCommandsAreLines() {
    #expect(shown(Wire.encode(outputs: [("a", "1"), ("b", "x=y")])) == "a=1\nb=x=y\n")
  }

  // The value, and not the pairs that commands read of it.
  @Test func typedOutputsAreJSON() {
    for json in ["7", #"{"a":1,"b":[2]}"#] {
      let output = OperationOutput(
        pairs: [OperationOutput.Pair(key: "a", value: "1")], typeName: "Value",
        value: Array(json.utf8))
      #expect(shown(Wire.encode(output: output)) == json)
    }
  }

  @Test func otherBytesStay() {
    #expect(shown(Array("{}".utf8)) == "{}")
    #expect(shown([0xFF, 0x01]) == String(decoding: [0xFF, 0x01] as [UInt8], as: UTF8.self))
  }
}
