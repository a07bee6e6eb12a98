// Values in shell text are data, whatever they hold and wherever they stand: texts by chance are
// compiled as a manifest's, filled in as a worker does it, and run by two shells beside a canary.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterAttempts
@testable import OpClusterManifest
@testable import OpClusterProcesses

extension ProcessTests {
  @Suite struct ShellValueTests {
    /// `OPCLUSTER_NESTINGS=10000` runs more of them.
    static let count =
      ProcessInfo.processInfo.environment["OPCLUSTER_NESTINGS"].flatMap { Int($0) } ?? 400
    static let shells = ["dash", "bash"].filter {
      FileManager.default.isExecutableFile(atPath: "/bin/\($0)")
    }

    @Test("G38: a value is one word, and exactly itself, in every place that check accepts")
    func wellFormed() throws {
      for first in stride(from: 0, to: Self.count, by: 400) {
        var batch = try Batch()
        for seed in first..<min(first + 400, Self.count) {
          var maker = NestingMaker(seed: UInt64(seed))
          let (nesting, value) = (maker.wellFormed(), maker.pick(ShellNesting.values))
          let compiled = try Compiled(nesting.text, value)
          #expect(compiled.errors.isEmpty, "seed \(seed): \(compiled.errors)\n\(nesting.text)")
          batch.add(seed, nesting, value, compiled)
        }
        try batch.run()
        for case (let seed, let run) in batch.runs {
          for shell in Self.shells {
            #expect(!batch.hasCanary(seed, shell), "seed \(seed) in \(shell): \(run.text)")
            let said = batch.said(seed, shell)
            for (number, around) in run.nesting.expected {
              let expected = around.map { "1:\($0.before)\(run.value)\($0.behind)" }
              let isExact = said[number] == expected.map { [$0] }
              #expect(
                isExact,
                "seed \(seed) in \(shell): \(number) was \(said[number] ?? [])\n\(run.text)")
            }
          }
        }
      }
    }

    @Test("G38: whatever check accepts, no value is run as code")
    func anything() throws {
      var accepted = 0
      for first in stride(from: 0, to: Self.count, by: 400) {
        var batch = try Batch()
        for seed in first..<min(first + 400, Self.count) {
          var maker = NestingMaker(seed: UInt64(1_000_000 + seed))
          let (nesting, value) = (maker.anything(), maker.pick(ShellNesting.hostile))
          guard nesting.text.contains(ShellNesting.place) else { continue }
          let compiled = try Compiled(nesting.text, value)
          if compiled.errors.isEmpty { batch.add(seed, nesting, value, compiled) }
        }
        accepted += batch.runs.count
        try batch.run()
        for (seed, run) in batch.runs {
          for shell in Self.shells {
            #expect(!batch.hasCanary(seed, shell), "seed \(seed) in \(shell): \(run.text)")
          }
        }
      }
      #expect(accepted > Self.count / 10)
    }

    // What the trial found, and its kind.
    @Test(
      "G38: where a value would be evaluated, it is refused",
      arguments: [
        #"echo "${x:-"value ${{ item }}"}""#, "echo $((${{ item }}))", "eval echo ${{ item }}",
        "eval \"$(echo ${{ item }})\"", "sh -c \"echo ${{ item }}\"", "bash -c ${{ item }}",
        "[[ ${{ item }} -gt 3 ]]", "[[ 3 -gt $(echo ${{ item }}) ]]", "[[ -v ${{ item }} ]]",
        "a[${{ item }}]=1", "a=([${{ item }}]=1)", "read ${{ item }}", "let ${{ item }}",
        "printf -v ${{ item }} x", "declare -i x=${{ item }}", "declare ${{ item }}=1",
        "test -v ${{ item }}", "cat <<EOF\n${{ item }}\nEOF", "cat <<'EOF'\n${{ item }}\nEOF",
        "bash <<EOF\n${{ item }}\nEOF", "bash <<<${{ item }}", "trap ${{ item }} EXIT",
        "echo `echo ${{ item }}`", "echo 'x ${{ item }}'", "echo $'x ${{ item }}'",
        "awk \"{ print ${{ item }} }\"", "echo \\${{ item }}", "echo $${{ item }}",
        "ssh host rm ${{ item }}", "su me -c ${{ item }}", "echo $[${{ item }}]",
        "((${{ item }}))", "sed -e ${{ item }} f", "python3 -c \"print(${{ item }})\"",
      ])
    func refused(text: String) throws {
      let compiled = try Compiled(text, "a[$(touch${IFS}$CANARY)]")
      #expect(compiled.errors.count == 1, "\(text): \(compiled.errors)")
      let harmless = try Compiled(text, "7")
      #expect(harmless.errors.isEmpty || text.contains("$${{") || text.contains("\\${{"))
    }
  }
}

/// A shell text as the operation of a manifest, with an array of one item.
private struct Compiled {
  var text = CommandText("")
  var errors: [String]

  init(_ run: String, _ item: String) throws {
    let source = """
      version: 1
      operations:
        a: {array: {items: [\(Self.quoted(item))]}, run: \(Self.quoted(run))}
      """
    let box = Box()
    let result = ManifestCompiler(
      source: source, fileName: "m.yaml", surroundings: Surroundings(baseFolder: "/base")
    ).compile(
      encoders: PayloadEncoders(
        command: { command in
          box.command = command
          return []
        }, callInput: { _ in [] }, blocks: { _ in [] }, blockElement: { $0 }))
    errors = result.diagnostics.filter { $0.severity == .error }.map { $0.message }
    if case .shell(_, let text)? = box.command?.form { self.text = text }
  }

  /// As YAML reads it back.
  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private final class Box {
    var command: CommandSpecification?
  }
}

/// Many texts, each run by both shells, in one process of this test.
private struct Batch {
  struct Run {
    var nesting: ShellNesting
    var value: String
    var text: String
  }
  private let bench: Bench
  private(set) var runs: [(seed: Int, run: Run)] = []
  private var driver = ""

  init() throws { bench = try Bench() }

  mutating func add(_ seed: Int, _ nesting: ShellNesting, _ value: String, _ compiled: Compiled) {
    let values = AttemptValues(index: 1, elements: [value], inputs: [])
    guard let rendering = try? values.renderForShell(compiled.text) else {
      Issue.record("seed \(seed) cannot be rendered")
      return
    }
    runs.append((seed, Run(nesting: nesting, value: value, text: rendering.text)))
    let variables = rendering.variables.map { "\($0.name)=\(ShellText.quoted($0.value))" }
      .joined(separator: " ")
    for shell in ProcessTests.ShellValueTests.shells {
      driver += """
        timeout 20 env -i PATH=/usr/bin:/bin HOME=/h CANARY=$PWD/canary.\(seed).\(shell) \
        SAY=$PWD/said.\(seed).\(shell) \(variables) /bin/\(shell) text.\(seed) </dev/null \
        >/dev/null 2>&1

        """
    }
  }

  private static let prelude = """
    say() { n=$1; shift; { printf %s "$n:$#"; for a; do printf ':%s' "$a"; done; printf '\\037'; } \
    >>"$SAY"; }

    """

  func run() throws {
    for (seed, run) in runs {
      try makeFile("\(bench.folder)/text.\(seed)", Array((Self.prelude + run.text).utf8))
    }
    try makeFile("\(bench.folder)/driver", Array(driver.utf8))
    _ = try bench.run(bench.shell(". ./driver"))
  }

  func hasCanary(_ seed: Int, _ shell: String) -> Bool {
    namesOfFolder(bench.folder).contains("canary.\(seed).\(shell)")
  }

  /// What was said under each number: how many words, and those.
  func said(_ seed: Int, _ shell: String) -> [Int: Set<String>] {
    let bytes = FileManager.default.contents(atPath: "\(bench.folder)/said.\(seed).\(shell)")
    var said: [Int: Set<String>] = [:]
    for record in (bytes ?? Data()).split(separator: 0x1F) {
      let text = String(decoding: record, as: UTF8.self)
      guard let colon = text.firstIndex(of: ":"), let number = Int(text[..<colon]) else { continue }
      said[number, default: []].insert(String(text[text.index(after: colon)...]))
    }
    return said
  }
}
