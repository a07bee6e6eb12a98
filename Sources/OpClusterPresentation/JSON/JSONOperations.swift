// Writes operations and their explanations in the JSON contract.
// The flags are those of Apple's Operation; `state` is the one word for people.

public import OpClusterModel

extension JSONText {
  /// Writes the fields of one operation; `blocks` are the results of a block operation, `files`
  /// what it has left in stores.
  /// Absent fields are unknown or do not apply: an operation that has not ended has no outcome.
  public mutating func fields(
    of row: OperationRow, blocks: [ShownBlock] = [], files: [StoredFile] = []
  ) {
    field("id", OperationPath(row).description)
    field("name", row.name)
    field("graph", row.id.graph.number)
    field("index", row.index)
    field("state", row.state.rawValue)
    field("is_ready", row.isReady)
    field("is_executing", row.isExecuting)
    field("is_finished", row.isFinished)
    field("is_cancelled", row.isCancelled)
    field("outcome", row.outcome?.word)
    reason(of: row)
    field("queue", row.queue)
    field("priority", row.priority.word)
    field("qos", row.qos.word)
    field("worker", row.workerName.isEmpty ? nil : row.workerName)
    if row.attempt > 0 { field("attempt", row.attempt) }
    if let result = row.result { status(of: result) }
    needs(row.needs)
    if !row.blockedBy.isEmpty {
      array("blocked_by") { json in
        for id in row.blockedBy { json.value(row.shown(id)) }
      }
    }
    if let progress = row.progress {
      object("progress") { json in
        json.field("fraction", progress.fraction)
        json.field("text", progress.text.isEmpty ? nil : progress.text)
      }
    }
    if !blocks.isEmpty {
      blockResults(blocks)
    } else if let output = row.result?.output, !output.isEmpty {
      self.output("output", output)
    }
    if !files.isEmpty {
      array("files") { json in
        for file in files { json.object { $0.fields(of: file) } }
      }
    }
    field("submitted_at", row.submittedAt)
    if let moment = row.notBefore { field("not_before", moment) }
    field("ready_at", row.readyAt)
    field("started_at", row.startedAt)
    field("finished_at", row.finishedAt)
    if let waited = row.waited { field("waited_seconds", waited.seconds) }
    if let result = row.result { usage(of: result) }
    if !row.attempts.isEmpty { attempts(row.attempts) }
  }

  /// Writes the fields of a file that an operation has left; `path` is its place in a folder.
  public mutating func fields(of file: StoredFile) {
    field("name", file.name)
    field("path", file.path.isEmpty ? nil : file.path)
    field("bytes", file.content.size)
    field("sha256", "\(file.content.digest)")
    if file.isExecutable { field("executable", true) }
  }

  /// Writes `reason`: why the operation was cancelled or skipped, else why it failed;
  /// `reason_detail` says it in words.
  private mutating func reason(of row: OperationRow) {
    if let reason = row.reason {
      field("reason", reason.word)
      if case .request(let text) = reason, !text.isEmpty { field("reason_detail", text) }
      if case .dependency(let id, let outcome) = reason {
        let shown = row.needs.first { $0.id == id }?.shown ?? id.numbered
        field("reason_detail", "\(shown) \(StateWord(outcome).rawValue)")
      }
    } else if let cause = row.result?.cause, cause != .none {
      field("reason", cause.word)
    }
  }

  /// Either a signal or an exit code, and neither where no process ended.
  private mutating func status(of result: AttemptResult) {
    if result.signal != 0 {
      field("signal", result.signal)
    } else if result.cause.hasStatus {
      field("exit_code", result.exitStatus)
    }
    if result.wasForced { field("was_forced", true) }
    if !result.diagnostic.isEmpty { field("diagnostic", result.diagnostic) }
  }

  /// 0 means that nothing was measured, so it is absent.
  private mutating func usage(of result: AttemptResult) {
    if result.maximumResidentBytes > 0 { field("max_rss_bytes", result.maximumResidentBytes) }
    if result.processorMicroseconds > 0 {
      field("cpu_seconds", Double(result.processorMicroseconds) / 1e6)
    }
  }

  /// Written even if empty, so that a program can loop over it.
  private mutating func needs(_ needs: [OperationRow.Need]) {
    array("needs") { json in
      for need in needs {
        json.object { json in
          json.field("id", need.shown)
          json.field("when", need.policy.word)
        }
      }
    }
  }

  /// Writes the results by position: `{"state","output"}`, `{"state","message"}`.
  private mutating func blockResults(_ blocks: [ShownBlock]) {
    array("block_results") { json in
      for block in blocks {
        json.object { json in
          json.field("state", block.state.rawValue)
          if !block.message.isEmpty { json.field("message", block.message) }
          if !block.output.isEmpty { json.output("output", block.output) }
        }
      }
    }
  }

  /// Writes JSON unchanged, `key=value` lines as an object, and other bytes as base64.
  private mutating func output(_ name: String, _ bytes: [UInt8]) {
    if JSONSyntax.isValid(bytes) { return field(name, json: bytes) }
    guard let pairs = outputPairs(bytes) else {
      field(name + "_base64", base64(bytes))
      return
    }
    object(name) { json in
      for pair in pairs { json.field(pair.key, pair.value) }
    }
  }

  /// Earlier attempts have the fields of the last one, under the same names.
  private mutating func attempts(_ attempts: [AttemptHistory]) {
    array("attempts") { json in
      for entry in attempts {
        json.object { json in
          json.field("attempt", entry.run)
          json.field("outcome", entry.outcome?.word)
          json.field("reason", entry.result.cause == .none ? nil : entry.result.cause.word)
          json.field("worker", entry.workerName.isEmpty ? nil : entry.workerName)
          json.status(of: entry.result)
          json.field("started_at", entry.result.startedAt)
          json.field("finished_at", entry.result.endedAt)
          json.usage(of: entry.result)
        }
      }
    }
  }

  /// Writes the fields of one answer of `why`.
  public mutating func fields(of explanation: Explanation) {
    field("id", explanation.shown)
    field("state", explanation.state.rawValue)
    array("reasons") { json in
      for line in explanation.lines { json.value(line.forShell) }
    }
  }
}

/// Returns the pairs of an `OP_OUTPUT` file; of a repeated key the last pair. nil if the bytes have
/// another form.
/// The key of a line is what stands before its first `=`.
func outputPairs(_ bytes: [UInt8]) -> [(key: String, value: String)]? {
  guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
  var pairs: [(key: String, value: String)] = []
  var places: [String: Int] = [:]
  for line in text.split(separator: "\n") {
    guard let equals = line.firstIndex(of: "="), equals > line.startIndex else { return nil }
    let key = String(line[..<equals])
    let value = String(line[line.index(after: equals)...])
    if let place = places[key] {
      pairs[place].value = value
    } else {
      places[key] = pairs.count
      pairs.append((key, value))
    }
  }
  return pairs
}

/// Padded, as in RFC 4648.
func base64(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var result: [UInt8] = []
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let here = min(3, bytes.count - start)
    var group: UInt32 = 0
    for offset in 0..<3 {
      group = group << 8 | (offset < here ? UInt32(bytes[start + offset]) : 0)
    }
    for digit in 0..<4 {
      let six = Int(group >> UInt32(18 - 6 * digit) & 63)
      result.append(digit <= here ? alphabet[six] : UInt8(ascii: "="))
    }
  }
  return String(decoding: result, as: UTF8.self)
}
