// Finds the executable of a command. Runs in the parent and uses absolute folders only, so that an
// operation's working directory never decides what runs (G38). Called by `ProcessHost.start`.

import Glibc

enum ExecutableSearch {
  /// Returns the path to execute for `name`. A name with a slash stays as it is, relative to the
  /// caller's working directory; a bare name is searched in the absolute folders of the
  /// environment's `PATH`.
  static func path(
    of name: String, environment: [(name: String, value: String)]
  ) throws(SpawnError) -> String {
    guard !name.isEmpty else { throw .unusable(reason: "the command is empty; name an executable") }
    if name.utf8.contains(UInt8(ascii: "/")) { return name }
    let folders =
      environment.last { $0.name == "PATH" }?.value ?? OperationEnvironment.standardPath
    var refused: String?
    for folder in folders.split(separator: ":") where folder.hasPrefix("/") {
      let candidate = folder + "/" + name
      if canExecute(candidate) {
        if isRegular(candidate) { return candidate }
      } else if errno == EACCES {
        refused = refused ?? candidate
      }
    }
    if let refused { throw .notExecutable(executable: refused, error: EACCES) }
    throw .notFound(executable: name)
  }

  private static func isRegular(_ path: String) -> Bool {
    var information = stat()
    return unsafe stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
  }
}
