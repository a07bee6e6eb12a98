// With what a shell text is called, so that a script that fails is not taken for one that succeeds,
// and when a pipe is spoken of.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct ShellStrictnessTests {
  private func interpreter(_ settings: String) throws -> [String] {
    let compiled = compile("version: 1\noperations:\n  a:\n    run: x\n\(settings)")
    guard case .shell(let interpreter, _) = try compiled.command("a").form else { return [] }
    return interpreter
  }

  @Test(arguments: [
    ("", ["/bin/sh", "-e", "-c"]),
    ("    shell: sh", ["/bin/sh", "-e", "-c"]),
    ("    shell: bash", ["/bin/bash", "-eu", "-o", "pipefail", "-c"]),
    ("    shell: {name: bash}", ["/bin/bash", "-eu", "-o", "pipefail", "-c"]),
    ("    shell: {name: bash, strict: true}", ["/bin/bash", "-eu", "-o", "pipefail", "-c"]),
    ("    shell: {name: bash, strict: false}", ["/bin/bash", "-c"]),
    ("    shell: {name: sh, strict: false}", ["/bin/sh", "-c"]),
    ("    shell: [zsh, -c]", ["zsh", "-c"]),
  ])
  func words(settings: String, expected: [String]) throws {
    #expect(try interpreter(settings) == expected)
  }

  @Test(arguments: [
    "shell: {strict: false}", "shell: {name: none}", "shell: {name: fish}",
    "shell: {name: bash, strict: perhaps}", "shell: {name: bash, loose: true}",
  ])
  func refused(settings: String) {
    let compiled = compile("version: 1\noperations:\n  a:\n    run: x\n    \(settings)\n")
    #expect(compiled.result.diagnostics.contains { $0.severity == .error }, "\(settings)")
  }

  private func remarks(_ operations: String) -> [Diagnostic] {
    compile("version: 1\noperations:\n\(operations)").result.diagnostics
  }

  @Test(arguments: [
    ("a | b", true), ("a |& b", true), ("x=$(a | b)", true), ("if a | b; then c; fi", true),
    ("a || b", false), ("a >| b", false), ("echo 'a | b'", false), ("echo \"a | b\"", false),
    ("case $x in a|b) c;; esac", false), ("a # | b", false), ("a; b", false),
  ])
  func pipes(text: String, isSpokenOf: Bool) {
    let found = remarks("  a:\n    run: |\n      \(text)\n")
    #expect(found.contains { $0.message.contains("pipe") } == isSpokenOf, "\(text)")
    #expect(!found.contains { $0.severity == .error })
  }

  /// Not where somebody has chosen, and not for each of many.
  @Test func pipesOnce() {
    let pipe = "run: a | b"
    let many = (0..<9).map { "  o\($0): {\(pipe)}\n" }.joined()
    #expect(remarks(many).count == 1)
    for shell in ["sh", "bash", "{name: bash, strict: false}"] {
      #expect(remarks("  a: {\(pipe), shell: \(shell)}\n").isEmpty)
    }
  }

  /// A word costs what it is long, wherever it stands. (Quadratic, these would take a minute.)
  @Test(
    .checks("F58"),
    arguments: [
      "x", "\"x\"", "'x'", "${A:-x}", "$(x)", "`x`", "[[ x ]]", "case a in x) b;; esac",
    ])
  func longWords(around: String) {
    var scanner = ShellScanner()
    scanner.read(around.replacing("x", with: String(repeating: "x", count: 200_000)))
    #expect(!scanner.hasPipe)
  }
}
