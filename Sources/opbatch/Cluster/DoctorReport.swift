// The findings of `opbatch doctor`, and its judgement of the figures. Values only.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Findings in the order in which they were made. Pure, so that every judgement can be tested
/// without a cluster. The order is that of a search for a fault: from this program to the
/// operations.
struct DoctorReport {
  struct Finding {
    /// `bad` makes the command fail; `notice` is for people alone. The words are in JSON.
    enum State: String {
      case good, notice, bad
    }
    var state: State
    var subject: String
    var message: String
    /// The remedy; empty if there is nothing to do.
    var advice: String
  }

  private(set) var findings: [Finding] = []
  var isWell: Bool { !findings.contains { $0.state == .bad } }

  mutating func add(
    _ state: Finding.State, _ subject: String, _ message: String, _ advice: String = ""
  ) {
    findings.append(Finding(state: state, subject: subject, message: message, advice: advice))
  }

  /// The time includes the network and the coordinator's disk queue, not the connecting.
  mutating func addCoordinator(
    build: String, version: UInt32, _ epoch: Epoch, answeredIn time: Duration
  ) {
    let milliseconds = Int64(time / .microseconds(1)) / 1_000
    let message =
      "\(build), protocol \(version), start \(epoch.number), answered in "
      + shownDuration(milliseconds: milliseconds)
    if time > Self.slowAnswer {
      add(
        .notice, "coordinator", message,
        "that is slow; look at the load of its machine and of its disk")
    } else {
      add(.good, "coordinator", message)
    }
  }

  /// Reports a wrong clock, since it confuses people. Clocks are for display only (G31).
  mutating func addClock(_ theirs: WallTime, here: WallTime, roundTrip: Duration) {
    guard theirs != .unknown else { return }
    // The coordinator read its clock somewhere between question and answer. Both wall clocks; the
    // round trip was measured by the monotonic one.
    let difference = here - theirs
    let distance = max(difference, .zero - difference)
    if distance <= Self.clockTolerance + max(.zero, Span(roundTrip)) {
      return add(.good, "clock", "the coordinator's is like the one here")
    }
    let shown = shownDuration(distance)
    add(
      .notice, "clock",
      "the coordinator's is \(shown) \(difference > .zero ? "behind" : "ahead of") the one here",
      "times in listings will look wrong, nothing else goes by them; set the clocks (chrony, "
        + "systemd-timesyncd)")
  }

  /// Bad below the reserve, where the coordinator refuses graphs (G8); a notice below eight times
  /// as much. A coordinator that cannot ask its file system says nothing.
  mutating func addDisk(_ values: ConfigurationValues) {
    guard let free = values.diskFreeBytes else { return }
    let message = "\(shownSize(free)) free for the journal in \(values.stateFolder)"
    let advice =
      "make room there, or keep less history ('opcoord serve --event-bytes'); 'opcoord "
      + "journal compact' gives space back while the coordinator is stopped"
    if free < values.diskReserveBytes {
      add(.bad, "disk", "\(message): new graphs are refused", advice)
    } else if free / 8 < values.diskReserveBytes {
      add(
        .notice, "disk",
        "\(message); below \(shownSize(values.diskReserveBytes)) new graphs are refused", advice)
    } else {
      add(.good, "disk", message)
    }
  }

  /// Reports only a problem: history that was not read yet must not be called good. The coordinator
  /// keeps serving with damaged history (G6).
  mutating func addHistory(_ values: ConfigurationValues) {
    guard let problem = values.historyProblem else { return }
    add(
      .bad, "history", problem,
      "graphs run as ever, and questions that need what is damaged are refused; stop the "
        + "coordinator when it suits, 'opcoord journal verify' says what helps")
  }

  /// One line for all workers and one for each that needs something, so that a report of a thousand
  /// well workers has one line.
  mutating func addWorkers(_ all: [WorkerRow], _ timing: Timing) {
    let rows = all.filter { $0.state != .down }
    // Last, whatever the branch below: down workers explain why others are missing.
    defer { addDown(all.filter { $0.state == .down }) }
    guard !rows.isEmpty else {
      return add(
        .bad, "workers", "none \(all.isEmpty ? "has joined" : "is there"): nothing can run",
        "start one with 'opworker serve --coordinator ADDRESS'")
    }
    // A worker that was set aside is connected and gets little or nothing.
    let serving = rows.count { $0.state == .connected && !$0.isSetAside }
    add(
      serving > 0 ? .good : .bad, "workers",
      "\(serving) of \(shownCount(rows.count)) take work",
      serving > 0 ? "" : "nothing new can start; see each below")
    for row in rows where row.unkillable > 0 {
      add(
        .bad, "worker \(row.name)",
        "KILL does not end processes of \(shownCount(row.unkillable, "operation")) there",
        "they hang in the kernel, mostly in a file system or a device that does not answer; "
          + "repair that, or restart the machine: what they take is given to nobody until then")
    }
    for row in rows where !row.trouble.isEmpty {
      add(
        .bad, "worker \(row.name)", row.trouble,
        "repair it, then: opbatch worker resume \(row.name)")
    }
    for row in rows where row.state != .connected {
      let heard =
        row.lastHeard.map { "last heard \(shownDuration($0)) ago" }
        ?? "not heard since the coordinator was started"
      switch row.state {
      // Told above, or in `addDown`.
      case .connected, .down: break
      case .draining:
        add(
          .notice, "worker \(row.name)", "drains, \(heard)", "it leaves when what it runs has ended"
        )
      case .suspect, .away:
        // A worker that this start of the coordinator has not heard yet gets more time (G24).
        let patience = row.lastHeard == nil ? timing.resync : timing.lost
        add(
          .notice, "worker \(row.name)", "\(row.state.rawValue), \(heard)",
          "it is given up after \(shownDuration(patience)) and its work runs elsewhere; look at "
            + "its machine, its log and the network")
      }
    }
  }

  /// Reports the workers that were lost last.
  private mutating func addDown(_ rows: [WorkerRow]) {
    for row in rows.lostLast(Self.downShown) {
      let time = row.lastHeard.map { " for \(shownDuration($0))" } ?? ""
      add(
        .notice, "worker \(row.name)", "down\(time): \(row.downReason)",
        "look at its machine and start it again; if it is not to come back: opbatch worker forget "
          + row.name)
    }
    let hidden = rows.count - Self.downShown
    if hidden > 0 {
      add(
        .notice, "workers", "\(shownCount(hidden)) more are down",
        "'opbatch worker ls' lists them")
    }
  }

  /// A suspended queue that is empty harms nobody.
  mutating func addQueues(_ rows: [QueueRow]) {
    for row in rows where row.settings.isSuspended && row.operationCount > 0 {
      add(
        .notice, "queue \(row.settings.name)",
        "is suspended with \(shownCount(row.operationCount, "operation"))",
        "'opbatch queue resume \(row.settings.name)' lets them run")
    }
  }

  /// Reports stages that wait for a worker that does not exist.
  mutating func addUnplaceable(_ stages: [UnplaceableStage]) {
    for stage in stages.prefix(Self.unplaceableShown) {
      add(
        .notice, stage.path, "waits: \(stage.reason)",
        "start a worker that has what it asks for, or let it go: 'opbatch cancel \(stage.path)'")
    }
    let hidden = stages.count - Self.unplaceableShown
    if hidden > 0 {
      add(
        .notice, "operations", "\(shownCount(hidden)) more wait like these", "'opbatch why GRAPH'")
    }
  }

  // Bounds of the report: it is read by a person.
  private static let unplaceableShown = 10
  private static let downShown = 5
  /// Half a second: long enough for a person to notice.
  private static let slowAnswer = Duration.milliseconds(500)
  /// Beyond what NTP leaves.
  private static let clockTolerance = Span.seconds(2)
}

extension DoctorReport.Finding {
  /// Returns `good disk 120 GB free …`, with the advice below it.
  func lines(_ style: Style) -> [String] {
    let tone: Tone =
      switch state {
      case .good: .good
      case .notice: .warning
      case .bad: .bad
      }
    let word = state.rawValue + String(repeating: " ", count: 8 - state.rawValue.count)
    // Wraps the message below itself.
    let told = wrap("\(safe(subject)): \(safe(message))", to: style.width.map { max($0 - 8, 20) })
    let indent = String(repeating: " ", count: 8)
    var lines = told.enumerated().map { at, piece in
      (at == 0 ? style.paint(word, tone) : indent) + piece
    }
    for line in safeLines(advice) {
      for (at, piece) in wrap(line, to: style.width.map { max($0 - 12, 20) }).enumerated() {
        lines.append(indent + (at == 0 ? style.paint("do:", .active) + " " : "    ") + piece)
      }
    }
    return lines
  }
}
