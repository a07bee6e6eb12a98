// Detects hanging threads: each thread gives signs of life, by answers or beats. One that is silent
// for too long is named in the log and keeps the watchdog from being fed (G23). Pure; on the loop's
// thread, which the service manager itself watches.

import OpClusterModel

struct ThreadWatch {
  /// The threads that live as long as the process; libzmq's own threads cannot be watched.
  enum Member: Int, CaseIterable {
    case journal, history, requests, gate

    /// The thread's name in `top` and debuggers, and its purpose.
    var words: String {
      switch self {
      case .journal: "the journal's thread, which makes everything durable"
      case .history: "the thread 'history', which answers questions about the past"
      case .requests: "the thread 'requests', which decodes large ones"
      case .gate: "the thread 'opcluster-gate', which lets connections in"
      }
    }
  }

  struct Finding: Equatable {
    var member: Member
    var silence: Span
    /// Whether it was silent and is heard again.
    var isBack = false
  }

  private let heartbeat: Span
  private var lastSigns: [Instant]
  private var silent: Set<Member> = []
  private var lastLook: Instant

  init(at now: Instant, heartbeat: Span) {
    self.heartbeat = heartbeat
    lastSigns = Member.allCases.map { _ in now }
    lastLook = now
  }

  /// The longest permitted silence. The journal and the history may wait for a slow disk, and
  /// a large request for a processor; the history is asked twice per heartbeat.
  func patience(with member: Member) -> Span {
    switch member {
    case .journal, .history, .requests: .seconds(120) + heartbeat + heartbeat
    case .gate: .seconds(5)
    }
  }

  /// After a longer pause between checks the loop itself was absent, and cannot judge the others.
  private var longestPause: Span { .seconds(3) + heartbeat }

  /// Notes a sign of life, or that no sign is expected.
  mutating func heard(_ member: Member, at moment: Instant) {
    lastSigns[member.rawValue] = max(lastSigns[member.rawValue], moment)
  }

  /// The first hanging thread.
  var hanging: Member? { Member.allCases.first(where: silent.contains) }

  /// The threads that have fallen silent or are heard again since the last check.
  mutating func look(at now: Instant) -> [Finding] {
    if now - lastLook > longestPause {
      for member in Member.allCases where !silent.contains(member) { heard(member, at: now) }
    }
    lastLook = now
    var findings: [Finding] = []
    for member in Member.allCases {
      let silence = now - lastSigns[member.rawValue]
      if silence > patience(with: member) {
        if silent.insert(member).inserted {
          findings.append(Finding(member: member, silence: silence))
        }
      } else if silent.remove(member) != nil {
        findings.append(Finding(member: member, silence: silence, isBack: true))
      }
    }
    return findings
  }
}
