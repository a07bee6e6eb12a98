// The units under a systemd of their own (G40), from the steps of the operations page: what is
// closed to operations, stopping, a killed worker, a coordinator that stands still. Any task.

import RealCluster

let unitRows: [FaultRow] = [
  FaultRow(
    number: "G40-UNITS", name: "the units of deploy/systemd on a machine of their own",
    promise: "G23 G25 G40 G21 G24",
    injection: "systemctl stop while an operation runs, KILL of the worker, STOP of the "
      + "coordinator; daemonised children",
    needs: [.ownNamespaces], run: unitsAtWork)
]

/// G40
private func unitsAtWork(_ trial: Trial) async throws {
  let machine = try await Machine()
  do {
    try await install(machine, trial)
    try await look(machine, trial)
    try await stop(machine, trial)
    try await killWorker(machine, trial)
    try await holdCoordinator(machine, trial)
  } catch {
    let log = try? await machine.say("journalctl --no-pager -n 40 -u opcoord -u opworker || true")
    await machine.end()
    throw Trouble("\(error)\n\(log ?? "")")
  }
  await machine.end()
}

extension Machine {
  /// An invitation of the coordinator's, printed once.
  fileprivate func invitation(_ role: String) async throws -> String {
    try await say(
      "cd / && runuser -u opcoord -- opcoord key invite --role \(role) --keys /var/lib/opcoord/keys"
        + " | grep -o 'opjoin_[^ ]*' | head -n 1")
  }

  /// Submits one operation named o; `settings` are further lines of it.
  fileprivate func submit(_ text: String, _ settings: String = "") async throws {
    try await say(
      """
      cat > /tmp/m.yaml <<'END'
      version: 1
      operations:
        o:
          run: "\(text)"
          \(settings)
      END
      opbatch submit /tmp/m.yaml
      """)
  }

  fileprivate func waits(for state: String, of unit: String) async throws {
    try await eventually("\(unit) is \(state)") {
      try await self.property("ActiveState", of: unit) == state
    }
  }

  /// Whether a process with this command line lives in it.
  fileprivate func isRunning(_ command: String) async throws -> Bool {
    try await say("pgrep -x -f '\(command)' || true") != ""
  }
}

/// The steps that `deploy/install` prints.
private func install(_ machine: Machine, _ trial: Trial) async throws {
  try await machine.say(
    "systemd-sysusers /usr/local/lib/sysusers.d/opcluster.conf && systemctl daemon-reload")
  try await machine.say("systemctl enable --now opcoord")
  let worker = try await machine.invitation("worker")
  try await machine.say("echo OPWORKER_JOIN=\(worker) >> /etc/opcluster/opworker.env")
  try await machine.say("systemctl enable --now opworker")
  let submitter = try await machine.invitation("submitter")
  try await machine.say("opbatch key join \(submitter)")
  for unit in ["opcoord", "opworker"] {
    let state = try await machine.property("ActiveState", of: unit)
    trial.expect(state == "active", "\(unit) is \(state)")
    trial.note("\(unit): \(try await machine.property("StatusText", of: unit))")
  }
}

/// What is closed to an operation; a timeout ends what has left its session.
private func look(_ machine: Machine, _ trial: Trial) async throws {
  try await machine.submit(
    "grep -E 'NoNewPrivs|CapEff|Seccomp:' /proc/self/status; id -un; touch /usr/x || echo closed")
  try await machine.say("opbatch wait last")
  let told = try await machine.say("opbatch logs last/o")
  for line in [
    "NoNewPrivs:\t1", "CapEff:\t0000000000000000", "Seccomp:\t2", "opworker", "closed",
  ] {
    trial.expect(told.contains(line), "G40: no '\(line)' in what an operation saw: \(told)")
  }
  try await machine.submit("setsid sleep 1234 & sleep 1234", "timeout: 1s")
  try await machine.say("opbatch wait last || true")
  let state = try await machine.say("opbatch ls last")
  trial.expect(state.contains("timed-out"), "G21: \(state)")
  trial.expect(try await !machine.isRunning("sleep 1234"), "G25: its child is left")
  trial.injected("timeout of an operation with a child in another session")
}

/// What runs has its time to end.
private func stop(_ machine: Machine, _ trial: Trial) async throws {
  try await machine.submit("sleep 4; echo done")
  try await eventually("it runs") { try await machine.isRunning("sleep 4") }
  let start = Moment.now
  try await machine.say("systemctl stop opworker")
  trial.injected("systemctl stop of the worker while an operation runs")
  trial.note("the worker stopped after \(Moment.text(Moment.now.seconds(since: start))) s")
  let result = try await machine.property("Result", of: "opworker")
  trial.expect(result == "success", "stopping ended as \(result)")
  let state = try await machine.say("opbatch ls last")
  trial.expect(state.contains("succeeded"), "what ran did not end by itself: \(state)")
  try await machine.say("systemctl start opworker")
}

/// Nothing is left of a killed worker, and what it ran runs again.
private func killWorker(_ machine: Machine, _ trial: Trial) async throws {
  try await machine.submit("setsid sleep 999 & sleep 5; kill $!")
  try await eventually("it runs") { try await machine.isRunning("sleep 999") }
  let child = try await machine.say("pgrep -x -f 'sleep 999'")
  try await machine.say("systemctl kill --kill-who=main -s KILL opworker")
  trial.injected("KILL of the worker while an operation runs")
  try await eventually("nothing of it is left") {
    try await machine.say("ps -p \(child) -o pid= || true") == ""
  }
  try await machine.say("opbatch wait last --timeout 60s")
  let restarts = try await machine.property("NRestarts", of: "opworker")
  trial.expect(restarts == "1", "the worker was started \(restarts) times by itself")
}

/// The watchdog ends a coordinator that stands still; what runs goes on.
private func holdCoordinator(_ machine: Machine, _ trial: Trial) async throws {
  try await machine.submit("sleep 30; echo done")
  try await eventually("it runs") { try await machine.isRunning("sleep 30") }
  let runner = try await machine.say("pgrep -x -f 'sleep 30'")
  let old = try await machine.property("MainPID", of: "opcoord")
  let start = Moment.now
  try await machine.say("kill -STOP \(old)")
  trial.injected("STOP of the coordinator's process")
  try await eventually("another one serves", within: .seconds(90)) {
    let now = try await machine.property("MainPID", of: "opcoord")
    let state = try await machine.property("ActiveState", of: "opcoord")
    return now != old && state == "active"
  }
  trial.note("another coordinator served after \(Moment.text(Moment.now.seconds(since: start))) s")
  trial.expect(
    try await machine.say("pgrep -x -f 'sleep 30' || true") == runner, "G24: it did not go on")
  try await machine.say("opbatch wait last --timeout 60s")
}
