// `notify`: who is told, and what is refused. Addresses and tokens that are secret are in no
// finding.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct NotificationTests {
  private func compiled(_ notify: String, files: [String: String] = [:]) -> Compiled {
    compile(
      """
      version: 1
      operations: {a: {run: "true"}}
      notify:
      \(notify)
      """, files: files, variables: ["HOOK": "https://chat.example/T0/s3cret"])
  }

  @Test func ways() throws {
    let compiled = compiled(
      """
        - webhook: https://example.org/a?b=c
        - {webhook: {env: HOOK}, token: {file: token}, on: end}
        - {run: "mail me", on: [failure]}
        - run: [notify-send, "$OP_GRAPH"]
      """, files: ["/base/token": "t0ken\n"])
    #expect(compiled.errors.isEmpty)
    #expect(
      compiled.result.notifications == [
        GraphNotification(.webhook("https://example.org/a?b=c", token: nil)),
        GraphNotification(.webhook("https://chat.example/T0/s3cret", token: "t0ken"), [.end]),
        GraphNotification(.command(["sh", "-c", "mail me"]), [.failure]),
        GraphNotification(.command(["notify-send", "$OP_GRAPH"])),
      ])
    // The cluster knows nothing of them.
    #expect(try compiled.submission.secrets.isEmpty)
  }

  @Test(arguments: [
    ("  - {on: end}", "exactly one of webhook, run"),
    ("  - {run: [A=b, x]}", "begins with a program, and 'A=b' sets a variable"),
    ("  - {run: x, webhook: http://a}", "exactly one of webhook, run"),
    ("  - {webhook: ftp://a/b}", "begins with https://"),
    ("  - {webhook: https://}", "begins with https://"),
    ("  - {webhook: \"https://a/b c\"}", "without blanks"),
    ("  - {webhook: \"https://a/b\\nHost: c\"}", "without blanks"),
    ("  - {webhook: https://a, token: abc}", "kept out of manifests"),
    ("  - {webhook: https://a, token: {file: nothing}}", "cannot read 'nothing'"),
    ("  - {webhook: https://a, token: {file: two}}", "without blanks and line ends"),
    ("  - {webhook: https://a, token: {file: two, env: X}}", "either 'env' or 'file'"),
    ("  - {run: x, token: {env: HOOK}}", "is for a webhook"),
    ("  - {run: x, on: start}", "'on'"), ("  - {run: x, when: end}", "unknown key 'when'"),
    ("  - {run: []}", "names nothing"), ("  - {run: \"\"}", "names nothing"),
    ("  - text", "must be a mapping"), ("  x: y", "must be a list"),
    (String(repeating: "  - {run: x}\n", count: 9), "more than 8"),
  ]) func refusals(text: String, words: String) {
    let compiled = compiled(text, files: ["/base/two": "se\ncret"])
    #expect(compiled.errors.contains { $0.contains(words) }, "\(compiled.errors)")
    #expect(!"\(compiled.result.diagnostics)".contains("cret\""))
  }

  /// Another process of the same program gets them word for word, or nothing.
  @Test func areHandedOn() {
    let all = [
      GraphNotification(.webhook("https://a", token: "x"), [.end]),
      GraphNotification(.webhook("https://b", token: nil)),
      GraphNotification(.command(["sh", "-c", "echo \"é\n\" ''", ""]), [.failure]),
    ]
    let bytes = GraphNotification.encoded(all)
    #expect(GraphNotification.decoded(bytes) == all)
    #expect(GraphNotification.decoded(GraphNotification.encoded([])) == [])
    for count in 0..<bytes.count {
      let part = GraphNotification.decoded(Array(bytes.prefix(count)))
      #expect(part == nil || part == Array(all.prefix(part?.count ?? 0)))
    }
    for wrong in ["\0", "end\0command\01\0", "end\0command\09223372036854775807\0x\0"] {
      #expect(GraphNotification.decoded(Array(wrong.utf8)) == nil)
    }
  }
}
