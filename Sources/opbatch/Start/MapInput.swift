// Reads the arguments of `map`: files, standard input, values. Blocks on a thread of its own, since
// an input may be silent for hours, and hands over what has come.

import Glibc
import OpClusterModel
import OpClusterOneLiners
import OpClusterSystem
import Synchronization

/// The arguments of one command. Asked by one task at a time.
final class MapInput: Sendable {
  /// What has come.
  struct Chunk: Sendable {
    var jobs: [JobArguments] = []
    var isEnd = false
    /// Why nothing follows.
    var problem: InputProblem?
  }
  private struct State {
    var rows: ArgumentRows
    var files: [RecordFile]
    var batches = JobBatches(.rows(1))
    var chunk = Chunk()
  }
  private let state: Mutex<State>
  let names: [String]

  /// Opens the sources, and reads those that have to be kept.
  static func openSources(
    _ sources: [InputSource], rows settings: RowSettings, delimiter: UInt8
  ) async throws -> MapInput {
    try await onThread { () throws(InputProblem) in
      try MapInput(sources, settings, delimiter)
    }.get()
  }

  private init(
    _ sources: [InputSource], _ settings: RowSettings, _ delimiter: UInt8
  ) throws(InputProblem) {
    var files: [RecordFile] = []
    var readers: [(read: RecordReader, isLinked: Bool)] = []
    for source in sources {
      switch source.origin {
      case .values(let values):
        var rest = values[...]
        readers.append((read: { rest.popFirst() }, isLinked: source.isLinked))
      case .file(let path):
        let file = try RecordFile(path, delimiter)
        files.append(file)
        readers.append(
          (
            read: { () throws(InputProblem) in try file.next() }, isLinked: source.isLinked
          ))
      }
    }
    let rows = try ArgumentRows(readers, settings)
    names = rows.names
    state = Mutex(State(rows: rows, files: files))
  }

  /// - Parameter sequence: The number of the job before the first.
  func beginRows(_ size: JobBatches.Size, cost: RowCost, after sequence: Int = 0) {
    state.withLock { $0.batches = JobBatches(size, cost: cost, after: sequence) }
  }

  /// Waits for the first job, then takes what is there without a wait.
  func nextChunk(atMost most: Int) async -> Chunk {
    await Self.onThread { self.read(most) }
  }

  private func read(_ most: Int) -> Chunk {
    state.withLock { state in
      var chunk = Chunk()
      var bytes = 0
      do throws(InputProblem) {
        while chunk.jobs.count < most, bytes < Limits.oneLinerBytesPerGraph {
          if !chunk.jobs.isEmpty, !state.files.allSatisfy(\.isReady) { break }
          guard let row = try state.rows.next() else {
            chunk.jobs += state.batches.finish()
            chunk.isEnd = true
            break
          }
          for value in row { bytes += value.utf8.count }
          if let job = state.batches.take(row) { chunk.jobs.append(job) }
        }
      } catch {
        chunk.problem = error
        chunk.isEnd = true
      }
      return chunk
    }
  }

  /// Runs a blocking body on a new thread.
  private static func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () -> Value
  ) async -> Value {
    await withCheckedContinuation { continuation in
      do {
        _ = try startThread(name: "arguments", takesSignals: false) {
          continuation.resume(returning: body())
        }
      } catch {
        // A machine without room for a thread: block here.
        continuation.resume(returning: body())
      }
    }
  }

  private static func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws(InputProblem) -> Value
  ) async -> Result<Value, InputProblem> {
    await onThread { Result { () throws(InputProblem) in try body() } }
  }
}

/// The records of a file, or of standard input.
final class RecordFile {
  private let descriptor: Descriptor
  private let name: String
  private var splitter: RecordSplitter
  private var hasEnded = false
  /// Read and not yet asked for, or why nothing follows.
  private var ahead: Result<String?, InputProblem> = .success(nil)

  private static let pieceBytes = 256 * 1024

  init(_ path: String, _ delimiter: UInt8) throws(InputProblem) {
    splitter = RecordSplitter(delimiter: delimiter, limit: Limits.elementArgumentBytes)
    name = path == "-" ? "standard input" : "'\(path)'"
    if path == "-" {
      descriptor = .input
      return
    }
    do throws(ErrorNumber) {
      descriptor = try .opened(path, O_RDONLY)
    } catch {
      throw InputProblem("cannot read \(name): \(error.text)")
    }
  }

  deinit { if descriptor.number > 2 { close(descriptor.number) } }

  /// Whether `next` returns without a wait for a writer.
  var isReady: Bool {
    if hasEnded { return true }
    if case .success(nil) = ahead { return descriptor.waitUntilReadable(milliseconds: 0) }
    return true
  }

  func next() throws(InputProblem) -> String? {
    let waiting = ahead
    ahead = .success(nil)
    if let record = try waiting.get() {
      lookAhead()
      return record
    }
    while true {
      if let record = try splitter.next() {
        lookAhead()
        return record
      }
      if hasEnded { return nil }
      do throws(ErrorNumber) {
        let bytes = try FileDescriptor(descriptor.number).readOnce(limit: Self.pieceBytes)
        hasEnded = bytes.isEmpty
        splitter.take(bytes, isEnd: hasEnded)
      } catch {
        throw InputProblem("cannot read \(name): \(error.text)")
      }
    }
  }

  private func lookAhead() {
    ahead = Result { () throws(InputProblem) in try splitter.next() }
  }
}
