// Outputs of either kind of operation, opened for people.

import OpClusterModel
import OpClusterReading
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

  /// `run --call` prints the value and nothing around it.
  @Test func whatIsReturnedIsADocument() {
    func document(_ output: [UInt8]) -> String {
      var result = AttemptResult()
      result.output = output
      return String(decoding: result.returnedDocument, as: UTF8.self)
    }
    let typed = OperationOutput(
      pairs: [OperationOutput.Pair(key: "a", value: "1")], typeName: "Value",
      value: Array(#"{"a":1}"#.utf8))
    #expect(document(Wire.encode(output: typed)) == #"{"a":1}"#)
    #expect(document(Wire.encode(outputs: [("a", "1"), ("b", "x")])) == #"{"a":"1","b":"x"}"#)
    #expect(document([]) == "null")
    #expect(document(Wire.encode(output: OperationOutput(typeName: "Nothing"))) == "null")
    #expect(document(Array("7".utf8)) == "7")
  }

  @Test func otherBytesStay() {
    #expect(shown(Array("{}".utf8)) == "{}")
    #expect(shown([0xFF, 0x01]) == String(decoding: [0xFF, 0x01] as [UInt8], as: UTF8.self))
  }
}
