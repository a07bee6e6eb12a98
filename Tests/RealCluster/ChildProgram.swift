// One program of ours as a child of the test: started, signalled and awaited by its number, with
// its streams in files. Used by `Cluster` for daemons, and for other programs; any task.

import FoundationEssentials
package import Glibc
import Synchronization

/// A started program of ours, such as opcoord, a worker or opbatch.
package final class ChildProgram: Sendable {
  package let name: String
  package let process: pid_t
  package let outputPath: String
  package let errorPath: String
  /// The other end of its stdin; -1 if it has none. It closes when the test ends, however it ends.
  private let lifeline: Int32
  private let status = Mutex<Int32?>(nil)

  /// - Parameters:
  ///   - path: the executable.
  ///   - folder: where its streams go, as `NAME.out` and `NAME.err`; both are appended to.
  ///   - input: a file for stdin; nil gives it a pipe that closes with the test.
  package init(
    _ name: String, _ path: String, _ arguments: [String], environment: [String], folder: String,
    input: String? = nil
  ) throws {
    self.name = name
    outputPath = "\(folder)/\(name).out"
    errorPath = "\(folder)/\(name).err"
    var ends: [Int32] = [-1, -1]
    if input == nil {
      guard unsafe socketpair(AF_UNIX, Self.closingStream, 0, &ends) == 0 else {
        throw Trouble("socketpair: \(errno)")
      }
    }
    lifeline = ends[1]
    defer { if ends[0] >= 0 { close(ends[0]) } }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    if let input {
      unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    } else {
      unsafe posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    }
    for (number, path) in [(Int32(1), outputPath), (Int32(2), errorPath)] {
      unsafe posix_spawn_file_actions_addopen(
        &actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    }
    process = try unsafe Self.spawn(path, [path] + arguments, environment, &actions)
  }

  private static let closingStream =
    Int32(SOCK_STREAM.rawValue) | Int32(bitPattern: SOCK_CLOEXEC.rawValue)

  private static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String],
    _ actions: inout posix_spawn_file_actions_t
  ) throws -> pid_t {
    // Whatever the test runner blocks or ignores is not for its children.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var (none, defaults) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigemptyset(&defaults)
    for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { unsafe sigaddset(&defaults, signal) }
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] =
      unsafe environment.map { unsafe strdup($0) } + [nil]
    defer {
      unsafe (words + variables).forEach { unsafe free($0) }
    }
    var number: pid_t = 0
    let code = unsafe posix_spawn(&number, path, &actions, &attributes, &words, &variables)
    guard code == 0 else { throw Trouble("cannot start \(path): error \(code)") }
    return number
  }

  deinit {
    if end == nil {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
    if lifeline >= 0 { close(lifeline) }
  }

  /// Its exit status, or 128+n for signal n; nil while it runs.
  package var end: Int32? {
    status.withLock { status in
      if status == nil {
        var raw: Int32 = 0
        if unsafe waitpid(process, &raw, WNOHANG) == process {
          status = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
        }
      }
      return status
    }
  }

  package func signal(_ signal: Int32) {
    status.withLock { status in
      // Under the lock: until its end is taken in, its number is nobody else's.
      if status == nil { kill(process, signal) }
    }
  }

  /// Waits for its end.
  @discardableResult
  package func ended(within limit: Duration = .seconds(240)) async throws -> Int32 {
    try await eventually("\(name) ends", within: limit) { self.end }
  }

  package var output: String { text(of: outputPath) }
  package var error: String { text(of: errorPath) }
}

/// Something went another way than the test needs.
package struct Trouble: Error, CustomStringConvertible {
  package var description: String
  package init(_ description: String) { self.description = description }
}

/// Asks again and again until there is an answer. The deadline is for failures only.
package func eventually<Value>(
  _ what: String, within limit: Duration = .seconds(240),
  details: () async throws -> String = { "" },
  _ answer: () async throws -> Value?
) async throws -> Value {
  let deadline = ContinuousClock.now + limit
  while true {
    if let value = try await answer() { return value }
    guard ContinuousClock.now < deadline else {
      throw Trouble("not within \(limit): \(what) \(try await details())")
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// The same for a condition.
package func eventually(
  _ what: String, within limit: Duration = .seconds(240),
  details: () async throws -> String = { "" },
  holds: () async throws -> Bool
) async throws {
  _ = try await eventually(what, within: limit, details: details) {
    try await holds() ? true : nil
  }
}

/// What a file holds; empty if there is none.
package func text(of path: String) -> String {
  String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
}

/// Makes a file.
package func write(_ text: String, to path: String) throws {
  try Data(text.utf8).write(to: URL(filePath: path))
}

/// Makes an executable copy of a file. A program of its own writes it: a child that another test
/// starts just then would hold what this process has open for writing, and nobody could execute it.
package func makeExecutable(_ path: String, from content: String) async throws {
  let folder = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
  let copy = try ChildProgram(
    "install-\(UInt32.random(in: 0 ... .max))", "/usr/bin/install", ["-m", "0755", content, path],
    environment: ["PATH=/usr/bin:/bin"], folder: String(folder), input: "/dev/null")
  guard try await copy.ended() == 0 else { throw Trouble("install \(path): \(copy.error)") }
}
