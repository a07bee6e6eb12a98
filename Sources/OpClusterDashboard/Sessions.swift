// Who may look: whoever has brought the token of the link has a session afterwards, by a cookie.
// Forms carry a token of their session, so that pages of others cannot send them.

import OpClusterHTTP
import Synchronization

final class Sessions: Sendable {
  struct Session: Sendable {
    var formToken: String
    /// Told on the next page.
    var note: String?
  }
  private struct State {
    var known: [String: Session] = [:]
    /// Oldest first.
    var order: [String] = []
  }

  let token: String
  let cookieName: String
  private let isSecure: Bool
  private let state = Mutex(State())
  /// The oldest ends when there would be more.
  private static let mostSessions = 1_000

  /// - Parameters:
  ///   - name: Of the cookie.
  ///   - isSecure: Whether cookies go over TLS only.
  init(token: String, name: String, isSecure: Bool) {
    self.token = token
    cookieName = name
    self.isSecure = isSecure
  }

  /// 128 random bits.
  static func randomToken() -> String {
    (0..<4).map { _ in
      let digits = String(UInt32.random(in: 0 ... .max), radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  /// Returns the header that sets the cookie of a new session; nil: the token is wrong.
  func begin(_ given: String) -> (name: String, value: String)? {
    guard Self.isSame(given, token) else { return nil }
    let id = Self.randomToken()
    state.withLock { state in
      state.known[id] = Session(formToken: Self.randomToken())
      state.order.append(id)
      if state.order.count > Self.mostSessions {
        state.known[state.order.removeFirst()] = nil
      }
    }
    let flags = "; Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
    return ("Set-Cookie", "\(cookieName)=\(id)\(flags)")
  }

  /// The session of a request, with its name; nil: there is none.
  func session(of request: HTTPRequest) -> (id: String, session: Session)? {
    let cookies = (request.header("Cookie") ?? "").split(separator: ";")
    for cookie in cookies {
      let parts = cookie.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].drop(while: { $0 == " " }) == cookieName else { continue }
      let id = String(parts[1])
      if let session = state.withLock({ $0.known[id] }) { return (id, session) }
    }
    return nil
  }

  func leave(note: String, in id: String) { state.withLock { $0.known[id]?.note = note } }

  /// Returns the note once.
  func takeNote(of id: String) -> String? {
    state.withLock { state in
      defer { state.known[id]?.note = nil }
      return state.known[id]?.note
    }
  }

  /// Takes the same time wherever the two differ.
  static func isSame(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
