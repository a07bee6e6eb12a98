// No bytes whatever trap a decoder or keep it for long (G33, F49): mutated, truncated and random
// ones. OPCLUSTER_FUZZ says how many per decoder, 8,000 where it is not set.

import Glibc
import MessageGenerators
import OpClusterModel
import OpClusterPresentation
import OpClusterWire
import Testing

/// A decoder under test and where its good bytes come from.
struct FuzzTarget: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable (inout MessageGenerator) -> [UInt8]
  /// Decodes, and encodes again what was understood.
  let decode: @Sendable ([UInt8]) throws -> Void

  static let all: [FuzzTarget] = [
    FuzzTarget(
      testDescription: "worker message", make: { Wire.encode($0.workerMessage()) },
      decode: { _ = Wire.encode(try Wire.decodeWorkerMessage($0)) }),
    FuzzTarget(
      testDescription: "coordinator message",
      make: { Wire.encode($0.coordinatorMessage(), wording: \.forShell) },
      decode: { _ = Wire.encode(try Wire.decodeCoordinatorMessage($0), wording: \.forShell) }),
    FuzzTarget(
      testDescription: "client message",
      make: { generator in
        Wire.encode(generator.clientMessage(generator.below(MessageGenerator.clientMessageKinds)))
      },
      decode: { _ = Wire.encode(try Wire.decodeClientMessage($0)) }),
    FuzzTarget(
      testDescription: "client answer",
      make: { generator in
        Wire.encode(
          generator.clientAnswer(generator.below(MessageGenerator.clientAnswerKinds)),
          wording: \.forShell)
      },
      decode: { _ = Wire.encode(try Wire.decodeClientAnswer($0), wording: \.forShell) }),
    FuzzTarget(
      testDescription: "content request", make: { Wire.encode($0.contentRequest()) },
      decode: { _ = Wire.encode(try Wire.decodeContentRequest($0)) }),
    FuzzTarget(
      testDescription: "content answer", make: { Wire.encode($0.contentAnswer()) },
      decode: { _ = Wire.encode(try Wire.decodeContentAnswer($0)) }),
    FuzzTarget(
      testDescription: "records",
      make: { generator in
        Wire.encode(records: generator.many { $0.record($0.below(MessageGenerator.recordKinds)) })
      },
      decode: { _ = Wire.encode(records: try Wire.decodeRecords($0)) }),
    FuzzTarget(
      testDescription: "events",
      make: { Wire.encode(eventRuns: $0.events().map { EventRun(first: $0, count: 1) }) },
      decode: { _ = Wire.encode(eventRuns: try Wire.decodeEventRuns($0)) }),
    FuzzTarget(
      testDescription: "event runs", make: { Wire.encode(eventRuns: $0.eventRuns()) },
      decode: { _ = Wire.encode(eventRuns: try Wire.decodeEventRuns($0)) }),
    FuzzTarget(
      testDescription: "history",
      make: { generator in Wire.encode(history: generator.many { $0.history() }) },
      decode: { _ = Wire.encode(history: try Wire.decodeHistory($0)) }),
    FuzzTarget(
      testDescription: "submission", make: { Wire.encode(submission: $0.submission()) },
      decode: { _ = Wire.encode(submission: try Wire.decodeSubmission($0)) }),
    FuzzTarget(
      testDescription: "command", make: { Wire.encode(command: $0.command()) },
      decode: { _ = Wire.encode(command: try Wire.decodeCommand($0)) }),
    FuzzTarget(
      testDescription: "call input", make: { Wire.encode(callInput: $0.callInput()) },
      decode: { _ = Wire.encode(callInput: try Wire.decodeCallInput($0)) }),
    FuzzTarget(
      testDescription: "blocks",
      make: { generator in Wire.encode(blocks: generator.many { $0.block() }) },
      decode: { _ = Wire.encode(blocks: try Wire.decodeBlocks($0)) }),
    FuzzTarget(
      testDescription: "block results",
      make: { generator in Wire.encode(blockResults: generator.many { $0.blockResult() }) },
      decode: { _ = Wire.encode(blockResults: try Wire.decodeBlockResults($0)) }),
    FuzzTarget(
      testDescription: "outputs",
      make: { generator in
        Wire.encode(outputs: generator.many { (key: $0.text(), value: $0.text()) })
      },
      decode: { _ = Wire.encode(outputs: try Wire.decodeOutputs($0)) }),
    FuzzTarget(
      testDescription: "typed output",
      make: { generator in
        Wire.encode(
          output: OperationOutput(
            pairs: generator.many { .init(key: $0.text(), value: $0.text()) },
            typeName: generator.text(), value: generator.bytes()))
      },
      decode: { _ = Wire.encode(output: try Wire.decodeOutput($0)) }),
    FuzzTarget(
      testDescription: "graph row", make: { Wire.encode(graphRow: $0.graphRow()) },
      decode: { _ = Wire.encode(graphRow: try Wire.decodeGraphRow($0)) }),
    FuzzTarget(
      testDescription: "operation row", make: { Wire.encode(operationRow: $0.operationRow()) },
      decode: { _ = Wire.encode(operationRow: try Wire.decodeOperationRow($0)) }),
  ]
}

@Suite struct FuzzTests {
  static let rounds: Int = {
    guard let text = unsafe getenv("OPCLUSTER_FUZZ") else { return 8_000 }
    return unsafe Int(String(cString: text)) ?? 8_000
  }()

  @Test(.timeLimit(.minutes(30)), arguments: FuzzTarget.all) func survives(_ target: FuzzTarget) {
    var generator = MessageGenerator(seed: 49)
    var good = target.make(&generator)
    var refused = 0
    for round in 0..<Self.rounds {
      if round % 8 == 0 { good = target.make(&generator) }
      do {
        try target.decode(round % 2 == 0 ? generator.mutated(good) : generator.mutatedFields(good))
      } catch {
        if !(error is WireError) { Issue.record("another error: \(error)") }
        refused += 1
      }
    }
    #expect(refused > 0 && refused < Self.rounds)
  }
}
