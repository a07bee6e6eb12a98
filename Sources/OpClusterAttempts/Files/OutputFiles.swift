// Finds the files that a command has left for others. Blocking; any thread. Everything is looked at
// with the rights of the operation's account: a link leads nowhere that it could not go itself.

import Glibc
import OpClusterFolders
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// The files that a command promised, once it has ended.
struct OutputFilePromise: Sendable {
  struct File: Sendable {
    var name: String
    /// A path or a pattern; from `folder` if it is not absolute.
    var path: String
  }
  var files: [File]
  var folder: String
  /// nil: the worker's.
  var account: LocalAccount?

  /// The files that are there, in order of their names and paths.
  ///
  /// - Throws: If one is missing, is no file, or there are too many.
  func find() throws(AttemptProblem) -> [FoundFile] {
    let found = asAccount { () -> Result<[FoundFile], AttemptProblem> in
      var search = FileSearch(atMost: Limits.contentsPerOutput)
      for file in files {
        do throws(FileSearchError) {
          try search.find(file.name, file.path, in: folder)
        } catch {
          return .failure(error.problem(of: file.name))
        }
      }
      return .success(search.found)
    }
    return try found.get().get()
  }

  /// Opens a found file for reading; the caller closes it.
  func open(_ file: FoundFile) throws(AttemptProblem) -> Int32 {
    let opened = asAccount { () -> Result<Int32, SystemError> in
      do throws(SystemError) {
        return .success(try FileTree.descriptor(file.place, followsLinks: true))
      } catch {
        return .failure(error)
      }
    }
    switch try opened.get() {
    case .success(let descriptor): return descriptor
    case .failure(let error): throw .badOutput("an output file: \(error)")
    }
  }

  private func asAccount<Value>(_ body: () -> Value) -> Result<Value, AttemptProblem> {
    do throws(SpawnError) {
      return .success(try withRights(of: account) { () throws(SpawnError) in body() })
    } catch {
      return .failure(error.problem)
    }
  }
}

extension FileSearchError {
  fileprivate func problem(of name: String) -> AttemptProblem {
    switch self {
    case .missing(let place):
      .badOutput("the output file '\(name)' was promised and is not there: \(place)")
    case .nothing(let place):
      .badOutput("the output file '\(name)' was promised, and nothing is there: \(place)")
    case .tooMany:
      .badOutput(
        "the output files are more than \(Limits.contentsPerOutput); put them into an archive")
    case .tooDeep(let place):
      .badOutput("the path of the output '\(place)' is too long or too deep")
    case .strange(let place):
      .badOutput(
        "the output '\(place)' is neither a file nor a folder: only these are kept, and links to "
          + "files")
    case .machine(let error): .badOutput("an output file: \(error)")
    }
  }
}
