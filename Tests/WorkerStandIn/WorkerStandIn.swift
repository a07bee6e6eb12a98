// A worker program as a user writes one, with types that behave badly each in a way of its own. The
// tests of the worker start it as a process.

import Glibc
import OpClusterServing

@main
struct WorkerStandIn: WorkerProgram {
  static let types: [any RegisteredOperation.Type] = [
    Describe.self, Trap.self, Deaf.self, Heed.self, Leave.self, Fail.self,
    SeeGPUs.self, Speak.self, Haunt.self,
  ]
}

/// Says what it is told, and in which process it runs.
struct Describe: RegisteredOperation {
  static let typeName = "stand-in.describe"
  static let isolation = OperationIsolation.child
  var word: String
  @Input var left: Int?

  func main(_ context: OperationContext) async throws -> [String] {
    print("printed \(word)")
    context.logger.notice("logged \(word)")
    context.reportProgress(0.5, "half of \(word)")
    let folder = try context.scratchFolder()
    var home = "-"
    if case .endpoint(let address) = context.home { home = address }
    return [
      word, context.name, "\(context.run)", home, folder, "\(getpid())", "\(left ?? -1)",
      context.queueName, context.traceParent.map { "\($0)" } ?? "-",
    ]
  }
}

/// Says which gpus it has: by its context, and as CUDA would look for them; and its process.
struct SeeGPUs: RegisteredOperation {
  static let typeName = "stand-in.gpus"
  static let isolation = OperationIsolation.child

  func main(_ context: OperationContext) async throws -> [String] {
    let visible = unsafe getenv("CUDA_VISIBLE_DEVICES").map { unsafe String(cString: $0) }
    return [context.gpus.joined(separator: ","), visible ?? "unset", "\(getpid())"]
  }
}

/// Crashes.
struct Trap: RegisteredOperation {
  static let typeName = "stand-in.trap"
  static let isolation = OperationIsolation.child

  func main(_ context: OperationContext) async throws -> NoOutput {
    fatalError("trapped on purpose")
  }
}

/// Heeds nothing, and has a child of its own that heeds nothing.
struct Deaf: RegisteredOperation {
  static let typeName = "stand-in.deaf"
  static let isolation = OperationIsolation.child
  /// Appears when it runs.
  var file: String

  func main(_ context: OperationContext) async throws -> NoOutput {
    if startDeafShell(file) { touch(file) }
    while true { sleep(1) }
  }
}

/// Writes to its own log, and nothing if there is no word. Ends once a file is there.
struct Speak: RegisteredOperation {
  static let typeName = "stand-in.speak"
  static let isolation = OperationIsolation.child
  var word: String?
  /// Appears when the word is written.
  var file: String?
  var awaits: String?

  func main(_ context: OperationContext) async throws -> Int {
    if let word { print(word) }
    fflush(nil)
    if let file { touch(file) }
    while let awaits, unsafe access(awaits, F_OK) != 0 { usleep(2_000) }
    return Int(getpid())
  }
}

/// Leaves a process behind that writes to the log when a file is there, and makes another one then.
struct Haunt: RegisteredOperation {
  static let typeName = "stand-in.haunt"
  static let isolation = OperationIsolation.child
  var awaits: String
  var file: String

  func main(_ context: OperationContext) async throws -> Int {
    let script = "while [ ! -e '\(awaits)' ]; do sleep 0.01; done; echo late; touch '\(file)'"
    guard startShell("(\(script)) &") else { throw Refused() }
    return Int(getpid())
  }
  struct Refused: Error {}
}

/// Waits for its flag.
struct Heed: RegisteredOperation {
  static let typeName = "stand-in.heed"
  static let isolation = OperationIsolation.child
  var file: String

  func main(_ context: OperationContext) async throws -> NoOutput {
    touch(file)
    while true {
      try context.checkCancellation()
      try await Task.sleep(for: .seconds(3_600))
    }
  }
}

/// Ends its process.
struct Leave: RegisteredOperation {
  static let typeName = "stand-in.leave"
  static let isolation = OperationIsolation.child

  func main(_ context: OperationContext) async throws -> NoOutput { exit(9) }
}

/// Throws.
struct Fail: RegisteredOperation {
  static let typeName = "stand-in.fail"
  static let isolation = OperationIsolation.child

  func main(_ context: OperationContext) async throws -> NoOutput {
    throw BadArgument("not today")
  }
}

private func touch(_ path: String) {
  let file = unsafe open(path, O_WRONLY | O_CREAT, 0o600)
  if file >= 0 { close(file) }
}

/// Starts a shell that ignores signals, with the path among its arguments.
private func startDeafShell(_ path: String) -> Bool {
  startShell("trap '' TERM; while :; do sleep 0.05; done", path)
}

private func startShell(_ script: String, _ name: String = "sh") -> Bool {
  let words = ["/bin/sh", "-c", script, name]
  var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
  defer { unsafe pointers.forEach { unsafe free($0) } }
  var process: pid_t = 0
  return unsafe posix_spawn(&process, "/bin/sh", nil, nil, &pointers, environ) == 0
}
