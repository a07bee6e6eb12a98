// C calls about this process: its environment, its rights, what others see of it, its restart.

import CSystem
import Glibc

public enum OwnProcess {
  /// Returns a variable of the environment; nil if it is not set.
  public static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// The same, but nil for an empty one, too.
  public static func filledVariable(_ name: String) -> String? {
    variable(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether standard error is the journal of systemd, which says so to a process that it starts.
  public static var errorIsJournal: Bool {
    guard let stream = filledVariable("JOURNAL_STREAM") else { return false }
    var facts = stat()
    return unsafe fstat(2, &facts) == 0 && stream == "\(facts.st_dev):\(facts.st_ino)"
  }

  /// Its number among the processes of the machine.
  package static var number: Int32 { getpid() }

  /// Becomes another program, whose path is the first word. Returns only if it cannot be started.
  package static func become(_ words: [String]) -> ErrorNumber {
    var pointers = unsafe words.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    _ = unsafe execv(words.first ?? "", pointers)
    return ErrorNumber(errno)
  }

  /// The user whose rights it has.
  package static var user: UInt32 { geteuid() }

  /// Ends the process at once; whatever must be kept has been kept.
  package static func end(_ status: Int32) -> Never { _exit(status) }

  /// What this machine calls itself; nil when it does not say.
  package static var hostName: String? {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return nil }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Whether this process has all rights on this machine (G40).
  public static var isRoot: Bool { geteuid() == 0 }

  /// Sets a variable for this process and its children; call it before the first other thread
  /// starts.
  public static func setVariable(_ name: String, _ value: String) {
    _ = unsafe setenv(name, value, 1)
  }

  /// From now on the memory of this process is in no core dump, and no other process of the same
  /// user can look into it (G39). Programs that it starts decide for themselves.
  ///
  /// A crash then ends the process at once, without the report of the Swift runtime, which would
  /// show registers and memory.
  public static func keepSecretsOutOfDumps() { _ = opcluster_forbid_dumps() }

  /// Takes a secret out of the list of processes, where every user can read how a program was
  /// started: what follows `prefix` in an argument is overwritten. Until then it could be read, so
  /// that this is no substitute for a file. The program itself keeps its arguments. Before the
  /// first other thread.
  public static func hideArguments(beginningWith prefix: String) {
    // Copied by this first look, if they have not been before.
    let arguments = CommandLine.arguments
    for at in arguments.indices where arguments[at].contains(prefix) {
      guard let text = unsafe CommandLine.unsafeArgv[at], let start = unsafe strstr(text, prefix)
      else { continue }
      unsafe memset(start, Int32(UInt8(ascii: "x")), strlen(start))
    }
  }

  /// Whether standard input is a terminal.
  public static var hasTerminalInput: Bool { isatty(0) == 1 }

  /// Returns the first line of standard input, or all of it; at most `limit` bytes and one more.
  /// nil if it cannot be read.
  public static func readInputLine(limit: Int) -> [UInt8]? {
    try? FileDescriptor(0).readLine(limit: limit)
  }

  /// Replaces this process by a new run of the program, with the same arguments except some options
  /// and their values, and without some variables. Returns an `errno` on failure.
  public static func startAgain(without options: [String], _ variables: [String]) -> Int32 {
    var arguments: [String] = []
    var isValue = false
    for argument in CommandLine.arguments {
      let isOption = options.contains(argument)
      let isBoth = options.contains { argument.hasPrefix("\($0)=") }
      if !isValue, !isOption, !isBoth { arguments.append(argument) }
      isValue = isOption
    }
    for variable in variables { _ = unsafe unsetenv(variable) }
    var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
    // Use the program's own path, so that the process list shows its name. If another file has
    // replaced it, run the open file.
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    if unsafe readlink("/proc/self/exe", &path, path.count - 1) > 0, unsafe access(path, X_OK) == 0
    {
      _ = unsafe execv(path, &words)
    }
    _ = unsafe execv("/proc/self/exe", &words)
    return errno
  }
}
