// Which of our threads hangs: each gives signs of life, as answers that it owes or as beats, and
// one that is silent for too long is named in the log and keeps the watchdog from being fed
// (G23). Pure; on the loop's thread, which is watched by the service manager itself.

import OpClusterModel

struct ThreadWatch {
  /// Threads that live as long as the process; libzmq's own are not ours to ask.
  enum Member: Int, CaseIterable {
    case journal, history, gate

    /// What it is called by `top` and debuggers, and what it does.
    var words: String {
      switch self {
      case .journal: "the journal's thread, which makes everything durable"
      case .history: "the thread 'history', which answers questions about the past"
      case .gate: "the thread 'opcluster-gate', which lets connections in"
      }
    }
  }

  struct Finding: Equatable {
    var member: Member
    var silence: Span
    /// It was silent and speaks again.
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

  /// The longest silence. Two of them wait for the disk, which may take its time; one of these is
  /// asked twice a heartbeat.
  func patience(with member: Member) -> Span {
    switch member {
    case .journal, .history: .seconds(120) + heartbeat + heartbeat
    case .gate: .seconds(5)
    }
  }

  /// Whoever looks less often than this was away itself, and knows nothing of the others.
  private var longestPause: Span { .seconds(3) + heartbeat }

  /// A sign of life, or nothing is expected of it.
  mutating func heard(_ member: Member, at moment: Instant) {
    lastSigns[member.rawValue] = max(lastSigns[member.rawValue], moment)
  }

  /// The first that hangs.
  var hanging: Member? { Member.allCases.first(where: silent.contains) }

  /// Who has fallen silent and who speaks again since the last look.
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
