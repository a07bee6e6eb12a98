// Decodes the parts of a row that are opaque to the coordinator, for people and programs: outputs
// and command.

package import OpClusterModel
package import OpClusterPresentation
import OpClusterWire

extension OperationRow {
  /// Returns the row with a command's outputs as `key=value` lines and a registered type's value as
  /// JSON. Other bytes stay as they are. A user's bytes may be valid for several formats; what is
  /// JSON already is left alone.
  package func withReadableOutputs() -> OperationRow {
    var row = self
    row.result = result?.withReadableOutputs()
    for at in row.attempts.indices {
      row.attempts[at].result = row.attempts[at].result.withReadableOutputs()
    }
    return row
  }

  /// The command with this element's values; nil if the row has no command.
  package var shownCommand: String? {
    guard !command.isEmpty, let specification = try? Wire.decodeCommand(command) else {
      return nil
    }
    let keys = specification.elementKeys.count
    let values = ElementValues.decode(commandArgument, keyCount: keys) ?? []
    return OpClusterPresentation.shownCommand(
      specification, values: keys == 0 ? [] : values, index: index)
  }
}

extension AttemptResult {
  fileprivate func withReadableOutputs() -> AttemptResult {
    guard !output.isEmpty, !JSONSyntax.isValid(output), let opened = try? Wire.decodeOutput(output)
    else { return self }
    var result = self
    if let place = opened.valueContent {
      result.output = opened.contents[place].document(type: opened.typeName)
    } else if !opened.typeName.isEmpty {
      result.output = opened.value
    } else if !opened.pairs.isEmpty || !opened.files.isEmpty {
      result.output = Array(opened.pairs.map { "\($0.key)=\($0.value)\n" }.joined().utf8)
    }
    return result
  }
}

extension StoredContent {
  /// Stands for a value that is too large for a message.
  fileprivate func document(type: String) -> [UInt8] {
    var json = JSONText()
    json.object { json in
      json.key("stored_value")
      json.object { json in
        json.field("type", type)
        json.field("bytes", size)
        json.field("sha256", "\(digest)")
      }
    }
    return json.bytes
  }
}

extension AttemptResult {
  /// The value that is too large for a message, and lies in the store of a worker.
  package var storedValue: StoredContent? {
    guard let opened = try? Wire.decodeOutput(output), let place = opened.valueContent else {
      return nil
    }
    return opened.contents[place]
  }

  /// The files that it has left in stores.
  package var storedFiles: [StoredFile] { (try? Wire.decodeOutput(output))?.files ?? [] }

  /// The operation's result as a JSON document: the value of a registered type, the outputs of a
  /// command as an object of strings, `null` for nothing.
  package var returnedDocument: [UInt8] {
    let nothing = Array("null".utf8)
    if output.isEmpty { return nothing }
    guard !JSONSyntax.isValid(output), let opened = try? Wire.decodeOutput(output)
    else { return output }
    if !opened.typeName.isEmpty || !opened.value.isEmpty {
      return opened.value.isEmpty ? nothing : opened.value
    }
    var json = JSONText()
    json.object { json in
      for pair in opened.pairs { json.field(pair.key, pair.value) }
    }
    return Array(json.text.utf8)
  }
}

/// Decodes the results of a block operation. The results of blocks are one output, in the order of
/// the blocks (S123).
package enum BlockOutputs {
  /// Returns nil if the bytes are not block results.
  package static func open(_ bytes: [UInt8]) -> [ShownBlock]? {
    guard !bytes.isEmpty, let results = try? Wire.decodeBlockResults(bytes) else { return nil }
    return results.map { result in
      switch result {
      case .failed(let message): ShownBlock(state: .failed, message: message)
      case .skipped: ShownBlock(state: .skipped)
      case .succeeded(let output):
        ShownBlock(state: .succeeded, output: readable(output))
      }
    }
  }

  private static func readable(_ output: [UInt8]) -> [UInt8] {
    var result = AttemptResult()
    result.output = output
    return result.withReadableOutputs().output
  }
}

/// Rows with decoded outputs; the decoding depends on the work of the operation.
package struct OpenedRows {
  package var rows: [OperationRow]
  /// The results of the block operations among the rows.
  package var blocks: [OperationID: [ShownBlock]] = [:]
  /// The files that operations among the rows have left.
  package var files: [OperationID: [StoredFile]] = [:]
}

extension Reader {
  /// Decodes rows from the coordinator. Requests the structure of each graph with an output among
  /// the rows. Only the structure says which rows are block operations: their results look like any
  /// output. At most as many requests as the page has graphs.
  package func opened(_ rows: [OperationRow]) async throws -> OpenedRows {
    var result = OpenedRows(rows: rows)
    var works: [GraphID: [String: String]] = [:]
    for (at, row) in rows.enumerated() {
      guard let output = row.result?.output, !output.isEmpty else { continue }
      // Asked once for each graph, and only where there is an output.
      if works[row.id.graph] == nil {
        let stages = try await structure(row.id.graph).stages
        works[row.id.graph] = Dictionary(
          stages.map { ($0.name, $0.work) }, uniquingKeysWith: { first, _ in first })
      }
      if works[row.id.graph]?[row.name] == "blocks", let blocks = BlockOutputs.open(output) {
        result.blocks[row.id] = blocks
      } else {
        result.rows[at] = row.withReadableOutputs()
        let files = row.result?.storedFiles ?? []
        if !files.isEmpty { result.files[row.id] = files }
      }
    }
    return result
  }
}
