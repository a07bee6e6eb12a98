// What tells others of a graph: the words of `--notify`, what curl is given, which failures may
// pass, and what a terminal gets.

import ArgumentParser
import Citations
import OpClusterManifest
import OpClusterModel
import OpClusterSystem
import Testing

@testable import opbatch

@Suite struct NotifyTests {
  @Test func words() throws {
    let watch = try Watch.parse([
      "12", "--notify", "terminal", "--notify", "https://a/b", "--notify", "mail me",
      "--notify-on", "end",
    ])
    #expect(
      watch.notify.notifications == [
        GraphNotification(.webhook("https://a/b", token: nil), [.end]),
        GraphNotification(.command(["sh", "-c", "mail me"]), [.end]),
      ])
    #expect(watch.notify.onTerminal == [.end])
    let both = try Watch.parse(["--notify", "x"])
    #expect(both.notify.notifications.map(\.moments) == [[.end, .failure]])
    #expect(both.notify.onTerminal.isEmpty)
    for wrong in [
      ["--notify", ""], ["--notify", "https://"], ["--notify", "https://a b"],
      ["--notify-on", "end"], ["--notify", "x", "--notify-on", "start"],
      Array(repeating: ["--notify", "x"], count: 9).flatMap { $0 },
    ] {
      #expect(throws: (any Error).self) { try Watch.parse(wrong) }
    }
  }

  /// curl reads back what was written: a body with anything in it stays one text.
  @Test func curlReadsIt() async throws {
    let request = WebhookRequest(
      address: "https://a/b?c=\"d\"", token: "t\\k",
      body: "{\"x\": \"a\\\\nb\"}\nurl = \"evil\"\r\t")
    let lines = request.curlConfiguration.split(separator: "\n")
    #expect(lines.contains { $0 == "url = \"https://a/b?c=\\\"d\\\"\"" })
    #expect(lines.contains { $0 == "header = \"Authorization: Bearer t\\\\k\"" })
    #expect(lines.count(where: { $0.hasPrefix("url") }) == 1)
    #expect(
      lines.contains {
        $0 == "data-raw = \"{\\\"x\\\": \\\"a\\\\\\\\nb\\\"}\\nurl = \\\"evil\\\"\\r\\t\""
      })
  }

  @Test(arguments: [
    (ShortProgram.End.exited(0, output: "204\n"), NotificationResult.told),
    (.exited(0, output: "503\n"), .failed("HTTP 503", isFinal: false)),
    (.exited(0, output: "429\n"), .failed("HTTP 429", isFinal: false)),
    (.exited(0, output: "301\n"), .failed("HTTP 301", isFinal: true)),
    (.exited(0, output: "404\n"), .failed("HTTP 404", isFinal: true)),
    (
      .exited(7, output: "curl: (7) Failed to connect\n000\n"),
      .failed("curl: (7) Failed to connect", isFinal: false)
    ),
    (.exited(3, output: "000\n"), .failed("curl ended with 3", isFinal: true)),
    (
      .exited(127, output: "env: curl"),
      .failed("there is no curl: apt install curl", isFinal: true)
    ),
    (.tookTooLong, .failed("it took too long", isFinal: false)),
  ]) func webhooks(end: ShortProgram.End, result: NotificationResult) {
    #expect(WebhookRequest.result(of: end) == result)
  }

  @Test(arguments: [
    (ShortProgram.End.exited(0, output: "x"), NotificationResult.told),
    (.exited(2, output: "a\n\u{1b}[2Jb\n"), .failed("exit status 2: \\x1b[2Jb", isFinal: false)),
    (.exited(127, output: ""), .failed("exit status 127", isFinal: true)),
    (.killed(9), .failed("killed by KILL (9)", isFinal: false)),
  ]) func commands(end: ShortProgram.End, result: NotificationResult) {
    #expect(end.result == result)
  }

  /// The path of a webhook may be what makes it secret, and a user's name in it always is.
  @Test func whatIsShown() {
    #expect(
      GraphNotification.Way.webhook("https://u:p@a.example:1/T0/x", token: "t").shown
        == "https://a.example:1")
    #expect(GraphNotification.Way.command(["sh", "-c", "mail me"]).shown == "mail me")
  }

  @Test(.checks("G38"), arguments: [
    (["TERM_PROGRAM": "WezTerm"], TerminalNotification.Way.text),
    (["KITTY_WINDOW_ID": "1"], .kitty), (["TERM": "foot-extra"], .titled),
    (["VTE_VERSION": "7000"], .titled), (["TERM": "xterm"], .bell), ([:], .bell),
    (["TMUX": "x", "TERM_PROGRAM": "WezTerm"], .bell),
  ]) func terminals(variables: [String: String], way: TerminalNotification.Way) {
    #expect(TerminalNotification.way { variables[$0] } == way)
    let bytes = TerminalNotification.bytes("a;b\u{1b}\\\u{7}c", way)
    #expect(bytes.last == 7)
    // Nothing of the text ends or begins a sequence.
    #expect(bytes.count(where: { $0 == 0x1b }) == (way == .bell ? 0 : 2))
    #expect(bytes.count(where: { $0 == 7 }) == 1)
    #expect(way == .bell || String(decoding: bytes, as: UTF8.self).contains("a,b"))
  }
}
