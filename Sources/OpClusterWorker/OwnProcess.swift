// C calls about this process: its environment, its rights, and its restart.

import Glibc
import OpClusterModel

public enum OwnProcess {
  /// Returns a variable of the environment; nil if it is not set.
  public static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Whether this process has all rights on this machine (G40).
  public static var isRoot: Bool { geteuid() == 0 }

  /// Sets a variable for this process and its children; call it before the first other thread
  /// starts.
  public static func setVariable(_ name: String, _ value: String) {
    _ = unsafe setenv(name, value, 1)
  }

  /// Whether standard input is a terminal.
  public static var hasTerminalInput: Bool { isatty(0) == 1 }

  /// Returns the first line of standard input, or all of it; at most `limit` bytes and one more.
  /// nil if it cannot be read.
  public static func readInputLine(limit: Int) -> [UInt8]? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while line.count <= limit {
      let count = unsafe read(0, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count < 0 { return nil }
      if count == 0 || byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    return line
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
