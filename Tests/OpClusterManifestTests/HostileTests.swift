// Manifests that mean harm: numbers without end, arrays without end, names that steer terminals.
// None of them traps, takes long, or gets through (G33, G38, F58).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct HostileTests {
  /// Every key that takes a number or an amount, with a place for it.
  private static let places = [
    "  a: {run: x, retries: @}\n", "  a: {run: x, retries: {max: @}}\n",
    "  a: {run: x, priority: @}\n", "  a: {run: x, timeout: @}\n",
    "  a: {run: x, resources: {cpus: @}}\n", "  a: {run: x, resources: {memory: @}}\n",
    "  a: {run: x, resources: {gpus: @}}\n", "  a: {run: x, resources: {licences: @}}\n",
    "  a: {run: x, array: @}\n", "  a: {run: x, array: '@'}\n", "  a: {run: x, array: [@]}\n",
    "  a: {run: x, array: 1-2, max_parallel: @}\n", "  a: {run: x, array: 1-2, max_failures: @}\n",
    "  a: {run: x, cancel: {grace: @}}\n", "  a: {run: x, success: [@]}\n",
    "  a: {run: x}\nmax_failures: @\n", "  a: {run: x}\nqueues: {q: {limit: @}}\n",
    "  a: {run: x, matrix: {k: '@'}}\n",
  ]
  private static let numbers = [
    "1e999", "-1e999", "-1", "-9223372036854775808", "9223372036854775807",
    "18446744073709551615", "99999999999999999999999999999999999999", "0x7fffffffffffffffffff",
    ".inf", "-.inf", ".nan", "1e-999", "4294967296", "1-4294967295", "0-18446744073709551615",
    "1-4294967294:4294967295", "4294967295-1", "1-10:0", "1-10:-1", "1e19-1e20",
    String(repeating: "9", count: 10_000),
  ]

  @Test(arguments: places) func numbersWithoutEnd(place: String) throws {
    for number in Self.numbers {
      let text = "version: 1\noperations:\n" + place.replacing("@", with: number)
      let compiled = compile(text)
      // Refused with a message for people, or something that fits the limits.
      if compiled.errors.isEmpty {
        let submission = try compiled.submission
        #expect(submission.operationCount <= Limits.operationsPerGraph, "\(place) \(number)")
      } else {
        #expect(compiled.errors.allSatisfy { $0.utf8.count < 20_000 }, "\(place)")
      }
    }
  }

  /// Names are of the characters that can harm nobody; what is said about them neither.
  @Test(
    .checks("F58"),
    arguments: [
      "../../x", "a\\0b", "$(touch x)", "a b", "a\\nb", "\\e[2J", "\\x9b31m", "\\u202e", "a/b", "",
      "'", String(repeating: "n", count: 129),
    ])
  func namesThatHarm(name: String) {
    for text in [
      "operations: {\"\(name)\": {run: x}}",
      "operations: {a: {run: x, queue: \"\(name)\"}}\nqueues: {\"\(name)\": {limit: 1}}",
    ] {
      let source = "version: 1\n" + text + "\n"
      let compiled = compile(source)
      #expect(!compiled.errors.isEmpty, "\(text)")
      let said = DiagnosticRenderer(source: source, file: "\u{1b}[2J", color: false)
        .render(compiled.result.diagnostics)
      let harmful = said.unicodeScalars.filter {
        $0.canSteerTerminal && $0 != "\n" && $0 != "\t"
      }
      #expect(harmful.isEmpty, "\(said.debugDescription)")
    }
  }
}
