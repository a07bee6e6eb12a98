// F54: thousands of connections that never say a word, opened again as they are cut off, beside
// many good workers and clients, over TCP with keys; and the firewall's rule that bounds what one
// source may open, in a network namespace of its own.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterZeroMQ
import RealCluster

let crowdRow = FaultRow(
  number: "F54", name: "10,000 idle connections", promise: "G29",
  injection: "connections that never say a word, beside 60 workers and 150 clients; then a cap by "
    + "source", run: idleCrowd)

/// F54
private func idleCrowd(_ trial: Trial) async throws {
  let limit = try descriptors()
  let count = min(trial.scale.count(10_000, short: 300), limit - 1_500)
  let workers = trial.scale.count(60, short: 4)
  let clients = trial.scale.count(150, short: 5)
  try await Cluster.with(trial.keyedShape(workers: workers, slots: 1)) { cluster in
    let process = try cluster.process("opcoord")
    let people = try await (0..<clients).asyncMap { _ in try await Bystander(on: cluster) }
    let quiet = try await serve(people, for: 5, trial, "before")
    let before = Surroundings.residentBytes(process)
    let isOver = Switch()
    let port = try Endpoint(cluster.address).port ?? 0
    let crowd = Task { try await onThread("crowd") { keepCrowd(count, port, until: isOver) } }
    try await Task.sleep(for: .seconds(3))
    let used = Surroundings.processorSeconds(process)
    let start = Moment.now
    let busy = try await serve(people, for: trial.scale.isShort ? 3 : 30, trial, "meanwhile")
    let share = (Surroundings.processorSeconds(process) - used) / Moment.now.seconds(since: start)
    let growth = (Surroundings.residentBytes(process) - before) >> 20
    isOver.turnOn()
    let (opened, most) = try await crowd.value
    trial.injected("connection that says nothing", times: opened)
    trial.note(
      "\(workers) workers and \(clients) clients beside \(most) idle connections at once, "
        + "\(opened) in all; opcoord grew by \(growth) MiB, "
        + "used \(Moment.text(share)) of a processor"
    )
    trial.expect(most >= count * 9 / 10, "only \(most) of \(count) connections at once")
    trial.expect(
      busy.largest < 1,
      "G29: a good client waited \(Moment.text(busy.largest)) s, before "
        + "\(Moment.text(quiet.largest)) s")
    trial.expect(growth <= 64, "G29: opcoord grew by \(growth) MiB")
    let lost = cluster.daemon("opcoord")?.error.ranges(of: "is lost").count ?? 0
    trial.expect(lost == 0, "G22: \(lost) workers were lost")
    for one in people { await one.end() }
  }
  try await cappedCrowd(trial)
}

private func descriptors() throws -> Int {
  var limit = rlimit()
  guard unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0 else { throw Trouble("getrlimit") }
  limit.rlim_cur = limit.rlim_max
  _ = unsafe setrlimit(__rlimit_resource_t(7), &limit)
  return Int(min(limit.rlim_cur, 65_536))
}

extension Range<Int> {
  fileprivate func asyncMap<Value>(
    _ body: (Int) async throws -> Value
  ) async throws -> [Value] {
    var all: [Value] = []
    for number in self { all.append(try await body(number)) }
    return all
  }
}

/// Each client has a graph run about every second.
private func serve(
  _ people: [Bystander], for seconds: Double, _ trial: Trial, _ when: String
) async throws -> Series {
  let times = Stopwatch()
  try await withThrowingTaskGroup(of: Void.self) { group in
    for (number, one) in people.enumerated() {
      group.addTask {
        let start = Moment.now
        try await Task.sleep(for: .milliseconds(1_000 * number / people.count))
        while Moment.now.seconds(since: start) < seconds {
          times.add(try await one.isServed().seconds)
          try await Task.sleep(for: .seconds(1))
        }
      }
    }
    try await group.waitForAll()
  }
  trial.note("good clients had a graph run in \(times.series.text) \(when)")
  return times.series
}

/// Opens so many, and each again that is cut off; how many in all, and at once.
private func keepCrowd(_ count: Int, _ port: UInt16, until isOver: Switch) -> (Int, Int) {
  var files: [Int32] = []
  var (opened, most) = (0, 0)
  while !isOver.isOn {
    files.removeAll { file in
      var byte: UInt8 = 0
      while true {
        let got = unsafe recv(file, &byte, 1, Int32(MSG_DONTWAIT))
        if got > 0 { continue }
        if got < 0, errno == EAGAIN { return false }
        close(file)
        return true
      }
    }
    while files.count < count, !isOver.isOn {
      let file = TCP.connect(port)
      if file < 0 { break }
      files.append(file)
      opened += 1
    }
    most = max(most, files.count)
    usleep(50_000)
  }
  files.forEach { close($0) }
  return (opened, most)
}

// MARK: - A cap by source

/// The rule of the manual (Operating, How much one client may take), in a namespace of its own.
private func cappedCrowd(_ trial: Trial) async throws {
  guard Surroundings.hasOwnMounts, Surroundings.program("nft") != nil,
    let unshare = Surroundings.program("unshare")
  else {
    return trial.note("the cap by source was not shown: it needs root and nft")
  }
  let child = try ChildProgram(
    "capped-\(UInt32.random(in: 0 ... .max))", unshare,
    ["--net", try Cluster.executable("FaultRows"), "--capped", "20"],
    environment: [
      "PATH=\(Surroundings.variable("PATH") ?? ""):/usr/sbin:/sbin", "FAULT_ROWS_NAMESPACES=own",
    ], folder: "/tmp", input: "/dev/null")
  let status = try await child.ended(within: .seconds(120))
  defer {
    unsafe unlink(child.outputPath)
    unsafe unlink(child.errorPath)
  }
  let said = child.output.split(separator: "\n").joined(separator: " ")
  trial.expect(status == 0, "F54: the cap by source: \(said) \(child.error)")
  if status == 0 { trial.note("with the firewall's cap: \(said)") }
}

/// What `FaultRows --capped` does in its namespace: one source opens more than it may.
func cap(_ most: Int) async throws -> String {
  let trial = Trial(Scale(isShort: true, part: 0.01))
  let shape = try trial.keyedShape(workers: 0)
  try await Surroundings.run("ip", "link", "set", "lo", "up", in: "/tmp")
  let port = try Endpoint(shape.clientAddress ?? "").port ?? 0
  for rule in [
    "add table inet filter", "add set inet filter sources { type ipv4_addr; flags dynamic; }",
    "add chain inet filter input { type filter hook input priority 0; }",
    "add rule inet filter input tcp dport \(port) ct state new add @sources "
      + "{ ip saddr ct count over \(most) } reject with tcp reset",
  ] { try await Surroundings.run("nft", rule, in: "/tmp") }
  var said = ""
  try await Cluster.with(shape) { cluster in
    let (taken, refused) = try await onThread("capped") { () -> (Int, Int) in
      // 127.0.0.2: another source than the good client.
      let files = (0..<(most * 5)).map { _ in TCP.connect(port, from: 0x7F00_0002) }
      defer { files.forEach { if $0 >= 0 { close($0) } } }
      return (files.count { $0 >= 0 }, files.count { $0 < 0 })
    }
    let start = Moment.now
    let connection = try await cluster.reach()
    _ = try await connection.request(.ping, timeout: .seconds(10))
    let seconds = Moment.now.seconds(since: start)
    await connection.close()
    said =
      "\(taken) of \(taken + refused) connections of one source taken with a cap of \(most), "
      + "another source served after \(Moment.text(seconds)) s"
    guard taken <= most, refused > 0, seconds < 1 else { throw Trouble(said) }
  }
  return said
}
