// The submitter's files of a graph: found before anything is sent, read and left with workers
// before the submission that names them.

import OpClusterClient
import OpClusterFolders
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterStore
import OpClusterSystem
import OpClusterWire
import Synchronization

/// The files that operations of one graph read. Empty for most graphs.
struct OwnFiles: Sendable {
  /// Of one operation: its files, for all elements or for each.
  private struct Found: Sendable {
    var wishes: OwnFileWishes
    var lists: [[FoundFile]]
  }

  private var found: [Found] = []
  var isEmpty: Bool { found.isEmpty }

  /// Looks for the files; reads none of them. Costs the names in the folders on the way.
  init(_ wishes: [OwnFileWishes], of submission: GraphSubmission) throws(Failure) {
    // Many operations read the same.
    var known: [OwnFileWishes.Wish: [FoundFile]] = [:]
    for wish in wishes {
      var lists: [[FoundFile]] = []
      for list in wish.lists {
        var files: [FoundFile] = []
        for one in list {
          if known[one] == nil {
            known[one] = try Self.search(one, of: wish.operation)
          }
          files += known[one] ?? []
        }
        lists.append(
          try Self.checked(files, of: wish.operation, submission.templates[wish.template]))
      }
      found.append(Found(wishes: wish, lists: lists))
    }
  }

  private static func search(
    _ wish: OwnFileWishes.Wish, of operation: String
  ) throws(Failure) -> [FoundFile] {
    let folder = wish.folder
    var search = FileSearch(atMost: Limits.contentsPerOutput)
    do throws(FileSearchError) {
      try search.find(wish.name ?? "", wish.path, in: folder)
    } catch {
      throw failure(
        "operation '\(safe(operation))' reads \(safe(wish.path)): \(reason(error))",
        "paths begin in the manifest's folder; those of --upload where you are")
    }
    if wish.name != nil { return search.found }
    var files: [FoundFile] = []
    for var file in search.found {
      let start = folder.hasSuffix("/") ? folder : folder + "/"
      var path = file.place.hasPrefix(start) ? String(file.place.dropFirst(start.count)) : ""
      if path.hasPrefix("./") { path.removeFirst(2) }
      let parts = path.split(separator: "/", maxSplits: 1).map(String.init)
      guard RelativePath.isValid(path), let first = parts.first else {
        throw failure(
          "\(safe(wish.path)) is not below \(safe(folder)), so that it has no path there",
          "give it a name: inputs: {NAME: \(safe(wish.path))}")
      }
      (file.name, file.path) = (first, parts.count > 1 ? parts[1] : "")
      files.append(file)
    }
    return files
  }

  /// Each file once; refuses two in one place, and a file where another has a folder.
  private static func checked(
    _ all: [FoundFile], of operation: String, _ template: OperationTemplate
  ) throws(Failure) -> [FoundFile] {
    var places: [String: String] = [:]
    // What comes from dependencies has a folder of its own there.
    var folders: [String: String] = [:]
    for file in template.inputFiles { folders[file.folder] = "what '\(safe(file.folder))' left" }
    var files: [FoundFile] = []
    for file in all {
      let path = file.path.isEmpty ? file.name : "\(file.name)/\(file.path)"
      let other = places.updateValue(file.place, forKey: path)
      if let other, other == file.place { continue }
      if let other { throw collision(operation, safe(other), file) }
      var parent = path
      while let slash = parent.lastIndex(of: "/") {
        parent = String(parent[..<slash])
        folders[parent] = folders[parent] ?? safe(file.place)
      }
      files.append(file)
    }
    for file in files {
      let path = file.path.isEmpty ? file.name : "\(file.name)/\(file.path)"
      if let other = folders[path] { throw collision(operation, other, file) }
      if template.inputFiles.contains(where: { $0.folder == file.name }) {
        throw collision(operation, "what '\(safe(file.name))' left", file)
      }
    }
    if files.count > Limits.contentsPerOutput {
      throw failure(
        "operation '\(safe(operation))' reads more than \(Limits.contentsPerOutput) files",
        "put them into an archive")
    }
    return files
  }

  private static func collision(
    _ operation: String, _ other: String, _ file: FoundFile
  ) -> Failure {
    failure(
      "operation '\(safe(operation))' reads both \(other) and \(safe(file.place)) as "
        + "\(safe(file.name))", "give one of them another name")
  }

  private static func reason(_ error: FileSearchError) -> String {
    switch error {
    case .missing(let place): "there is no \(safe(place))"
    case .nothing(let place): "nothing is at \(safe(place))"
    case .tooMany: "it is more than \(Limits.contentsPerOutput) files; put them into an archive"
    case .tooDeep(let place): "the path of \(safe(place)) is too long or too deep"
    case .strange(let place): "\(safe(place)) is neither a file nor a folder"
    case .machine(let error): safe(error.description)
    }
  }

  private static func failure(_ message: String, _ hint: String) -> Failure {
    Failure(.badInput, code: "bad_manifest", message, hint: hint)
  }

  // MARK: - Sending

  /// Reads the files, leaves them with workers, and names them in the submission. Ctrl-C and the
  /// time limit end it.
  ///
  /// - Returns: The status with which the command ends, since nothing is to be submitted; nil: all
  ///   are there.
  func leave(
    for submission: inout GraphSubmission, _ connection: ClusterConnection,
    timeout: Duration? = nil, _ console: Console
  ) async throws -> ExitStatus? {
    if isEmpty { return nil }
    let files = ReadFiles()
    let end = try await follow(console, timeout: timeout) {
      try await read(into: files, console)
      try await send(files.contents, connection, console)
    }
    switch end {
    case .finished: break
    case .interrupted:
      console.say("nothing was submitted; submitting it again goes on where this was")
      return .interrupted
    case .timedOut:
      console.say("the time is up, and nothing was submitted")
      return .timedOut
    }
    try name(files, in: &submission)
    return nil
  }

  /// Reads the files and names them in the submission, without leaving them anywhere.
  func name(in submission: inout GraphSubmission, _ console: Console) async throws {
    if isEmpty { return }
    let files = ReadFiles()
    try await read(into: files, console)
    try name(files, in: &submission)
  }

  private func name(
    _ files: ReadFiles, in submission: inout GraphSubmission
  ) throws(Failure) {
    let known = files.byPlace
    for one in found { try name(one, known, in: &submission) }
  }

  private func send(
    _ contents: [LocalFile], _ connection: ClusterConnection, _ console: Console
  ) async throws {
    let bytes = contents.reduce(Int64(0)) { $0 + $1.content.size }
    let painter = UploadPainter("leaving files with the workers", bytes: bytes, console)
    let start = ContinuousClock.now
    try await painter.following {
      try await connection.upload(
        contents, sent: { painter.add($0) }, waits: { painter.wait() })
    }
    let seconds = (ContinuousClock.now - start).components.seconds
    console.say(
      "\(shownCount(contents.count, "file")), \(shownSize(bytes)), "
        + (seconds < 1 ? "are with the workers" : "are with the workers after \(seconds) s"))
  }

  /// Each file once; between two steps others have a turn.
  private func read(into files: ReadFiles, _ console: Console) async throws {
    let painter = UploadPainter("reading files", bytes: nil, console)
    try await painter.following {
      for file in found.flatMap(\.lists).joined() where !files.has(file.place) {
        do throws(StoreError) {
          var reading = try FileReading(at: file.place)
          while true {
            let count = try reading.step()
            if count == 0 || Task.isCancelled { break }
            painter.add(Int64(count))
            await Task.yield()
          }
          if !Task.isCancelled { files.note(reading.file()) }
        } catch {
          throw Failure(
            .inputOutput, code: "cannot_read", "cannot read \(safe(file.place)): \(error)")
        }
        try Task.checkCancellation()
      }
    }
  }

  private func name(
    _ one: Found, _ files: [String: LocalFile], in submission: inout GraphSubmission
  ) throws(Failure) {
    var own = ElementArguments()
    for list in one.lists {
      var output = OperationOutput()
      output.files = list.compactMap { file in
        files[file.place].map {
          StoredFile(
            name: file.name, path: file.path, isExecutable: file.isExecutable,
            content: $0.content)
        }
      }
      let bytes = Wire.encode(output: output)
      if bytes.count > Limits.ownFilesBytes {
        throw Self.failure(
          "the names of the files of '\(safe(one.wishes.operation))' are too long together",
          "put them into an archive")
      }
      own.append(bytes)
    }
    var names: Set<String> = []
    for file in one.lists.joined() { names.insert(file.name) }
    submission.templates[one.wishes.template].ownFiles = own
    submission.templates[one.wishes.template].inputFiles += names.sorted().map { .own($0) }
  }
}

/// The files as they were read, by their places.
private final class ReadFiles: Sendable {
  private let files = Mutex<[String: LocalFile]>([:])

  func note(_ file: LocalFile) { files.withLock { $0[file.path] = file } }
  func has(_ place: String) -> Bool { files.withLock { $0[place] != nil } }
  var byPlace: [String: LocalFile] { files.withLock { $0 } }

  /// One for each content.
  var contents: [LocalFile] {
    var found: [ContentDigest: LocalFile] = [:]
    for (_, file) in byPlace.sorted(by: { $0.key < $1.key }) { found[file.content.digest] = file }
    return found.values.sorted { $0.path < $1.path }
  }
}
