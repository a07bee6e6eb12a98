// Advice on the wire: a code for those who know it, words for all others.

import Citations
import MessageGenerators
import OpClusterModel
import OpClusterWire
import Testing

@Suite struct AdviceTests {
  private static let request = RequestID(9)

  private func answer(_ refusal: Refusal) -> [UInt8] {
    Wire.encode(.reply(Self.request, .refused(refusal))) { "words of \(AdviceKind($0))" }
  }

  private func answer(_ line: Explanation.Line) -> [UInt8] {
    let id = OperationID(graph: GraphID(1), index: 0)
    let row = Explanation(
      operation: id, shown: "1/a", state: .held, lines: ["first", line, "last"])
    return Wire.encode(.reply(Self.request, .explanations([row], more: false))) {
      "words of \(AdviceKind($0))"
    }
  }

  /// The hint of the refusal, or the second line.
  private func read(_ bytes: [UInt8]) throws -> Explanation.Line? {
    switch try Wire.decodeClientAnswer(bytes) {
    case .reply(Self.request, .refused(let refusal)): .init(refusal.message, hint: refusal.hint)
    case .reply(Self.request, .explanations(let rows, more: false)): rows.first?.lines[1]
    default: nil
    }
  }

  @Test(arguments: AdviceKind.allCases) func everyKindComesBack(_ kind: AdviceKind) throws {
    let advice = kind.advice("q", 7)
    #expect(try read(answer(Refusal(.cycle, "no", hint: advice))) == .init("no", hint: advice))
    let message = CoordinatorMessage.refused(Refusal(.busy, "no", hint: advice))
    #expect(try Wire.decodeCoordinatorMessage(Wire.encode(message) { _ in "" }) == message)
    let line = try read(answer(.init("it waits", hint: advice)))
    #expect(line == (kind == .text ? "it waits; q" : .init("it waits", hint: advice)))
  }

  @Test(arguments: Explanation.Meaning.allCases, [Advice.text(""), .release("12/a")])
  func everyMeaningComesBack(_ meaning: Explanation.Meaning, _ hint: Advice) throws {
    let line = Explanation.Line("it waits", hint: hint, meaning: meaning)
    #expect(try read(answer(line)) == line)
  }

  /// What a later release says that is not known here is a reason like any other; a line that is
  /// not there is refused.
  @Test(.checks("G32"), arguments: [(3, 1, true), (3, 2, true), (250, 1, true), (1, 3, false)])
  func aMeaningOfALaterRelease(_ meaning: UInt64, _ line: UInt64, _ isRead: Bool) throws {
    let marked = Protobuf.block(6, Protobuf.number(1, line) + Protobuf.number(2, meaning))
    let row =
      Protobuf.block(1, Protobuf.number(1, 1)) + Protobuf.block(2, "1/a") + Protobuf.number(3, 1)
      + Protobuf.block(4, "a") + Protobuf.block(4, "it waits") + Protobuf.block(4, "c") + marked
    let reply =
      Protobuf.number(1, Self.request.number) + Protobuf.block(11, Protobuf.block(1, row))
    let bytes = Protobuf.block(2, reply)
    if isRead {
      #expect(try read(bytes) == "it waits")
    } else {
      #expect(throws: WireError.self) { try read(bytes) }
    }
  }

  /// A peer of an earlier release looks at the fields that it knows.
  @Test(.checks("G32"), arguments: AdviceKind.allCases)
  func earlierPeersReadWords(_ kind: AdviceKind) throws {
    let words = kind == .text ? "q" : "words of \(kind)"
    let advice = kind.advice("q", 7)
    let hint = Protobuf.block(3, words)
    #expect(answer(Refusal(.cycle, "no", hint: advice)).firstRange(of: hint) != nil)
    let line = Protobuf.block(4, "it waits; \(words)")
    #expect(answer(.init("it waits", hint: advice)).firstRange(of: line) != nil)
  }

  /// What a peer says whose code is not known here, or who has none.
  @Test(.checks("G32"), arguments: [nil, 0, 250, UInt64(Int32.max)])
  func withoutAKnownCodeTheWordsStay(_ code: UInt64?) throws {
    let advice = code.map { Protobuf.number(1, $0) + Protobuf.block(2, "q") }
    var refusal = Protobuf.number(1, 19) + Protobuf.block(2, "no") + Protobuf.block(3, "do this")
    if let advice { refusal += Protobuf.block(7, advice) }
    let reply = Protobuf.number(1, Self.request.number) + Protobuf.block(2, refusal)
    #expect(try read(Protobuf.block(2, reply)) == .init("no", hint: "do this"))

    #expect(try read(explanation(line: 1, advice ?? [])) == "it waits; do this")
  }

  /// Two lines, of which one has this advice.
  private func explanation(line: UInt64, _ advice: [UInt8]) -> [UInt8] {
    let advised =
      Protobuf.number(1, line) + Protobuf.block(2, "it waits") + Protobuf.block(3, advice)
    let row =
      Protobuf.block(1, Protobuf.number(1, 1)) + Protobuf.block(2, "1/a") + Protobuf.number(3, 1)
      + Protobuf.block(4, "first") + Protobuf.block(4, "it waits; do this")
      + Protobuf.block(5, advised)
    let reply =
      Protobuf.number(1, Self.request.number) + Protobuf.block(11, Protobuf.block(1, row))
    return Protobuf.block(2, reply)
  }

  @Test(.checks("G33")) func everyTextIsBounded() throws {
    func problem(_ bytes: [UInt8]) -> WireError.Problem? {
      do {
        _ = try Wire.decodeClientAnswer(bytes)
        return nil
      } catch { return error.problem }
    }
    func named(_ size: Int) -> [UInt8] {
      Protobuf.number(1, 6) + Protobuf.block(2, String(repeating: "a", count: size))
    }
    let most = 2 * Limits.nameBytes
    #expect(problem(explanation(line: 1, named(most))) == nil)
    #expect(problem(explanation(line: 1, named(most + 1))) == .beyond(limit: most))
    #expect(problem(explanation(line: 2, named(1))) == .outOfRange)
    #expect(problem(explanation(line: .max, named(1))) == .outOfRange)
  }

  /// A name that is too long for the code is not clipped: that would be another thing's.
  @Test func aLongNameTravelsInWords() throws {
    let advice = Advice.createQueue(String(repeating: "a", count: 2 * Limits.nameBytes + 1))
    let words = Advice.text("words of createQueue")
    #expect(try read(answer(Refusal(.cycle, "no", hint: advice))) == .init("no", hint: words))
    #expect(
      try read(answer(.init("it waits", hint: advice))) == "it waits; words of createQueue")
  }
}
