// The worker's store as attempts use it: values that are too large for a message and files that
// commands leave go in, and come out as files. What it does to the disk is the worker's.

import Glibc
import OpClusterFolders
package import OpClusterModel
package import OpClusterOperations
import OpClusterSystem
import Synchronization

/// Any thread. Its closures block.
package final class AttemptStore: Sendable {
  /// Keeps bytes.
  private let keepBytes: @Sendable ([UInt8]) throws -> StoredContent
  /// Keeps the bytes of an open file.
  private let keepFile: @Sendable (Int32) throws -> StoredContent
  /// Makes a content readable at a path where nothing is; the last argument: and executable.
  private let link: @Sendable (ContentDigest, String, Bool) throws -> Void
  /// Whether the coordinator tells others where contents are.
  private let isTold = Atomic<Bool>(false)

  package init(
    keepBytes: @escaping @Sendable ([UInt8]) throws -> StoredContent,
    keepFile: @escaping @Sendable (Int32) throws -> StoredContent,
    link: @escaping @Sendable (ContentDigest, String, Bool) throws -> Void
  ) {
    self.keepBytes = keepBytes
    self.keepFile = keepFile
    self.link = link
  }

  package func mark(told isTold: Bool) { self.isTold.store(isTold, ordering: .relaxed) }
  package var mayKeep: Bool { isTold.load(ordering: .relaxed) }

  /// The result with a large value in the store, and what was kept.
  func fitting(_ result: AttemptResult) -> (AttemptResult, [StoredContent]) {
    guard mayKeep else { return result.fittingMessages(keep: nil) }
    return result.fittingMessages(keep: keepBytes)
  }

  /// Takes the files of an operation in this process.
  package var files: OperationFileStore {
    OperationFileStore { [self] path in
      guard mayKeep else { throw NoPlace() }
      guard case .file(let isExecutable)? = FileKind(ofTarget: path) else { throw NoFile(path) }
      return OperationFileStore.Kept(
        content: try FileTree.reading(path, followsLinks: true, keepFile),
        isExecutable: isExecutable)
    }
  }

  /// The result of a child that left a large value in a file, and files beside it. Both are removed.
  func fitting(
    _ result: AttemptResult, valueAt path: String
  ) -> (AttemptResult, [StoredContent]) {
    let folder = ChildWords.filesFolder(of: path)
    defer {
      Folders.removeFile(path)
      Folders.removeTree(folder)
    }
    return result.namingKept {
      try FileTree.reading(path, followsLinks: false, keepFile)
    } file: { position in
      try FileTree.reading("\(folder)/\(position)", followsLinks: false, keepFile)
    }
  }

  /// The result of a command with the files that it has left, and what was kept of them, also if it
  /// came to nothing.
  func fitting(
    _ result: AttemptResult, leaving promise: OutputFilePromise
  ) -> (AttemptResult, [StoredContent]) {
    var files: [StoredFile] = []
    do throws(AttemptProblem) {
      for found in try promise.find() {
        let descriptor = try promise.open(found)
        defer { close(descriptor) }
        do {
          files.append(
            StoredFile(
              name: found.name, path: found.path, isExecutable: found.isExecutable,
              content: try keepFile(descriptor)))
        } catch {
          throw AttemptProblem(
            cause: error is StoreIsFull ? .storeFull : .badOutput,
            message: "the output file '\(found.place)' was not kept: \(error)")
        }
      }
      var fitting = result
      fitting.output = try OutputValues.adding(files, to: result.output)
      return (fitting, files.map(\.content))
    } catch {
      var failed = error.result
      failed.startedAt = result.startedAt
      failed.endedAt = result.endedAt
      failed.exitStatus = result.exitStatus
      failed.maximumResidentBytes = result.maximumResidentBytes
      failed.processorMicroseconds = result.processorMicroseconds
      return (failed, files.map(\.content))
    }
  }

  // MARK: - Inputs

  /// Makes what an attempt reads readable in a folder: values under their digests, files where the
  /// operation looks for them.
  ///
  /// Blocks for as long as the disk takes.
  ///
  /// - Parameter isWithdrawn: Whether nobody wants it any more: then it ends early.
  func layOut(
    _ job: Job, in folder: String, isWithdrawn: () -> Bool
  ) throws(AttemptProblem) {
    do {
      try Folders.makeEmpty(folder)
      // Operations of other accounts read them, and change nothing.
      try Folders.letPass(folder)
      let needs = job.announcement.contentNeeds
      if needs.values {
        for content in job.inputs.contents(ContentNeeds(values: true)) {
          if isWithdrawn() { return }
          try link(content.digest, "\(folder)/\(content.digest)", false)
        }
      }
      if needs.files.isEmpty { return }
      let root = Self.filesFolder(in: folder)
      try Folders.makeReadable(root)
      for (file, path) in try job.inputFiles() {
        if isWithdrawn() { return }
        try Folders.makeReadableParents(of: path, in: root)
        try link(file.content.digest, "\(root)/\(path)", file.isExecutable)
      }
    } catch let error as MissingInput {
      Folders.removeTree(folder)
      throw AttemptProblem(cause: .missingInput, message: error.description)
    } catch {
      Folders.removeTree(folder)
      throw AttemptProblem(cause: .cannotStart, message: "an input is not readable here: \(error)")
    }
  }

  /// `OP_INPUTS` of an attempt with this folder.
  static func filesFolder(in folder: String) -> String { "\(folder)/files" }
}

/// Why a file of an operation was not kept.
private struct NoFile: Error, CustomStringConvertible {
  let description: String
  init(_ path: String) {
    description =
      FileKind(ofTarget: path) == nil
      ? "there is no file \(path)" : "\(path) is no plain file; put a folder into an archive"
  }
}

private struct NoPlace: Error, CustomStringConvertible {
  let description =
    "the coordinator does not hear of this store; leave the path of a file that its readers can see"
}

/// What a part has left on the disk.
enum LeftFiles: Sendable {
  /// A child: its value, at this path.
  case value(String)
  /// A command: the files that it promised.
  case files(OutputFilePromise)
}

/// Keeps what parts have left, on a thread of its own: files of any size have to be read.
final class FileKeeper: Sendable {
  private struct Work: Sendable {
    var part: Part
    var result: AttemptResult
    var left: LeftFiles
  }

  private let threads: WorkThreads<Work>

  /// - Parameter ends: The ends of parts, as those of tasks.
  init(_ store: AttemptStore, ends: Mailbox<TaskNews>) {
    threads = WorkThreads(named: "keeper", atMost: Limits.outputThreads) { work in
      let (result, kept) =
        switch work.left {
        case .value(let path): store.fitting(work.result, valueAt: path)
        case .files(let promise): store.fitting(work.result, leaving: promise)
        }
      _ = ends.post(.ended(work.part, result, kept))
    }
  }

  /// Keeps what a part has left; its end follows.
  func keep(_ part: Part, _ result: AttemptResult, _ left: LeftFiles) {
    threads.add(Work(part: part, result: result, left: left))
  }
}
