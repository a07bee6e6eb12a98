// The worker's store as attempts use it: values that are too large for a message and files that
// commands leave go in, and come out as files. What it does to the disk is the worker's.

import Glibc
import OpClusterFolders
package import OpClusterModel
package import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterWire
import Synchronization

/// Any thread. Its closures block.
package final class AttemptStore: Sendable {
  /// Keeps bytes.
  private let keepBytes: @Sendable ([UInt8]) throws -> StoredContent
  /// Keeps the bytes of an open file.
  private let keepFile: @Sendable (Int32) throws -> StoredContent
  /// Makes a content readable at a path where nothing is; the last argument: and executable.
  private let link: @Sendable (ContentDigest, String, Bool) throws -> Void
  /// Lets go what was kept and nobody has heard of.
  private let drop: @Sendable ([StoredContent]) -> Void
  /// Keeps what operations in this process leave: their threads must not wait for a disk.
  private let threads = WorkThreads<@Sendable () -> Void>(
    named: "keeper", atMost: Limits.outputThreads
  ) { $0() }
  /// Whether the coordinator tells others where contents are.
  private let isTold = Atomic<Bool>(false)

  package init(
    keepBytes: @escaping @Sendable ([UInt8]) throws -> StoredContent,
    keepFile: @escaping @Sendable (Int32) throws -> StoredContent,
    link: @escaping @Sendable (ContentDigest, String, Bool) throws -> Void,
    drop: @escaping @Sendable ([StoredContent]) -> Void = { _ in }
  ) {
    self.keepBytes = keepBytes
    self.keepFile = keepFile
    self.link = link
    self.drop = drop
  }

  package func mark(told isTold: Bool) { self.isTold.store(isTold, ordering: .relaxed) }
  package var mayKeep: Bool { isTold.load(ordering: .relaxed) }

  /// The result with a large value in the store, and what was kept.
  func fitting(_ result: AttemptResult) -> (AttemptResult, [StoredContent]) {
    guard mayKeep else { return result.fittingMessages(keep: nil) }
    return result.fittingMessages(keep: keepBytes)
  }

  /// Does what may take as long as the disk does.
  func later(_ work: @escaping @Sendable () -> Void) { threads.add(work) }

  /// Takes the files of an operation in this process.
  package var files: OperationFileStore {
    OperationFileStore { [self] path in
      guard mayKeep else { throw NoPlace() }
      return try await withCheckedThrowingContinuation { kept in
        later { [self] in kept.resume(with: Result { try keep(path) }) }
      }
    }
  }

  private func keep(_ path: String) throws -> OperationFileStore.Kept {
    guard case .file(let isExecutable)? = FileKind(ofTarget: path) else { throw NoFile(path) }
    return OperationFileStore.Kept(
      content: try FileTree.reading(path, followsLinks: true, keepFile),
      isExecutable: isExecutable)
  }

  /// Lets go what was kept for a result that does not name it.
  func forget(_ kept: [StoredContent], notIn results: [AttemptResult]) {
    if kept.isEmpty { return }
    let named = Set(results.flatMap { OperationOutput.contents(of: $0.output) })
    drop(kept.filter { !named.contains($0) })
  }

  /// The result of a child that left a large value in a file, and files beside it. Both are
  /// removed.
  func fitting(
    _ result: AttemptResult, leaving value: LeftValue
  ) -> (AttemptResult, [StoredContent]) {
    let folder = ChildWords.filesFolder(of: value.path)
    defer {
      Folders.removeFile(value.path)
      Folders.removeTree(folder)
    }
    return result.namingKept {
      try value.reading(value.path, keepFile)
    } file: { position in
      try value.reading("\(folder)/\(position)", keepFile)
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
        var linked: Set<ContentDigest> = []
        for input in job.inputs {
          let contents = input.valueContents(needs)
          if contents.isEmpty { continue }
          let programs = Self.executables(of: input)
          for content in contents where linked.insert(content.digest).inserted {
            if isWithdrawn() { return }
            try link(
              content.digest, "\(folder)/\(content.digest)", programs.contains(content.digest))
          }
        }
      }
      if needs.files.isEmpty { return }
      let root = Self.filesFolder(in: folder)
      try Folders.makeReadable(root)
      for (file, path) in try job.announcement.inputFiles.found(in: job.inputs) {
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

  private static func executables(of input: DependencyInput) -> Set<ContentDigest> {
    guard let bytes = input.output, let output = try? Wire.decodeOutput(bytes) else { return [] }
    return Set(output.files.lazy.filter(\.isExecutable).map(\.content.digest))
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

/// A value that a child has left in a file, with other files beside it.
struct LeftValue: Sendable {
  var path: String
  /// Whose child it was; nil: the worker's.
  var account: LocalAccount?

  /// Opens a file with the rights of the child: a folder of it may be a link to another one by now.
  func reading(
    _ path: String, _ keep: (Int32) throws -> StoredContent
  ) throws -> StoredContent {
    let opened = try withRights(of: account) {
      () throws(SpawnError) -> Result<Int32, SystemError> in
      do throws(SystemError) {
        return .success(try FileTree.descriptor(path, followsLinks: false))
      } catch {
        return .failure(error)
      }
    }
    let descriptor = try opened.get()
    defer { close(descriptor) }
    return try keep(descriptor)
  }
}

/// What a part has left on the disk.
enum LeftFiles: Sendable {
  case value(LeftValue)
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
        case .value(let value): store.fitting(work.result, leaving: value)
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
