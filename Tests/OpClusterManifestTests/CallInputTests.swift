// The input of calls with values that are known later, and moments before which nothing starts.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct CallInputTests {
  private static let output = CommandText.Value.output(operation: "a", key: "n")

  private func input(_ input: String, array: String = "", needs: String = "a") -> Compiled {
    compile(
      """
      version: 1
      params: {p: 'a "b"'}
      operations:
        a: {run: x, outputs: [n]}
        m: {run: x, array: 1-2}
        b:
          needs: \(needs)
          \(array)
          call:
            type: t
            input: \(input)
      """)
  }

  private func whole(_ value: CommandText.Value) -> CommandText {
    CommandText(segments: [.value(value, quoting: .none)])
  }

  /// A whole text keeps the kind of the output, quoted or not; `raw` and a piece are strings.
  @Test func outputsBecomePlaces() throws {
    let compiled = input(
      """

              whole: "${{ needs.a.outputs.n }}"
              plain: ${{ needs.a.outputs.n }}
              raw: ${{ raw(needs.a.outputs.n) }}
              piece: "n=${{ needs.a.outputs.n }} ${{ params.p }}"
              list: [1, '2', true]
      """)
    #expect(compiled.result.diagnostics.isEmpty, "\(compiled.errors)")
    let template = try compiled.template("b")
    #expect(template.fillsInput && template.wantsInputs)
    #expect(template.elementArguments.isEmpty)
    let built = try #require(compiled.inputs.first)
    #expect(built.elementKeys == [])
    #expect(
      built.segments == [
        .json("{\"whole\":"), .value(whole(Self.output), .json),
        .json(",\"plain\":"), .value(whole(Self.output), .json),
        .json(",\"raw\":"), .value(whole(Self.output), .string),
        .json(",\"piece\":"),
        .value(
          CommandText(segments: [
            .literal("n="), .value(Self.output, quoting: .none), .literal(" a \"b\""),
          ]), .string),
        .json(",\"list\":[1,\"2\",true]}"),
      ])
  }

  /// The elements of an array give a list, of which an element of the same index is none.
  @Test func arraysGiveLists() throws {
    let all = input("[\"${{ needs.m.outputs.k }}\"]", needs: "m")
    #expect(
      all.inputs.first?.segments[1]
        == .value(
          whole(.output(operation: "m", key: "k")), .list))
    let one = input(
      "[\"${{ needs.m.outputs.k }}\", \"${{ index }}\"]", array: "array: 1-2",
      needs: "[{op: m, match: same-index}]")
    #expect(
      one.inputs.first?.segments[1]
        == .value(
          whole(.output(operation: "m", key: "k")), .json))
    #expect(one.inputs.first?.segments[2] == .json(","))
    #expect(one.inputs.first?.segments[3] == .value(whole(.index), .string))
  }

  /// With outputs the elements bring their values; without, each its own JSON, as ever.
  @Test func elementsBringTheirValues() throws {
    let late = input(
      "{n: \"${{ needs.a.outputs.n }}\", path: \"${{ matrix.f }}\"}",
      array: "matrix: {f: [x, y], g: [1]}")
    let template = try late.template("b")
    #expect(template.elementArguments.count == 2)
    #expect(
      ElementValues.decode(template.elementArguments[1], keyCount: 2) == ["y", "1"])
    #expect(late.inputs.first?.elementKeys == ["f", "g"])
    let early = try input(
      """

              path: ${{ matrix.f }}
              n: ${{ matrix.g }}
              s: '${{ matrix.g }}'
      """, array: "matrix: {f: [x, y], g: [1]}"
    ).template("b")
    #expect(!early.fillsInput && early.payload.isEmpty)
    #expect(
      String(decoding: early.elementArguments[1], as: UTF8.self)
        == #"{"path":"y","n":1,"s":"1"}"#)
  }

  /// Blocks take values of the element and outputs as commands do.
  @Test func blocksHaveInputsOfTheirOwn() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        a: {run: x, outputs: [n]}
        b:
          needs: a
          array: {items: [p, q]}
          blocks:
            - {call: {type: t, input: {item: "${{ item }}", n: "${{ needs.a.outputs.n }}"}}}
            - {call: {type: u, input: {same: 1}}}
      """)
    #expect(compiled.errors == [])
    let blocks = try compiled.blocks("b")
    guard case .filledCall(let type, let input) = blocks[0] else {
      Issue.record("\(blocks[0])")
      return
    }
    #expect(type == OperationType(name: "t"))
    #expect(input.elementKeys == ["item"])
    #expect(
      input.segments == [
        .json("{\"item\":"), .value(whole(.element(0)), .string), .json(",\"n\":"),
        .value(whole(Self.output), .json), .json("}"),
      ])
    #expect(blocks[1] == .call(OperationType(name: "u"), argument: Array(#"{"same":1}"#.utf8)))
    #expect(try compiled.template("b").work == .blocks([type, OperationType(name: "u")]))
  }

  @Test(arguments: [
    ("{n: \"${{ needs.a.outputs.m }}\"}", "'a' has no output 'm'"),
    ("{n: \"${{ needs.c.outputs.n }}\"}", "'c' is not among the needs of 'b'"),
    ("{n: \"${{ item }}\"}", "only an array has an 'item'"),
    ("{n: \"x ${{ matrix.k }}\"}", "the operation has no matrix.k"),
  ])
  func wrongNamesAreFound(text: String, problem: String) {
    #expect(input(text).errors == [problem])
  }

  // MARK: - not_before (S150)

  @Test(arguments: [
    ("5m", NotBefore.after(.seconds(300))),
    ("1970-01-01T00:00:10Z", .at(WallTime(milliseconds: 10_000))),
    ("'2026-11-21T18:00:00.25+01:00'", .at(WallTime(milliseconds: 1_795_280_400_250))),
    ("2000-02-29t23:59-05:30", .at(WallTime(milliseconds: 951_888_540_000))),
    ("\"${{ params.when }}\"", .at(WallTime(milliseconds: 1_795_280_400_000))),
  ])
  func momentsAreRead(text: String, moment: NotBefore) throws {
    let compiled = compile(
      """
      version: 1
      params: {when: "2026-11-21 17:00:00Z"}
      operations: {a: {run: x, not_before: \(text)}}
      """)
    #expect(compiled.errors == [])
    #expect(try compiled.template("a").notBefore == moment)
  }

  @Test(arguments: [
    "tomorrow", "5", "2026-02-29T00:00Z", "2026-13-01T00:00Z", "2026-01-01T24:00Z",
    "2026-01-01T00:00", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00+1:00",
    "2026-01-01T00:00Zx",
  ])
  func whatIsNoMomentIsRefused(text: String) {
    let compiled = compile("version: 1\noperations: {a: {run: x, not_before: '\(text)'}}")
    #expect(compiled.errors == ["'not_before' must be a delay or a time, not '\(text)'"])
  }

  /// A delay at the limit, and one past it; groups hand theirs on, a join point has none.
  @Test func delaysHaveALimit() throws {
    func compiled(_ days: Int) -> Compiled {
      compile(
        """
        version: 1
        operations: {g: {not_before: \(days)d, group: {operations: {a: {run: x}}}}}
        """)
    }
    let submission = try compiled(3660).submission
    #expect(submission.templates.map(\.notBefore) == [.after(Limits.longestDelay), nil])
    #expect(compiled(3661).errors == ["'not_before' is at most ten years away"])
  }
}
