// The worker's own folder: who holds it, and where each attempt's files are. Used on the loop thread.
//
//   SCRATCH/lock                    held by the one worker that uses the folder
//   SCRATCH/12/                     graph 12
//   SCRATCH/12/7.1.out  7.1.err     streams of attempt 1 of operation 7; a link where the
//                                   operation sends the stream elsewhere; gone when empty
//   SCRATCH/12/7.1/                 OP_SCRATCH, and the working directory where none is named
//   SCRATCH/12/7.1.values           OP_OUTPUT, made by the operation if it has any
//   SCRATCH/12/7.1.cancelled        OP_CANCELLED, appears when the operation is asked to stop
//
// One folder and two files are made for a start: whatever else is named is made when needed.

import Glibc
import OpClusterModel

/// Names of one attempt's files.
struct AttemptPaths: Sendable {
  /// Everything begins like this.
  let stem: String
  var folder: String { stem }
  var output: String { stem + ".out" }
  var error: String { stem + ".err" }
  var values: String { stem + ".values" }
  var cancelled: String { stem + ".cancelled" }

  func stream(_ stream: LogStream) -> String {
    switch stream {
    case .standardOutput: output
    case .standardError: error
    }
  }
}

/// The folder, held as long as this object lives.
final class Scratch {
  let path: String
  private let lock: Int32
  /// Graphs whose folder exists.
  private var graphs: Set<UInt32> = []

  /// Makes and locks the folder.
  init(_ path: String) throws(WorkerError) {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      throw WorkerError(.configuration, "--scratch '\(path)' is not an absolute path")
    }
    do throws(Folders.Problem) {
      try Folders.makePrivate(path)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    lock = unsafe open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else {
      throw WorkerError(.machine, Folders.problem("cannot open '\(path)/lock'").description)
    }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw WorkerError(
        .inUse, "another worker uses '\(path)'; give each worker a --name or --scratch of its own")
    }
    self.path = path
  }

  deinit { close(lock) }

  func paths(of attempt: AttemptID) -> AttemptPaths {
    let (operation, number) = (attempt.operation, attempt.attempt)
    return AttemptPaths(
      stem: "\(path)/\(operation.graph.number)/\(operation.index).\(number)")
  }

  /// Makes the folder of a graph, once.
  func makeFolder(of graph: GraphID) throws(Folders.Problem) {
    guard !graphs.contains(graph.number) else { return }
    try Folders.make("\(path)/\(graph.number)")
    graphs.insert(graph.number)
  }

  /// What the worker kept of a graph that is forgotten is still on disk, for its logs.
  func forget(_ graph: GraphID) { graphs.remove(graph.number) }

  /// After an orderly end of a worker whose name was made up: nobody will come back for it.
  func removeAll() { Folders.removeTree(path) }

  /// Removes folders of graphs in which nothing has happened for so long, but never one that is
  /// in use. Returns what is to be removed, so that a thread of its own can take its time.
  func outdated(olderThan seconds: Int64) -> [String] {
    Folders.names(in: path).compactMap { name in
      guard let graph = UInt32(name), !graphs.contains(graph) else { return nil }
      let folder = "\(path)/\(name)"
      guard let age = Folders.age(of: folder), age > seconds else { return nil }
      return folder
    }
  }
}
