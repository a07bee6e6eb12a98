// The only words of C about this very process: its environment, its rights, and being started anew.

import Glibc
import OpClusterModel

public enum OwnProcess {
  /// A variable of the environment; nil when it is not set.
  public static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Whether this process may do everything on this machine (G40).
  public static var isRoot: Bool { geteuid() == 0 }

  /// Sets a variable for this process and those that it starts; before the first other thread.
  public static func setVariable(_ name: String, _ value: String) {
    _ = unsafe setenv(name, value, 1)
  }

  /// Puts this program anew in place of itself, with the same arguments but for one option and its
  /// value. Returns an `errno` if that fails.
  public static func startAgain(without option: String) -> Int32 {
    var arguments: [String] = []
    var isValue = false
    for argument in CommandLine.arguments {
      let isOption = argument == option
      if !isValue, !isOption, !argument.hasPrefix("\(option)=") { arguments.append(argument) }
      isValue = isOption
    }
    _ = unsafe unsetenv("OPWORKER_JOIN")
    var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
    // By its own path, so that it keeps its name in the process list; as the file that it is, where
    // another one has taken its place.
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    if unsafe readlink("/proc/self/exe", &path, path.count - 1) > 0, unsafe access(path, X_OK) == 0
    {
      _ = unsafe execv(path, &words)
    }
    _ = unsafe execv("/proc/self/exe", &words)
    return errno
  }
}
