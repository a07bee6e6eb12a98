// Everything that is encoded is decoded as the same word: every case of every word, by chance
// from seeds.

import Citations
import MessageGenerators
import OpClusterModel
import OpClusterPresentation
import OpClusterWire
import Testing

@Suite struct RoundTripTests {
  @Test func workerMessages() throws {
    for seed in 0..<1_000 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let message = generator.workerMessage()
      #expect(try Wire.decodeWorkerMessage(Wire.encode(message)) == message, "seed \(seed)")
    }
  }

  @Test func coordinatorMessages() throws {
    for seed in 0..<1_000 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let message = generator.coordinatorMessage()
      let bytes = Wire.encode(message, wording: \.forShell)
      #expect(try Wire.decodeCoordinatorMessage(bytes) == message, "seed \(seed)")
    }
  }

  @Test func contentMessages() throws {
    for seed in 0..<1_000 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let (request, answer) = (generator.contentRequest(), generator.contentAnswer())
      #expect(try Wire.decodeContentRequest(Wire.encode(request)) == request, "seed \(seed)")
      #expect(try Wire.decodeContentAnswer(Wire.encode(answer)) == answer, "seed \(seed)")
    }
    // The longest piece passes, and a longer one does not.
    let most = Limits.contentPieceBytes
    for count in [0, 1, 127, 128, 16_383, 16_384, most, most + 1] {
      let answer = ContentAnswer.piece(
        number: 1, offset: 2, [UInt8](repeating: 3, count: count))
      #expect(
        (try? Wire.decodeContentAnswer(Wire.encode(answer))) == (count > most ? nil : answer))
    }
  }

  /// What the coordinator sees of an output is what is in it, and of broken bytes nothing.
  @Test func outputs() throws {
    for seed in 0..<1_000 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let output = generator.operationOutput()
      let bytes = Wire.encode(output: output)
      #expect(try Wire.decodeOutput(bytes) == output, "seed \(seed)")
      let named = output.contents + output.files.map(\.content)
      #expect(OperationOutput.contents(of: bytes) == named, "seed \(seed)")
      for _ in 0..<20 {
        let broken = generator.mutated(bytes)
        let seen = OperationOutput.contents(of: broken)
        if let read = try? Wire.decodeOutput(broken), !seen.isEmpty {
          #expect(seen == read.contents + read.files.map(\.content), "seed \(seed)")
        }
        try Self.expectNarrowed(broken, seed)
      }
      try Self.expectNarrowed(bytes, seed)
    }
    var output = OperationOutput()
    for count in [Limits.contentsPerOutput, Limits.contentsPerOutput + 1] {
      output.contents = Array(
        repeating: StoredContent(
          digest: try #require(ContentDigest(bytes: [UInt8](repeating: 1, count: 32))), size: 1),
        count: count)
      let isTaken = count <= Limits.contentsPerOutput
      #expect(OperationOutput.contents(of: Wire.encode(output: output)).isEmpty != isTaken)
    }
  }

  /// Without the files of other names, an output is otherwise the same.
  private static func expectNarrowed(_ bytes: [UInt8], _ seed: Int) throws {
    guard var output = try? Wire.decodeOutput(bytes) else { return }
    let names = seed % 2 == 0 ? [] : output.files.first.map { [$0.name] } ?? []
    let narrowed = OperationOutput.narrowed(bytes, toFiles: names.map { Array($0.utf8) })
    output.files.removeAll { !names.contains($0.name) }
    var read = try Wire.decodeOutput(narrowed)
    #expect(read.files.count <= max(1, output.files.count), "seed \(seed)")
    read.files.removeAll { !names.contains($0.name) }
    #expect(read == output, "seed \(seed)")
    #expect(narrowed.isEmpty == bytes.isEmpty, "no bytes mean no output")
  }

  @Test(arguments: 0..<MessageGenerator.clientMessageKinds) func clientMessages(kind: Int) throws {
    for seed in 0..<60 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let message = generator.clientMessage(kind)
      #expect(try Wire.decodeClientMessage(Wire.encode(message)) == message, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<MessageGenerator.clientAnswerKinds) func clientAnswers(kind: Int) throws {
    for seed in 0..<60 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let answer = generator.clientAnswer(kind)
      let bytes = Wire.encode(answer, wording: \.forShell)
      #expect(try Wire.decodeClientAnswer(bytes) == answer, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<MessageGenerator.recordKinds) func records(kind: Int) throws {
    for seed in 0..<60 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let record = generator.record(kind)
      #expect(try Wire.decodeRecords(Wire.encode(records: [record])) == [record], "seed \(seed)")
    }
  }

  /// Neighbouring ends share columns; their order among the other records stays.
  @Test func turns() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let records = generator.many(30) { generator in
        generator.record(
          generator.bool() ? 13 + generator.below(2) : generator.below(MessageGenerator.recordKinds)
        )
      }
      #expect(try Wire.decodeRecords(Wire.encode(records: records)) == records, "seed \(seed)")
    }
  }

  @Test func events() throws {
    for seed in 0..<1_000 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let runs = generator.events().map { EventRun(first: $0, count: 1) }
      #expect(try Wire.decodeEventRuns(Wire.encode(eventRuns: runs)) == runs, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<MessageGenerator.eventKinds) func eventKinds(kind: Int) throws {
    for seed in 0..<20 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let event = Event(
        sequence: 1, commit: CommitIndex(1), time: .unknown, subject: generator.subject(),
        kind: generator.eventKind(kind))
      let runs = [EventRun(first: event, count: 1)]
      #expect(try Wire.decodeEventRuns(Wire.encode(eventRuns: runs)) == runs, "seed \(seed)")
    }
  }

  @Test func eventRuns() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let runs = generator.eventRuns()
      let bytes = Wire.encode(eventRuns: runs)
      #expect(try Wire.decodeEventRuns(bytes) == runs, "seed \(seed)")
    }
  }

  @Test func histories() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let lines = generator.many(20) { $0.history() }
      #expect(try Wire.decodeHistory(Wire.encode(history: lines)) == lines, "seed \(seed)")
    }
  }

  @Test func submissionsAndCommands() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let submission = generator.submission()
      let bytes = Wire.encode(submission: submission)
      #expect(try Wire.decodeSubmission(bytes) == submission, "seed \(seed)")
      let command = generator.command()
      #expect(try Wire.decodeCommand(Wire.encode(command: command)) == command, "seed \(seed)")
      let input = generator.callInput()
      #expect(try Wire.decodeCallInput(Wire.encode(callInput: input)) == input, "seed \(seed)")
    }
  }

  /// A submission that is encoded already is taken as it is, here another one. In the turn it
  /// stands as the message that it was in older journals: field 2, its length, its bytes.
  @Test func submissionsAreEncodedOnce() throws {
    for seed in 0..<100 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let (graph, submission) = (generator.graph(), generator.submission())
      let record = Record.submitted(
        graph, submission, fingerprint: generator.number(), at: generator.wallTime())
      var other = record
      if case .submitted(_, _, let fingerprint, let at) = record {
        other = .submitted(graph, generator.submission(), fingerprint: fingerprint, at: at)
      }
      let encoded = Wire.encode(submission: submission)
      let turn = Wire.encode(records: [other], submissions: [graph: encoded])
      #expect(turn == Wire.encode(records: [record]), "seed \(seed)")
      #expect(try Wire.decodeRecords(turn) == [record], "seed \(seed)")
      var field: [UInt8] = [2 << 3 | 2]
      var length = encoded.count
      while length >= 0x80 {
        field.append(UInt8(length & 0x7F) | 0x80)
        length >>= 7
      }
      field += [UInt8(length)] + encoded
      #expect(turn.firstRange(of: field) != nil, "seed \(seed)")
    }
  }

  @Test func blocksAndTheirResults() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let blocks = generator.many { $0.block() }
      #expect(try Wire.decodeBlocks(Wire.encode(blocks: blocks)) == blocks, "seed \(seed)")
      let results = generator.many { $0.blockResult() }
      let bytes = Wire.encode(blockResults: results)
      #expect(try Wire.decodeBlockResults(bytes) == results, "seed \(seed)")
    }
  }

  /// What an element gives to its blocks stands in a list of its own, before further blocks.
  @Test func elementsOfBlocks() throws {
    for seed in 0..<100 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let values = generator.bytes()
      let blocks = generator.many { $0.block() }
      let bytes = Wire.encode(blockElement: values) + Wire.encode(blocks: blocks)
      #expect(try Wire.decodeBlockElement(bytes) == values, "seed \(seed)")
      #expect(try Wire.decodeBlocks(bytes) == blocks, "seed \(seed)")
      #expect(try Wire.decodeBlockElement(Wire.encode(blocks: blocks)) == [])
    }
    let most = [UInt8](repeating: 1, count: Limits.elementArgumentBytes)
    #expect(try Wire.decodeBlockElement(Wire.encode(blockElement: most)) == most)
    #expect(throws: WireError.self) {
      try Wire.decodeBlockElement(Wire.encode(blockElement: most + [1]))
    }
  }

  /// A worker joins the template's blocks and those that were added later as bytes.
  @Test(.checks("S120")) func joinedBlocks() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let parts = generator.many { generator in generator.many { $0.block() } }
      let bytes = parts.flatMap { Wire.encode(blocks: $0) }
      #expect(try Wire.decodeBlocks(bytes) == parts.flatMap { $0 }, "seed \(seed)")
    }
  }

  @Test func rowsAndOutputs() throws {
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let graph = generator.graphRow()
      #expect(try Wire.decodeGraphRow(Wire.encode(graphRow: graph)) == graph)
      let row = generator.operationRow()
      #expect(try Wire.decodeOperationRow(Wire.encode(operationRow: row)) == row)
      let outputs = generator.many { (key: $0.text(), value: $0.text()) }
      let decoded = try Wire.decodeOutputs(Wire.encode(outputs: outputs))
      #expect(decoded.map(\.key) == outputs.map(\.key))
      #expect(decoded.map(\.value) == outputs.map(\.value))
      let typed = OperationOutput(
        pairs: outputs.map { OperationOutput.Pair(key: $0.key, value: $0.value) },
        typeName: generator.text(), value: generator.bytes())
      #expect(try Wire.decodeOutput(Wire.encode(output: typed)) == typed)
      // The pairs are the same to those who read nothing else (G32).
      let pairs = try Wire.decodeOutputs(Wire.encode(output: typed))
      #expect(pairs.map(\.key) == outputs.map(\.key))
    }
  }

  /// A fingerprint is the same for the same content and for no other.
  @Test(.checks("S128")) func fingerprints() throws {
    var seen: Set<UInt64> = []
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      var submission = generator.submission()
      let bytes = Wire.encode(submission: submission)
      let again = try Wire.encode(submission: Wire.decodeSubmission(bytes))
      #expect(Wire.fingerprint(bytes) == Wire.fingerprint(again))
      submission.name += "x"
      #expect(
        Wire.fingerprint(bytes) != Wire.fingerprint(Wire.encode(submission: submission)))
      seen.insert(Wire.fingerprint(bytes))
    }
    #expect(seen.count == 300)
    #expect(Wire.fingerprint(Array("foobar".utf8)) == 0x8594_4171_f739_67e8)
  }

  /// Free texts that are too long leave clipped, at a whole character, and come in.
  @Test func clipping() throws {
    var result = AttemptResult()
    result.cause = .failed
    result.diagnostic = String(repeating: "日", count: Limits.diagnosticBytes)
    let operation = OperationID(graph: GraphID(1), index: 0)
    let bytes = Wire.encode(records: [.finished(operation, result)])
    result.diagnostic = String(repeating: "日", count: Limits.diagnosticBytes / 3)
    #expect(try Wire.decodeRecords(bytes) == [.finished(operation, result)])
  }
}
