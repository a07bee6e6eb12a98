// The reasons why a process could not be started, with the next step. Thrown by
// `ProcessHost.start`, shown to the submitter of the operation.

import CProcess
import Glibc
import OpClusterSystem

/// The reason why a process was not started. Nothing of it exists then.
public enum SpawnError: Error, Equatable, Sendable {
  /// The executable does not exist, neither at the path nor in the absolute folders of `PATH`.
  case notFound(executable: String)
  /// The kernel refuses the executable: no permission, a folder, or an unknown format.
  case notExecutable(executable: String, error: Int32)
  case workingDirectory(path: String, error: Int32)
  /// An output file could not be opened.
  case file(path: String, error: Int32)
  /// The file for standard input could not be opened.
  case input(path: String, error: Int32)
  /// The specification is invalid on every machine.
  case unusable(reason: String)
  /// Another running process of this host uses the token.
  case tokenInUse(UInt64)
  /// The process is exclusive and the lease has run out: another worker may get the operation
  /// (G16).
  case leaseOver
  /// The machine refused: no processes, memory or descriptors left, or a limit that it does not
  /// allow.
  case refused(step: String, error: Int32)

  /// The exit status of a shell: 127 not found, 126 not executable, nil otherwise.
  public var exitCode: Int32? {
    switch self {
    case .notFound: 127
    case .notExecutable: 126
    default: nil
    }
  }
}

extension SpawnError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notFound(let executable):
      "no executable \(quoted(executable)) was found; give its absolute path"
    case .notExecutable(let executable, let error):
      "\(quoted(executable)) cannot be executed (\(ErrorNumber(error).text)); "
        + adviceOnExecuting(error)
    case .workingDirectory(let path, let error):
      "the working directory \(quoted(path)) cannot be entered (\(ErrorNumber(error).text)); "
        + "create it before the operation runs"
    case .file(let path, let error):
      "\(quoted(path)) cannot be opened (\(ErrorNumber(error).text)); \(advice(on: error))"
    case .input(let path, let error):
      "\(quoted(path)), which is its standard input, cannot be opened "
        + "(\(ErrorNumber(error).text)); \(inputAdvice(on: error))"
    case .unusable(let reason):
      reason
    case .tokenInUse(let token):
      "token \(token) belongs to a process that is still running; collect it first"
    case .leaseOver:
      "the coordinator has not heard of this worker for too long to begin an exclusive operation"
    case .refused(let step, let error):
      "the kernel refused to \(step) (\(ErrorNumber(error).text)); "
        + "check the limits of the worker and of the operation"
    }
  }
}

/// Returns the remedy for an executable that the kernel did not take.
private func adviceOnExecuting(_ error: Int32) -> String {
  switch error {
  case ENOMEM: "the memory that the operation may have is too little for any program; give it more"
  case E2BIG: "its arguments and variables are too long together; hand them over in a file"
  case ETXTBSY: "somebody writes to it; start it when that is over"
  default: "check its permissions and its #! line"
  }
}

/// Returns the remedy for a file that cannot be opened.
private func advice(on error: Int32) -> String {
  switch error {
  case ENOSPC, EDQUOT: "free space on its disk"
  case EACCES, EROFS:
    "the account that the operation runs as may not read or write it, or not pass its folder"
  case ENOENT, ENOTDIR: "its folder does not exist on this worker; create it first"
  case EXDEV: "it leads out of the folder it starts from; write an absolute path"
  case ELOOP: "a symbolic link is on the way; name the file itself"
  case EPERM: "files of /proc, /sys and cgroups are not given to operations"
  case EMFILE, ENFILE: "the worker has no descriptor left; raise its limit of open files"
  default: "check the path and the disk"
  }
}

/// Returns the remedy for a file that cannot be read.
private func inputAdvice(on error: Int32) -> String {
  switch error {
  case ENOENT, ENOTDIR: "there is no such file on this worker; make it before the operation runs"
  case ENOSPC, EDQUOT: "look at its disk"
  case EACCES, EROFS:
    "the account that the operation runs as may not read it, or not pass its folder"
  default: advice(on: error)
  }
}

/// Quotes a name and replaces control bytes, since the name may come from anyone (G38).
func quoted(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars.prefix(256) {
    result += scalar.properties.generalCategory == .control ? "?" : String(scalar)
  }
  return result + "\""
}

/// Whether the file exists and this thread may execute it; on false `errno` tells why.
func canExecute(_ path: String) -> Bool {
  unsafe faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0
}

extension SpawnError {
  /// Converts the failed step of the child to an error for the submitter.
  init(step: op_step, error: Int32, executable: String, workingDirectory: String?) {
    switch step {
    case OP_STEP_EXECUTE where error == ENOENT && canExecute(executable):
      // The file exists, but the interpreter in its first line does not.
      self = .notExecutable(executable: executable, error: error)
    case OP_STEP_EXECUTE where error == ENOENT || error == ENOTDIR:
      self = .notFound(executable: executable)
    case OP_STEP_EXECUTE where error == E2BIG:
      self = .unusable(
        reason: "the arguments and the environment are too long for the kernel; "
          + "pass the data in a file")
    case OP_STEP_EXECUTE:
      self = .notExecutable(executable: executable, error: error)
    case OP_STEP_DIRECTORY:
      self = .workingDirectory(path: workingDirectory ?? ".", error: error)
    case OP_STEP_SCHEDULING: self = .refused(step: "set the scheduling class", error: error)
    case OP_STEP_NICE: self = .refused(step: "set the niceness", error: error)
    case OP_STEP_LIMIT: self = .refused(step: "set a resource limit", error: error)
    case OP_STEP_DESCRIPTORS: self = .refused(step: "arrange the descriptors", error: error)
    case OP_STEP_GROUP: self = .refused(step: "enter its cgroup", error: error)
    case OP_STEP_ACCOUNT: self = .refused(step: "become the account it runs as", error: error)
    case OP_STEP_LEASE: self = .leaseOver
    case OP_STEP_CLONE: self = .refused(step: "create a process", error: error)
    default: self = .refused(step: "prepare the process", error: error)
    }
  }
}
