// X6: names that steer terminals, although no coordinator of ours takes them: a journal of an
// earlier release has them, or the coordinator is not ours. A tap puts them in the place of names,
// labels, queues and workers in everything that real commands are told. Nothing that they print,
// in any format, with colours and without, can steer a terminal.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let nameAttack = FaultRow(
  number: "X6", name: "names that steer terminals, from the coordinator", promise: "G38",
  injection: "names of graphs, operations, queues, labels and workers, reasons and outputs "
    + "replaced by escapes, line ends and changes of direction in every message to opbatch",
  isShort: true, run: steer)

/// A name that every coordinator takes, and what is put in its place: as many bytes.
private let plain = "harmless.names.of.26.bytes"
private let evil = "\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}\u{202e}\u{2066}\u{2028}\r\nINJ"

/// X6
private func steer(_ trial: Trial) async throws {
  let (from, to) = (Array(plain.utf8), Array(evil.utf8))
  guard from.count == to.count else { throw Trouble("\(from.count) bytes, not \(to.count)") }
  var shape = try trial.keyedShape(workers: 1)
  shape.workerFlags = [["--label", "\(plain)=\(plain)"]]
  try await Cluster.with(shape) { cluster in
    let ring = try KeyRing(of: cluster)
    let replaced = Counter()
    let tap = try Tap(to: cluster.address, of: ring, isForWorkers: false) { message in
      guard message.hop == .coordinatorToClient else { return [message.bytes] }
      let other = replacing(from, by: to, in: message.bytes)
      if other != message.bytes { _ = replaced.next() }
      return [other]
    }
    let graph = try await namedGraph(cluster)
    let variables = [
      "OPBATCH_COORDINATOR=\(tap.address)", "OPBATCH_KEYS=\(cluster.keys ?? "")",
    ]
    var shown = 0
    for words in commands(graph.number, isShort: trial.scale.isShort) {
      let child = try cluster.startOpbatch(words, variables: variables)
      let status = try await child.ended(within: .seconds(60))
      trial.injected("opbatch command that was told such names")
      let said = child.output + child.error
      trial.expect(status < 128 && status != 70, "G38: opbatch \(words) ended with \(status)")
      for scalar in unpainted(said).unicodeScalars where scalar.canSteerTerminal && scalar != "\n" {
        trial.broken("G38: opbatch \(words) prints U+\(String(scalar.value, radix: 16))")
        break
      }
      if said.split(separator: "\n").contains(where: { $0.hasPrefix("INJ") }) {
        trial.broken("G38: opbatch \(words) prints a line of somebody else's")
      }
      if said.contains("INJ") { shown += 1 }
    }
    try await tap.end()
    trial.note(
      "\(replaced.count) messages had such names, \(shown) commands showed them, made visible")
    trial.expect(replaced.count > 0 && shown > 0, "G38: no such name was shown")
  }
}

/// Everything that has a name or a text has this one.
private func namedGraph(_ cluster: Cluster) async throws -> GraphID {
  let connection = try await cluster.reach()
  _ = try await connection.request(.createQueue(QueueSettings(name: plain)))
  var graph = GraphSubmission(name: plain)
  var fails = Load.command(
    plain, .shell(interpreter: ["/bin/sh", "-c"], text: CommandText("echo \(plain) >&2; exit 3")))
  fails.labels = [Label(key: plain, value: plain)]
  var waits = OperationTemplate(name: "w.\(plain)", work: Flood.noop)
  waits.requirements = [LabelRequirement(key: plain, values: ["none", plain + plain])]
  waits.labels = fails.labels
  waits.queue = 1
  var cancelled = waits
  cancelled.name = "c.\(plain)"
  // What a log says is told as it is where it goes into a pipe; its name is not.
  let speaks = Load.command("l.\(plain)", .arguments([CommandText("echo"), CommandText("fine")]))
  graph.templates = [fails, waits, cancelled, speaks]
  graph.queues = [.named("default"), .named(plain)]
  graph.labels = fails.labels
  graph.origin = plain
  guard case .accepted(let id, _, _) = try await connection.request(.submit(graph)) else {
    throw Trouble("not accepted")
  }
  let last = OperationID(graph: id, index: 2)
  _ = try await connection.request(.cancel(.operations([last]), reason: plain, grace: nil))
  try await eventually("one has failed, one has spoken") {
    let counts = try await connection.graphs(.graph(id)).first?.counts
    return counts?[.failed] == 1 && counts?[.succeeded] == 1
  }
  await connection.close()
  return id
}

private func commands(_ graph: UInt32, isShort: Bool) -> [[String]] {
  let (id, all) = ("\(graph)", "\(graph)/*")
  let tables = [
    ["ls"], ["ls", "-a"], ["ls", all], ["show", id], ["show", all], ["why", all], ["story", all],
    ["stats", all], ["trace", all], ["report", id],
    ["worker", "ls"], ["worker", "show", "w1"], ["queue", "ls"], ["queue", "show", plain],
    ["status"], ["doctor"],
  ]
  var commands = tables + tables.map { $0 + ["-o", "json"] }
  commands += [
    ["events", id], ["events", id, "-o", "jsonl"], ["logs", "\(graph)/l.*"], ["graph", id],
    ["graph", id, "--format", "dot"], ["graph", id, "--format", "svg"],
    ["wait", id, "--timeout", "0.3s"], ["watch", id, "--timeout", "0.3s"],
    ["cancel", "\(graph)/none"], ["retry", id, "--failed", "--timeout", "2s"],
  ]
  if !isShort { commands += tables.map { $0 + ["-o", "name"] } }
  return isShort
    ? commands
    : commands + commands.filter { !$0.contains("-o") }.map { $0 + ["--color", "always"] }
}

/// Without the colours of our own commands.
private func unpainted(_ text: String) -> String {
  var text = text
  for code in ["0", "1", "2", "31", "32", "33", "36", "1;31", "1;33"] {
    text = text.replacing("\u{1b}[\(code)m", with: "")
  }
  return text
}

private func replacing(_ from: [UInt8], by to: [UInt8], in bytes: [UInt8]) -> [UInt8] {
  guard bytes.count >= from.count, let first = from.first else { return bytes }
  var result = bytes
  var at = 0
  while at + from.count <= bytes.count {
    if bytes[at] == first, bytes[at..<(at + from.count)].elementsEqual(from) {
      result.replaceSubrange(at..<(at + from.count), with: to)
      at += from.count
    } else {
      at += 1
    }
  }
  return result
}
