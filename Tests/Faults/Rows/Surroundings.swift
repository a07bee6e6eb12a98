// What the machine is asked, and the few calls of it that rows make: the clock that operations
// write down, other programs, processes and their memory. Any task.

import FoundationEssentials
import Glibc
import RealCluster

/// A reading of CLOCK_MONOTONIC, the clock of the witness lines.
struct Moment: Comparable, Sendable {
  var nanoseconds: Int64

  static var now: Moment {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
  static func < (a: Moment, b: Moment) -> Bool { a.nanoseconds < b.nanoseconds }
  func seconds(since start: Moment) -> Double {
    Double(nanoseconds - start.nanoseconds) / 1e9
  }
  /// Two decimals.
  static func text(_ seconds: Double) -> String {
    let hundredths = Int((seconds * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }
}

enum Surroundings {
  /// Set by `deploy/faults` and the tests when this process was started in namespaces of its own.
  static var hasOwnMounts: Bool { variable("FAULT_ROWS_NAMESPACES") == "own" && geteuid() == 0 }

  static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  static var compiler: String? { program("clang") ?? program("cc") }

  static var hasLoopDevices: Bool {
    FileManager.default.fileExists(atPath: "/dev/loop-control")
      && program("mkfs.ext4") != nil && program("mount") != nil
  }

  static func program(_ name: String) -> String? {
    let path = (variable("PATH") ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    return path.split(separator: ":").map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program of the system to its end; throws what it said if it failed.
  static func run(_ words: String..., in folder: String) async throws {
    guard let path = program(words[0]) else { throw NotRun(reason: "there is no \(words[0])") }
    let name = "tool-\(UInt32.random(in: 0 ... .max))"
    let tool = try ChildProgram(
      name, path, Array(words.dropFirst()),
      environment: ["PATH=\(variable("PATH") ?? ""):/usr/sbin:/sbin"], folder: folder,
      input: "/dev/null")
    let status = try await tool.ended(within: .seconds(120))
    guard status == 0 else {
      throw Trouble("\(words.joined(separator: " ")) ended with \(status): \(tool.error)")
    }
  }

  /// The same on the calling thread, for preparations.
  static func runNow(_ words: String..., in folder: String) throws {
    try runNow(words, in: folder)
  }

  static func runNow(_ words: [String], in folder: String) throws {
    guard let path = program(words[0]) else { throw NotRun(reason: "there is no \(words[0])") }
    let tool = try ChildProgram(
      "tool-\(UInt32.random(in: 0 ... .max))", path, Array(words.dropFirst()),
      environment: ["PATH=\(variable("PATH") ?? ""):/usr/sbin:/sbin"], folder: folder,
      input: "/dev/null")
    while tool.end == nil { usleep(2_000) }
    guard tool.end == 0 else {
      throw Trouble("\(words.joined(separator: " ")) ended with \(tool.end ?? 0): \(tool.error)")
    }
  }

  /// What is loaded before a daemon's own libraries (`Preload`), compiled into the folder.
  static func library(_ file: String, in folder: String) async throws -> String {
    guard let compiler else { throw NotRun(reason: "there is no compiler") }
    let source = String(#filePath.dropLast("Rows/Surroundings.swift".count)) + "Preload/\(file).c"
    let name = compiler.split(separator: "/").last.map(String.init) ?? "cc"
    let path = "\(folder)/\(file).so"
    try await run(name, "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl", in: folder)
    return path
  }

  /// Bytes that a process keeps in memory; 0 when it has gone.
  static func residentBytes(_ process: pid_t) -> Int {
    number("VmRSS:", in: text(of: "/proc/\(process)/status")) * 1024
  }

  /// Bytes that a process has kept in memory at most.
  static func peakBytes(_ process: pid_t) -> Int {
    number("VmHWM:", in: text(of: "/proc/\(process)/status")) * 1024
  }

  /// As many descriptors as this process may have.
  static func raiseDescriptorLimit() {
    let descriptors = __rlimit_resource_t(7)
    var limit = rlimit()
    guard unsafe getrlimit(descriptors, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(descriptors, &limit)
  }

  /// Seconds of processor that a process has used, both kinds.
  static func processorSeconds(_ process: pid_t) -> Double {
    let stat = text(of: "/proc/\(process)/stat")
    guard let bracket = stat.lastIndex(of: ")") else { return 0 }
    let words = stat[bracket...].split(separator: " ")
    guard words.count > 13, let user = Double(words[12]), let system = Double(words[13]) else {
      return 0
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func number(_ key: String, in text: String) -> Int {
    for line in text.split(separator: "\n") where line.hasPrefix(key) {
      return Int(line.split(separator: " ").dropFirst().first ?? line.split(separator: "\t")[1])
        ?? 0
    }
    return 0
  }

  /// The threads of a process, by name, with their states.
  static func threads(_ process: pid_t) -> [(name: String, state: Character)] {
    let ids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    return ids.sorted().compactMap { id in
      let stat = text(of: "/proc/\(process)/task/\(id)/stat")
      guard let first = stat.firstIndex(of: "("), let last = stat.lastIndex(of: ")"),
        let state = stat[last...].dropFirst(2).first
      else { return nil }
      return (String(stat[first..<last].dropFirst()), state)
    }
  }

  /// What runs as a user.
  static func processes(of user: UInt32) -> [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { process in
      var status = stat()
      return unsafe stat("/proc/\(process)", &status) == 0 && status.st_uid == user
        && isAlive(process)
    }
  }

  /// Whether a process exists and is not just waiting to be collected.
  static func isAlive(_ process: pid_t) -> Bool {
    let state = self.state(process)
    return state != nil && state != "Z" && state != "X"
  }

  /// `R`, `S`, `Z`…; nil when there is no such process.
  static func state(_ process: pid_t) -> Character? {
    let stat = text(of: "/proc/\(process)/stat")
    guard let bracket = stat.lastIndex(of: ")") else { return nil }
    return stat[bracket...].dropFirst(2).first
  }
}
