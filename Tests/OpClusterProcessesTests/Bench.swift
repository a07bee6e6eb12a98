// What the tests of this target share: a host with a folder of its own, waiting with a deadline,
// and a look at the process table that does not depend on the code under test.
//
// The kernel gives all orphans to the test process, and any host in it reaps them; therefore all
// suites that start processes run one after the other, inside `ProcessTests`.

import Glibc
import Testing

@testable import OpClusterProcesses

@Suite(.serialized) enum ProcessTests {}

/// The ways to find the members of a tree.
enum Way: String, CaseIterable, Sendable {
  /// Cgroups of version 2, and those of version 1 for what these cannot do here.
  case groups
  /// Cgroups of version 1 only.
  case legacy
  case walk

  /// All, or those for which a hierarchy is mounted that can be written.
  static let available: [Way] = allCases.filter { way in
    guard way != .walk else { return true }
    guard let fence = ProcessFence(worker: "probe") else { return false }
    let host = try? ProcessHost(fence: fence, groups: way.cgroups, diesWithThread: false)
    return host?.hasGroups ?? false
  }

  /// Those in which memory and processes can be bounded.
  static let bounded: [Way] = available.filter { way in
    guard let fence = ProcessFence(worker: "probe") else { return false }
    let host = try? ProcessHost(fence: fence, groups: way.cgroups, diesWithThread: false)
    return host.map { $0.limitsMemory && $0.limitsProcesses } ?? false
  }

  var cgroups: CgroupUse {
    switch self {
    case .groups: .all
    case .legacy: .legacy
    case .walk: .none
    }
  }
}

/// A host, a folder for its files, and tokens that count up.
final class Bench {
  let host: ProcessHost
  let folder: String
  private var lastToken: UInt64 = 0

  init(_ way: Way = .walk) throws {
    let fence = try #require(ProcessFence(worker: "bench"))
    host = try ProcessHost(fence: fence, groups: way.cgroups, diesWithThread: false)
    var name = "/tmp/opcluster-processes-"
    for _ in 0..<3 { name += String(UInt32.random(in: .min ... .max), radix: 36) }
    folder = name
    try #require(unsafe mkdir(folder, 0o700) == 0)
  }

  deinit {
    _ = host.endAll(within: .seconds(5))
    for name in namesOfFolder(folder) { unsafe unlink(folder + "/" + name) }
    unsafe rmdir(folder)
  }

  /// A shell command with its output in the file `out`.
  func shell(_ text: String) -> ProcessSpecification {
    var specification = command(["/bin/sh", "-c", text])
    specification.command = .shell(text, prefix: ["/bin/sh", "-c"])
    return specification
  }

  /// A command with its output in the file `out`.
  func command(_ arguments: [String]) -> ProcessSpecification {
    ProcessSpecification(
      command: .arguments(arguments), environment: [("PATH", OperationEnvironment.standardPath)],
      workingDirectory: folder, output: .file(file("out")))
  }

  func file(_ name: String) -> OutputFile { OutputFile(path: folder + "/" + name) }

  func start(_ specification: ProcessSpecification) throws -> ProcessReference {
    lastToken += 1
    return try host.start(specification, token: lastToken)
  }

  /// Waits for the end of one tree; others that end meanwhile are forgotten.
  func end(of reference: ProcessReference) throws -> EndedProcess {
    var found: EndedProcess?
    eventually(within: 60) {
      var request = pollfd(fd: host.descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&request, 1, 20)
      for ended in host.collectEnded() where ended.reference == reference { found = ended }
      return found != nil
    }
    return try #require(found, "process \(reference) did not end in time")
  }

  func run(_ specification: ProcessSpecification) throws -> EndedProcess {
    try end(of: start(specification))
  }

  /// What the file `out` holds.
  func output(_ name: String = "out") throws -> String {
    String(decoding: try OutputTail.last(of: file(name)).bytes, as: UTF8.self)
  }

  /// Waits until the file `out` holds the text, which tells that a process has got that far.
  func waitForOutput(_ text: String) throws {
    try #require(eventually { (try? output().contains(text)) ?? false }, "no \(text) in time")
  }
}

/// Makes a file.
func makeFile(_ path: String, _ bytes: [UInt8]) throws {
  guard let file = Descriptor.open(path, O_WRONLY | O_CREAT, mode: 0o600), file.write(bytes) else {
    throw SpawnError.file(path: path, error: errno)
  }
}

/// Makes an executable file. A program of its own writes it: a child that another test starts just
/// then would hold what this process has open for writing, and the file could not be executed.
func makeExecutable(_ path: String, _ bytes: [UInt8]) throws {
  let content = path + ".content"
  try makeFile(content, bytes)
  var arguments = CStringList()
  for word in ["install", "-m", "0700", content, path] { _ = arguments.append(word) }
  var child: pid_t = 0
  let error = unsafe arguments.withPointers { arguments in
    unsafe posix_spawn(&child, "/usr/bin/install", nil, nil, arguments, environ)
  }
  guard error == 0 else { throw SpawnError.file(path: path, error: error) }
  var status: Int32 = 0
  while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
  try #require(status == 0, "install \(path)")
}

/// Asks again and again until the answer is yes; false when the time is over.
@discardableResult
func eventually(within seconds: Int = 30, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    usleep(2_000)
  }
  return try condition()
}

/// A number of seconds to sleep that no other process on the machine uses: a mark that is seen in
/// the command line and that no environment can lose.
func uniqueSleep() -> String {
  "\(Int.random(in: 10_000...90_000)).\(Int.random(in: 100_000_000...999_999_999))"
}

/// The command line of a living process; empty if there is none.
func commandLine(_ process: Int32) -> String {
  let bytes = Descriptor.open("/proc/\(process)/cmdline", O_RDONLY)?.read(upTo: 4_096)
  return String(decoding: bytes ?? [], as: UTF8.self)
}

/// Whether a signal holds the process.
func isStopped(_ process: Int32) -> Bool {
  let bytes = Descriptor.open("/proc/\(process)/stat", O_RDONLY)?.read(upTo: 512) ?? []
  return String(decoding: bytes, as: UTF8.self).contains(") T ")
}

/// How many living processes have the text in their command line.
func living(_ mark: String) -> Int {
  namesOfFolder("/proc").compactMap { Int32($0) }.count { commandLine($0).contains(mark) }
}

/// The children of this process that have ended and that nobody waited for.
func zombies() -> Int {
  ProcessTable.all().filter { $0.parent == getpid() && $0.isZombie }.count
}
