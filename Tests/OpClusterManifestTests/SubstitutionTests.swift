// `${{ … }}`: what may stand there, and that no value can break out of the shell text it is in.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct SubstitutionTests {
  static let nasty = [
    "plain", "", " ", "two words", "it's", "\"", "'", "''", "a\nb", "$(touch /tmp/x)", "`id`",
    "$HOME", "\\", "a;b", "&", "|", "*", "~", "#no", "ünïcödé", "日本", "-rf", "=", "!", "{a,b}",
    "'; rm -rf / #", "tab\there", "e\u{301}'x", "\u{1F600}",
  ]

  /// What a POSIX shell makes of one word made of quoted and bare parts; nil when it is not one.
  static func unquoted(_ text: String) -> String? {
    var result = ""
    var rest = Substring(text).unicodeScalars
    while let scalar = rest.popFirst() {
      switch scalar {
      case "'":
        guard let end = rest.firstIndex(of: "'") else { return nil }
        result.unicodeScalars.append(contentsOf: rest[..<end])
        rest = rest[rest.index(after: end)...]
      case "\\":
        guard let next = rest.popFirst() else { return nil }
        result.unicodeScalars.append(next)
      default:
        let isPlain =
          scalar.isASCII
          && (Names.isNameByte(UInt8(scalar.value)) || "/:=@%+,".unicodeScalars.contains(scalar))
        guard isPlain else { return nil }
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  @Test(arguments: nasty)
  func aParameterIsOneWordOfTheShell(value: String) throws {
    let compiled = compile(
      "version: 1\nparams: {p: x}\noperations: {a: {run: 'echo ${{ params.p }}'}}", ["p": value])
    let text = try compiled.shellText("a")
    guard case .literal(let literal)? = text.segments.first, text.segments.count == 1 else {
      Issue.record("not one literal")
      return
    }
    let word = try #require(literal.after("echo "))
    #expect(Array(Self.unquoted(word)?.utf8 ?? "?".utf8) == Array(value.utf8))
    // Arguments, environment and raw take it as it is.
    let bare = compile(
      """
      version: 1
      params: {p: x}
      operations:
        a: {run: [echo, "${{ params.p }}"], env: {P: "<${{params.p}}>"}}
        b: {run: "echo ${{ raw(params.p) }}"}
      """, ["p": value])
    #expect(
      try bare.command("a").form == .arguments([CommandText("echo"), CommandText(value)]))
    #expect(try bare.command("a").environment.first?.value == CommandText("<\(value)>"))
    #expect(try bare.shellText("b") == CommandText("echo \(value)"))
  }

  @Test func lateValuesBecomeSegments() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        a:
          {array: {items: [x, y]}, outputs: [k],
           run: "f ${{item}} ${{ raw( item ) }} \\"${{ index }}\\""}
        m: {matrix: {w: [1, 2], f: [jpg]}, run: [f, "${{ matrix.f }}-${{ matrix.w }}"]}
        r: {array: 5-9:2, run: "f ${{ item }}"}
        n: {needs: a, run: "g ${{ needs.a.outputs.k }}", stdout: "out/${{ needs.a.outputs.k }}"}
      """)
    let a = try compiled.shellText("a")
    #expect(
      a.segments == [
        .literal("f "), .value(.element(0), quoting: .shell), .literal(" "),
        .value(.element(0), quoting: .none), .literal(" \""), .value(.index, quoting: .none),
        .literal("\""),
      ])
    #expect(try compiled.command("a").elementKeys == ["item"])
    let m = try compiled.command("m")
    #expect(m.elementKeys == ["w", "f"])
    let word = CommandText(segments: [
      .value(.element(1), quoting: .none), .literal("-"), .value(.element(0), quoting: .none),
    ])
    #expect(m.form == .arguments([CommandText("f"), word]))
    #expect(try compiled.shellText("r").segments.last == .value(.index, quoting: .none))
    #expect(try compiled.command("r").elementKeys == [])
    let output = CommandText.Value.output(operation: "a", key: "k")
    #expect(try compiled.shellText("n").segments.last == .value(output, quoting: .shell))
    #expect(
      try compiled.command("n").standardOutput?.segments
        == [.literal("/base/out/"), .value(output, quoting: .none)])
    #expect(try compiled.template("n").wantsInputs)
    #expect(try compiled.template("a").wantsInputs == false)
  }

  @Test(arguments: [
    ("echo \"${{ item }}\"", false), ("echo '${{ item }}'", false), ("echo ${{ item }}", true),
    ("echo \"$(cat ${{ item }})\"", true), ("# don't\necho ${{ item }}", true),
    ("echo it\\'s ${{ item }}", true), ("echo \"a\"${{ item }}'b'", true),
    ("echo \"$(echo \"${{ item }}\")\"", false), ("echo \"`cat ${{ item }}`\"", true),
    ("echo ${x#y} ${{ item }}", true), ("echo \"${{ raw(item) }}\"", true),
    ("(echo 'a b'; echo ${{ item }})", true), ("echo \"\\\"${{ item }}\"", false),
  ])
  func quotesAroundAValueAreAnError(run: String, isFine: Bool) {
    let indented = run.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
    let compiled = compile(
      "version: 1\noperations:\n  a:\n    array: {items: [x]}\n    run: |\n\(indented)\n")
    #expect(compiled.errors.isEmpty == isFine, "\(run): \(compiled.errors)")
  }

  @Test func parametersWorkWhereverAValueIsTaken() throws {
    let compiled = compile(
      """
      version: 1
      params: {n: 4, t: 90s, size: 1GiB, last: 7, on: true}
      operations:
        a:
          run: x
          resources: {cpus: "${{ params.n }}", memory: "${{ params.size }}"}
          timeout: ${{ params.t }}
          array: 1-${{ params.last }}
          allow_failure: ${{ params.on }}
      """)
    let template = try compiled.template("a")
    #expect(template.count == 7)
    #expect(template.demand.cpus == ResourceAmount(4))
    #expect(template.demand.memoryBytes == 1 << 30)
    #expect(template.allowedFailures == .all)
    #expect(try compiled.command("a").timeout == .seconds(90))
  }

  @Test func aCallGetsJSON() throws {
    let compiled = compile(
      """
      version: 1
      params: {k: 0.25}
      operations:
        a:
          call:
            type: t
            input:
              {s: "1", n: 1.5, b: true, z: ~, l: [x, "a\\"\\n\\u0001"], k: "${{ params.k }}"}
        b:
          array: {items: [p q, "r\\"s"]}
          call: {type: t.u, input: {path: "${{ item }}", i: "${{ index }}"}}
        c: {call: {type: noop}}
      """)
    let a = try compiled.template("a")
    #expect(a.work == .call(OperationType(name: "t")))
    #expect(
      String(decoding: a.payload, as: UTF8.self)
        == #"{"s":"1","n":1.5,"b":true,"z":null,"l":["x","a\"\n\u0001"],"k":"0.25"}"#)
    let b = try compiled.template("b")
    #expect(b.payload.isEmpty)
    #expect(String(decoding: b.elementArguments[1], as: UTF8.self) == #"{"path":"r\"s","i":"2"}"#)
    #expect(try compiled.template("c").payload.isEmpty)
  }
}
