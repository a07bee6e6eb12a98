// What `map` prints and writes: the outputs of jobs, the job log, files of results, the bar.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterOneLiners
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// How far a job's log was read.
struct MapLogPosition {
  var offsets: [Int64] = [0, 0]
  /// A line that has not ended, of each stream.
  var rests: [[UInt8]] = [[], []]
  /// Whether the next byte begins a line.
  var begins = [true, true]
  /// Whether the file of `--results` has been begun.
  var isKept = [false, false]
}

/// For one task at a time.
final class MapOutput {
  private let reader: Reader
  private let settings: MapSettings
  private let console: Console
  private var hosts: [WorkerID: String]
  /// Bytes for stdout that are not written yet.
  private var buffer: [UInt8] = []
  private let log: Int32?
  private let begin = ContinuousClock.now
  private var lastBar: ContinuousClock.Instant?
  private var barIsShown = false

  /// Jobs whose logs are asked for at once.
  static let jobsAtOnce = 64
  private static let bufferBytes = 1 << 20
  /// The longest time to wait for the last output after the end.
  private static let drainTime = Duration.seconds(5)
  private static let streams: [LogStream] = [.standardOutput, .standardError]

  init(
    _ reader: Reader, _ settings: MapSettings, _ cluster: MapCluster, _ console: Console
  ) throws {
    self.reader = reader
    self.settings = settings
    self.console = console
    hosts = cluster.names
    log = try settings.jobLog.map { try Self.openLog($0, keeping: settings.jobLogBytes) }
    if settings.results != nil { try Self.makeFolder(settings.results ?? ".") }
  }

  deinit { if let log { close(log) } }

  // Results

  /// Asks for the ends of jobs.
  func readResults(of places: [MapJobPlace]) async throws {
    var byGraph: [GraphID: [MapJobPlace]] = [:]
    for place in places { byGraph[place.graph.id, default: []].append(place) }
    for (graph, places) in byGraph {
      var selection = Selection.graph(graph)
      selection.operation = "map"
      selection.elements = Self.runs(places)
      let holder = places[0].graph
      try await reader.operations(selection) { rows, _ in
        for row in rows where holder.jobs.indices.contains(Int(row.id.index)) {
          let at = Int(row.id.index)
          holder.jobs[at].result = row.result
          guard let result = row.result, result.startedAt != .unknown else { continue }
          holder.jobs[at].startedAt = result.startedAt
          holder.jobs[at].endedAt = result.endedAt
        }
        return true
      }
    }
  }

  private static func runs(_ places: [MapJobPlace]) -> [IndexRun] {
    var runs: [IndexRun] = []
    for number in places.map({ UInt32(clamping: $0.job.composed.arguments.sequence) }).sorted() {
      if let last = runs.last, last.first &+ last.count == number {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(IndexRun(first: number, count: 1))
      }
    }
    return runs
  }

  // Output

  /// One piece of a log.
  private struct Piece: Sendable {
    var job: Int
    var stream: Int
    var chunk: LogChunk?
  }

  /// Prints the outputs of ended jobs, one after the other.
  func showOutputs(of places: [MapJobPlace]) async throws {
    if log != nil { try await readResults(of: places.filter { $0.job.hasRun }) }
    let shown = places.filter { $0.job.hasRun }
    var firsts = try await firstPieces(shown)
    for (at, place) in shown.enumerated() {
      if settings.showsCommands {
        try flush()
        console.complain(safe(place.job.composed.text))
      }
      for stream in Self.streams.indices {
        try await show(place, stream, &firsts[at][stream])
      }
      try finish(place)
    }
    try flush()
  }

  private func firstPieces(_ places: [MapJobPlace]) async throws -> [[LogChunk?]] {
    let reader = reader
    var pieces: [[LogChunk?]] = places.map { _ in [nil, nil] }
    try await withThrowingTaskGroup(of: Piece.self) { group in
      for (at, place) in places.enumerated() {
        let operation = place.operation
        for stream in Self.streams.indices {
          let offset = place.job.log.offsets[stream]
          group.addTask {
            let chunk = try await Self.piece(reader, operation, stream, offset)
            return Piece(job: at, stream: stream, chunk: chunk)
          }
        }
      }
      for try await piece in group { pieces[piece.job][piece.stream] = piece.chunk }
    }
    return pieces
  }

  /// Its problem says why there is no log.
  private static func piece(
    _ reader: Reader, _ operation: OperationID, _ stream: Int, _ offset: Int64
  ) async throws -> LogChunk? {
    do throws(ClientError) {
      return try await reader.log(
        AttemptSelection(operation: operation), streams[stream], offset: offset)
    } catch {
      guard case .refused(let refusal) = error.kind,
        [.noSuchLog, .workerUnavailable].contains(refusal.code)
      else { throw error }
      return LogChunk(
        number: 0, offset: UInt64(clamping: offset), bytes: [], size: 0, isComplete: false,
        problem: refusal.message)
    }
  }

  /// Prints the rest of one stream.
  private func show(
    _ place: MapJobPlace, _ stream: Int, _ chunk: inout LogChunk?
  ) async throws {
    var deadline: ContinuousClock.Instant?
    let hasLog = place.job.result?.cause != .cannotStart
    while let piece = chunk {
      if piece.problem.isEmpty { try take(piece, place, stream) }
      let isAll = place.job.log.offsets[stream] >= Int64(clamping: piece.size)
      if isAll, piece.isComplete, piece.problem.isEmpty { break }
      if piece.bytes.isEmpty || isAll {
        // What ended a moment ago may not be noted yet. A worker that is gone with its log must not
        // keep us.
        let end = deadline ?? ContinuousClock.now + Self.drainTime
        deadline = end
        guard hasLog, ContinuousClock.now < end else {
          if hasLog, !piece.problem.isEmpty { tellMissing(piece.problem, place, stream) }
          break
        }
        try await Task.sleep(for: .milliseconds(10))
      }
      chunk = try await Self.piece(
        reader, place.operation, stream, place.job.log.offsets[stream])
    }
    // A last line without its end.
    let rest = place.job.log.rests[stream]
    place.graph.jobs[place.at].log.rests[stream] = []
    try write(rest, place, stream)
  }

  private func tellMissing(_ problem: String, _ place: MapJobPlace, _ stream: Int) {
    let number = place.job.composed.arguments.sequence
    console.complain("the \(Self.names[stream]) of job \(number) is not there: \(safe(problem))")
  }

  private func take(_ piece: LogChunk, _ place: MapJobPlace, _ stream: Int) throws {
    place.graph.jobs[place.at].log.offsets[stream] =
      Int64(clamping: piece.offset).saturatingAdd(Int64(piece.bytes.count))
    guard !piece.bytes.isEmpty else { return }
    try keep(piece.bytes, of: place, stream)
    guard settings.printing == .byLine else { return try write(piece.bytes, place, stream) }
    var bytes = place.job.log.rests[stream] + piece.bytes
    let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // A line without an end is not kept for ever.
    let taken = end == 0 && bytes.count > Self.bufferBytes ? bytes.count : end
    try write(Array(bytes[..<taken]), place, stream)
    bytes.removeSubrange(..<taken)
    place.graph.jobs[place.at].log.rests[stream] = bytes
  }

  /// Prints what running jobs have written.
  func showRunning(_ places: [MapJobPlace]) async throws {
    for start in stride(from: 0, to: places.count, by: Self.jobsAtOnce) {
      let some = Array(places[start..<min(start + Self.jobsAtOnce, places.count)])
      let pieces = try await firstPieces(some)
      for (at, place) in some.enumerated() {
        for stream in Self.streams.indices {
          if let piece = pieces[at][stream], piece.problem.isEmpty {
            try take(piece, place, stream)
          }
        }
      }
    }
    try flush()
  }

  /// Writes bytes of a job, with its tag before each line.
  private func write(_ bytes: [UInt8], _ place: MapJobPlace, _ stream: Int) throws {
    guard !bytes.isEmpty else { return }
    var text = bytes
    if let tag = settings.tag {
      let label =
        Array(settings.composer.label(tag, place.job.composed.arguments).utf8) + [0x09]
      var begins = place.job.log.begins[stream]
      text = []
      for byte in bytes {
        if begins { text += label }
        text.append(byte)
        // As parallel: a line that a bar begins anew is one, too.
        begins = byte == 0x0a || byte == 0x0d
      }
      place.graph.jobs[place.at].log.begins[stream] = begins
    }
    if stream == 0 {
      buffer += text
      if buffer.count > Self.bufferBytes { try flush() }
    } else {
      // In the order in which a terminal would have shown them.
      try flush()
      hideBar()
      console.say(bytes: text)
    }
  }

  private func flush() throws {
    guard !buffer.isEmpty else { return }
    if console.outputIsTerminal { hideBar() }
    try console.write(bytes: buffer)
    buffer = []
  }

  // Ends

  private static let names = ["stdout", "stderr"]

  private func finish(_ place: MapJobPlace) throws {
    let job = place.job
    if job.outcome != .succeeded, let result = job.result, result.cause == .cannotStart,
      !result.diagnostic.isEmpty
    {
      try flush()
      console.complain(safe(result.diagnostic))
    }
    if job.outcome == .timedOut {
      try flush()
      console.complain("the time of this job was up: \(safe(job.composed.text))")
    } else if job.outcome == .lost {
      try flush()
      console.complain("the workers that ran this job were lost: \(safe(job.composed.text))")
    }
    if settings.results != nil {
      for stream in Self.streams.indices { try keep([], of: place, stream) }
      let number = Array(String(job.composed.arguments.sequence).utf8)
      try Self.write(number, to: folder(of: place) + "/seq", isNew: true)
    }
    try logEnd(of: job)
  }

  private func logEnd(of job: MapJob) throws {
    guard let log else { return }
    let result = job.result ?? .success
    let isKilled = job.outcome == .timedOut || job.outcome == .lost
    let run = job.endedAt.milliseconds.subtractingReportingOverflow(job.startedAt.milliseconds)
    var exit = result.signal == 0 ? job.status : 0
    if isKilled { exit = -1 }
    let entry = JobLogEntry(
      sequence: job.composed.arguments.sequence,
      host: job.worker.flatMap { hosts[$0] } ?? ":",
      startMilliseconds: job.startedAt.milliseconds, runMilliseconds: max(0, run.partialValue),
      received: job.log.offsets[0], exitValue: exit,
      signal: isKilled ? SIGTERM : result.signal, command: job.composed.text)
    try Self.append(Array(entry.line.utf8), to: log, settings.jobLog ?? "")
  }

  // Files

  private static func failure(_ doing: String, _ path: String, _ error: ErrorNumber) -> Failure {
    Failure(
      .inputOutput, code: "cannot_write", "cannot \(doing) '\(safe(path))': \(error.text)")
  }

  private static func openLog(_ path: String, keeping bytes: Int) throws -> Int32 {
    let log: Descriptor
    do throws(ErrorNumber) {
      log = try .opened(path, O_WRONLY | O_CREAT | O_APPEND, mode: 0o666)
    } catch {
      throw failure("write", path, error)
    }
    // A line that a crash has cut off goes; without --resume everything.
    if log.isRegularFile, ftruncate(log.number, bytes) != 0 {
      throw failure("shorten", path, ErrorNumber(errno))
    }
    if bytes == 0 { try append(Array(JobLogEntry.header.utf8), to: log.number, path) }
    return log.number
  }

  private static func append(_ bytes: [UInt8], to number: Int32, _ path: String) throws {
    guard case .failed(let code) = Descriptor(number: number).write(bytes) else { return }
    throw Failure(
      .inputOutput, code: "cannot_write",
      "cannot write '\(safe(path))': \(ErrorNumber(code).text)")
  }

  /// Where `--results` keeps what a job leaves.
  private func folder(of place: MapJobPlace) -> String {
    (settings.results ?? ".") + "/"
      + ResultFolder.path(place.job.composed.arguments, names: settings.names)
  }

  /// Keeps a piece of a stream in the job's file, which the first one makes anew.
  private func keep(_ bytes: [UInt8], of place: MapJobPlace, _ stream: Int) throws {
    guard settings.results != nil else { return }
    let isNew = !place.job.log.isKept[stream]
    guard isNew || !bytes.isEmpty else { return }
    let folder = folder(of: place)
    if isNew { try Self.makeFolder(folder) }
    try Self.write(bytes, to: folder + "/" + Self.names[stream], isNew: isNew)
    place.graph.jobs[place.at].log.isKept[stream] = true
  }

  private static func write(_ bytes: [UInt8], to path: String, isNew: Bool) throws {
    let flags = O_WRONLY | O_CREAT | (isNew ? O_TRUNC : O_APPEND)
    let file: Descriptor
    do throws(ErrorNumber) {
      file = try .opened(path, flags, mode: 0o666)
    } catch {
      throw failure("write", path, error)
    }
    defer { close(file.number) }
    try append(bytes, to: file.number, path)
  }

  /// Makes a folder and those above it.
  private static func makeFolder(_ path: String) throws {
    do throws(ErrorNumber) {
      try Descriptor.makeFolders(path)
    } catch {
      throw failure("make the folder", path, error)
    }
  }

  // Progress

  /// Repaints one line on a terminal, at most ten times a second.
  func showBar(done: Int, total: Int, isTotal: Bool, failed: Int) {
    guard console.errorIsTerminal, !console.isQuiet else { return }
    let now = ContinuousClock.now
    if let lastBar, now - lastBar < .milliseconds(100) { return }
    lastBar = now
    barIsShown = true
    let text = MapBar.progressLine(
      done: done, total: total, isTotal: isTotal, failed: failed, elapsed: now - begin,
      width: console.errorStyle.width ?? 80)
    console.say(bytes: Array(("\r\u{1b}[K" + text).utf8))
  }

  private func hideBar() {
    guard barIsShown else { return }
    barIsShown = false
    lastBar = nil
    console.say(bytes: Array("\r\u{1b}[K".utf8))
  }

  func endBar() { hideBar() }
}

/// The line of `--bar`.
enum MapBar {
  /// - Parameter isTotal: Whether all of the input was read.
  static func progressLine(
    done: Int, total: Int, isTotal: Bool, failed: Int, elapsed: Duration, width: Int
  ) -> String {
    var text = "\(done) of \(total)\(isTotal ? "" : "+")"
    if failed > 0 { text += ", \(failed) failed" }
    let seconds = elapsed.components.seconds
    if isTotal, done > 0, done < total {
      let left = seconds.multipliedReportingOverflow(by: Int64(total - done)).partialValue
      text += ", \(left / Int64(done)) s left"
    } else {
      text += ", \(seconds) s"
    }
    let room = min(40, width - text.utf8.count - 4)
    guard room >= 10, total > 0 else { return String(text.prefix(max(0, width - 1))) }
    let filled = room * done / total
    return "[" + String(repeating: "#", count: filled)
      + String(repeating: ".", count: room - filled) + "] " + text
  }
}
