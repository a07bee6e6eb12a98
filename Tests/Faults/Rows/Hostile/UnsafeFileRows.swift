// F59: keys, state and sockets that others could reach: no daemon starts, no command connects, and
// the exact path is named. Real programs, over TCP with keys.

import FoundationEssentials
import Glibc
import RealCluster

let unsafeFileRow = FaultRow(
  number: "F59", name: "unsafe files", promise: "G39",
  injection: "keys of mode 0644, of a group, of another user, behind links; folders of mode 0777",
  isShort: true, run: unsafeFiles)

/// F59
private func unsafeFiles(_ trial: Trial) async throws {
  try await Cluster.with(trial.keyedShape(workers: 1)) { cluster in
    let keys = cluster.keys ?? ""
    for file in ["own.key", "server.key", "allowed"] {
      let path = "\(keys)/\(file)"
      for mode: mode_t in [0o644, 0o640, 0o660, 0o666] {
        try await refused(trial, cluster, "\(file) of mode 0\(String(mode, radix: 8))", path) {
          unsafe chmod(path, mode) == 0
        } undo: {
          unsafe chmod(path, 0o600)
        }
      }
      try await refused(trial, cluster, "\(file) behind a link", path) {
        unsafe rename(path, path + ".real") == 0
          ? unsafe symlink(path + ".real", path) == 0 : false
      } undo: {
        unsafe rename(path + ".real", path)
      }
      guard geteuid() == 0 else { continue }
      try await refused(trial, cluster, "\(file) of another user", path) {
        unsafe chown(path, 65_534, 65_534) == 0
      } undo: {
        unsafe chown(path, 0, 0)
      }
    }
    try await refused(trial, cluster, "folder of keys of mode 0777", keys) {
      unsafe chmod(keys, 0o777) == 0
    } undo: {
      unsafe chmod(keys, 0o700)
    }
    try await folders(trial, cluster)
    // Whoever runs already goes on; nothing was repaired in silence.
    let bystander = try await Bystander(on: cluster)
    _ = try await bystander.isServed()
    await bystander.end()
  }
}

/// Who reads which file: the coordinator all three, others their own key and the folder.
private func refused(
  _ trial: Trial, _ cluster: Cluster, _ what: String, _ path: String,
  _ spoil: () -> Bool, undo: () -> Int32
) async throws {
  guard spoil() else { throw Trouble("\(what): errno \(errno)") }
  defer { _ = undo() }
  let isForAll = path.hasSuffix("own.key") || path.hasSuffix("keys")
  let environment = cluster.environment + ["OPBATCH_COORDINATOR=\(cluster.address)"]
  var commands = [
    (
      "opcoord",
      [
        "serve", "--allow-root", "--client", "tcp://127.0.0.1:*", "--worker", "tcp://127.0.0.1:*",
        "--state", "\(cluster.folder)/other",
      ]
    )
  ]
  // A coordinator that has its keys does not look at its user's own.
  if path.hasSuffix("own.key") { commands = [] }
  if isForAll {
    commands.append(("opbatch", ["ping"]))
    commands.append(
      ("opworker", ["serve", "--allow-root", "--coordinator", cluster.workerAddress]))
  }
  for (program, arguments) in commands {
    let name = "f59-\(program)-\(UInt32.random(in: 0 ... .max))"
    let child = try ChildProgram(
      name, Cluster.executable(program), arguments, environment: environment,
      folder: cluster.folder, input: "/dev/null")
    let start = Moment.now
    let status = try await child.ended(within: .seconds(30))
    trial.injected("start of \(program) with an unsafe file or folder")
    trial.expect(
      status == 78 || status == 77, "G39: \(program), \(what): \(status) \(child.error)")
    trial.expect(child.error.contains(path), "G39: \(program), \(what): says \(child.error)")
    trial.expect(
      Moment.now.seconds(since: start) < trial.scale.time(3), "G39: \(program), \(what): took long")
  }
}

/// State, sockets and scratch in folders that everybody can write to.
private func folders(_ trial: Trial, _ cluster: Cluster) async throws {
  let open = "\(cluster.folder)/open"
  guard unsafe mkdir(open, 0o777) == 0, unsafe chmod(open, 0o777) == 0 else {
    throw Trouble("mkdir")
  }
  let ours = "\(cluster.folder)/ours"
  let commands: [(String, [String])] = [
    (
      "opcoord",
      [
        "serve", "--allow-root", "--client", "ipc://\(cluster.folder)/c2", "--worker",
        "ipc://\(cluster.folder)/w2", "--state", open,
      ]
    ),
    (
      "opcoord",
      [
        "serve", "--allow-root", "--client", "ipc://\(open)/c", "--worker", "ipc://\(open)/w",
        "--state", ours,
      ]
    ),
    (
      "opworker",
      [
        "serve", "--allow-root", "--coordinator", cluster.workerAddress, "--scratch", open,
      ]
    ),
  ]
  for (program, arguments) in commands {
    let child = try ChildProgram(
      "f59-folder-\(UInt32.random(in: 0 ... .max))", Cluster.executable(program), arguments,
      environment: cluster.environment, folder: cluster.folder, input: "/dev/null")
    let status = try await child.ended(within: .seconds(30))
    trial.injected("start of \(program) with an unsafe file or folder")
    trial.expect(status == 77, "G39: \(program) \(arguments.last ?? ""): \(status)")
    trial.expect(child.error.contains(open), "G39: \(program) says \(child.error)")
    let left = try FileManager.default.contentsOfDirectory(atPath: open)
    trial.expect(left.isEmpty, "G39: \(program) left \(left) there")
  }
}
