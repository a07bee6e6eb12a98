// A POST to a webhook by curl. All of it goes through curl's stdin: nobody sees the address or the
// token in the list of processes. Pure.

import OpClusterPresentation
import OpClusterSystem

struct WebhookRequest {
  var address: String
  var token: String?
  /// JSON.
  var body: String

  /// Redirections are not followed: a body and a token are for the address alone.
  var curlConfiguration: String {
    var lines = [
      "url = \(quoted(address))", "request = \"POST\"", "proto = \"=http,https\"", "globoff",
      "silent", "show-error", "max-time = 30", "max-filesize = 1048576", "output = \"/dev/null\"",
      "write-out = \"%{http_code}\\n\"", "user-agent = \"opbatch\"",
      "header = \"Content-Type: application/json\"",
    ]
    if let token { lines.append("header = \(quoted("Authorization: Bearer \(token)"))") }
    lines.append("data-raw = \(quoted(body))")
    return lines.map { $0 + "\n" }.joined()
  }

  /// In curl's way of writing a text.
  private func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// What curl's end means. It prints the status of HTTP as the last line, 000 without one.
  static func result(of end: ShortProgram.End) -> NotificationResult {
    guard case .exited(let status, let output) = end else { return end.result }
    if status == 127 {
      return .failed("there is no curl: apt install curl", isFinal: true)
    }
    let lines = safeLines(output)
    guard status == 0, let code = lines.last.flatMap({ Int($0) }), code > 0 else {
      // It does not know the protocol, cannot begin, or cannot read the address.
      return .failed(
        lines.first { $0.hasPrefix("curl:") } ?? "curl ended with \(status)",
        isFinal: (1...3).contains(status))
    }
    if (200...299).contains(code) { return .told }
    // Those may pass: a timeout, too early, too many, and what is the server's own fault.
    let passes = [408, 425, 429].contains(code) || code >= 500
    return .failed("HTTP \(code)", isFinal: !passes)
  }
}
