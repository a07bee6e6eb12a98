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

  @Test(arguments: nasty)
  func aParameterIsOneWordOfTheShell(value: String) throws {
    let compiled = compile(
      "version: 1\nparams: {p: x}\noperations: {a: {run: 'echo ${{ params.p }}'}}", ["p": value])
    // Either so plain that nothing can go wrong, or no part of the text.
    let text = try compiled.shellText("a")
    let isPlain = ShellText.isPlainWord(value, before: nil)
    let known = CommandText.Segment.value(.known(value), quoting: .shell)
    #expect(
      text
        == (isPlain
          ? CommandText("echo \(value)") : CommandText(segments: [.literal("echo "), known])))
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
        v: {needs: a, run: g, stderr: "${{ needs.a.outputs.k }}"}
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
        == [.literal("/base/./out/"), .value(output, quoting: .none)])
    // G38: nothing that a value brings makes a path absolute.
    #expect(
      try compiled.command("v").standardError?.segments
        == [.literal("/base/./"), .value(output, quoting: .none)])
    #expect(try compiled.template("n").wantsInputs)
    #expect(try compiled.template("a").wantsInputs == false)
  }

  // How each is rendered: `#` stands for the reference. Between double quotes, they end before it
  // and begin again behind it; quotes around it alone are left out.
  @Test(arguments: [
    ("echo \"${{ item }}\"", "echo #"), ("echo ${{ item }}", "echo #"),
    ("echo \"a ${{ item }} b\"", "echo \"a \"#\" b\""),
    ("echo \"$(cat ${{ item }})\"", "echo \"$(cat #)\""),
    ("# don't ${{ item }}\necho ${{ item }}", "# don't #\necho #"),
    ("echo it\\'s ${{ item }}", "echo it\\'s #"),
    ("echo \"a\"${{ item }}'b'", "echo \"a\"#'b'"),
    ("echo \"$(echo \"${{ item }}\")\"", "echo \"$(echo #)\""),
    ("echo ${x#y} ${{ item }}", "echo ${x#y} #"), ("echo \"${{ raw(item) }}\"", "echo \"raw\""),
    ("(echo 'a b'; echo ${{ item }})", "(echo 'a b'; echo #)"),
    ("echo \"\\\"${{ item }}\"", "echo \"\\\"\"#\"\""),
    ("sh -c 'cat \"$1\"' sh ${{ item }}", "sh -c 'cat \"$1\"' sh #"),
    ("[[ ${{ item }} == a* ]]", "[[ # == a* ]]"), ("export X=${{ item }}", "export X=#"),
    ("python3 tool.py -c \"${{ item }}\"", "python3 tool.py -c #"),
    ("ssh ${{ item }} uptime", "ssh # uptime"), ("grep x <<<${{ item }}", "grep x <<<#"),
  ])
  func placesOfValues(run: String, rendered: String) throws {
    let indented = run.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
    let compiled = compile(
      "version: 1\noperations:\n  a:\n    array: {items: [x y]}\n    run: |-\n\(indented)\n")
    #expect(compiled.errors.isEmpty, "\(run)")
    let shown = try compiled.shellText("a").segments.map { segment in
      switch segment {
      case .literal(let text): text
      case .value(_, quoting: .shell): "#"
      case .value(_, quoting: .none): "raw"
      }
    }
    #expect(shown.joined() == rendered)
  }

  // What is so plain that it means the same everywhere can stand where others cannot.
  @Test func plainValuesStandEverywhere() throws {
    let compiled = compile(
      """
      version: 1
      params: {n: 4}
      operations:
        a: {array: {items: [1, 22]}, run: "echo $((${{ item }} + ${{ params.n }})) '${{ item }}'"}
        b: {run: "echo ${{ params.n }}>f"}
        c: {array: 1-3, run: "echo ${{ index }}>f; echo $((${{ index }}))"}
      """)
    #expect(compiled.errors == [])
    let item = CommandText.Segment.value(.element(0), quoting: .none)
    #expect(
      try compiled.shellText("a").segments == [
        .literal("echo $(("), item, .literal(" + 4)) '"), item, .literal("'"),
      ])
    // A digit before `>` would be a descriptor.
    #expect(
      try compiled.shellText("b").segments == [
        .literal("echo "), .value(.known("4"), quoting: .shell), .literal(">f"),
      ])
    #expect(
      try compiled.shellText("c").segments == [
        .literal("echo "), .value(.index, quoting: .shell), .literal(">f; echo $(("),
        .value(.index, quoting: .none), .literal("))"),
      ])
  }

  // Values of all elements are several words: not where one must stand, nor where a command does.
  @Test(arguments: ["x=%", "% x", "echo \"%\"", "case % in a) ;; esac", "echo > %", "export X=%"])
  func listsStandAmongArguments(text: String) {
    func errors(_ run: String) -> [String] {
      compile(
        """
        version: 1
        operations:
          a: {array: 1-2, run: x, outputs: [k]}
          b:
            needs: a
            run: |
              \(run.replacing("%", with: "${{ needs.a.outputs.k }}"))
        """
      ).errors
    }
    #expect(errors(text).count == 1, "\(errors(text))")
    #expect(errors("for x in %; do echo; done; cat -- % x; a=(%)") == [])
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
