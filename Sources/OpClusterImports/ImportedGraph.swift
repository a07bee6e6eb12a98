// A graph as another system's files describe it, in the words of a manifest. Made by the readers of
// the formats, written by `ManifestText`. Values only.

/// What a reader made of the files: the graph unless there is an error, and what was said of them.
package struct ImportResult: Sendable {
  /// nil if a remark is an error.
  package var graph: ImportedGraph?
  package var remarks: [ImportRemark]
  /// Remarks beyond `Limits.importRemarks`, which are only counted.
  package var furtherRemarks: Int
}

package struct ImportedGraph: Hashable, Sendable {
  package var name: String
  /// For people: what it was made of.
  package var origin: String
  /// As `on_failure` of a manifest; nil: what it is by default.
  package var onFailure: String?
  package var maximumFailures: Int?
  /// How many of a queue's operations run at once; names are unique.
  package var queues: [ImportedQueue] = []
  package var operations: [ImportedOperation] = []
  /// Operations that run when all others have ended.
  package var finally: [ImportedOperation] = []
  /// Where operations run that do not say it, an absolute path.
  package var workingFolder: String
  /// Variables of the submitter that all operations get.
  package var inherited: [String] = []
}

package struct ImportedQueue: Hashable, Sendable {
  package var name: String
  package var limit: Int
}

/// Texts may hold values that are known when it runs: see `RuntimeValue`.
package struct ImportedOperation: Hashable, Sendable {
  package enum Work: Hashable, Sendable {
    /// A program and its arguments, executed as they are.
    case words([String])
    /// The text that `/bin/sh -c` gets.
    case shell(String)
    /// Does nothing: a joint for dependencies.
    case barrier
  }
  package enum Elements: Hashable, Sendable {
    /// The numbers of an array, both included.
    case range(Int, Int)
    /// Single numbers.
    case numbers([Int])
    case items([String])
  }
  package struct Need: Hashable, Sendable {
    package var name: String
    package var whenFinished = false
  }
  package struct Retry: Hashable, Sendable {
    package var count: Int
    /// As `retry: {reasons}` of a manifest; empty: any failure.
    package var reasons: [String] = []
  }

  /// A valid and unique name.
  package var name: String
  package var work: Work
  package var description = ""
  package var needs: [Need] = []
  package var elements: Elements?
  package var maximumParallel: Int?
  package var maximumFailures: Int?
  package var queue: String?
  package var priority: Int?
  package var cpus: Double?
  package var memoryBytes: Int?
  package var gpus: Double?
  /// Resources that workers name.
  package var resources: [String: Double] = [:]
  package var retry: Retry?
  package var successCodes: [Int] = []
  package var mayFail = false
  /// Losses of its worker after which it ends as lost.
  package var maximumLosses: Int?
  package var restartsWhenLost = true
  package var environment: [String: String] = [:]
  package var inherited: [String] = []
  package var workingFolder: String?
  package var inputFile: String?
  package var inputText: String?
  package var outputFile: String?
  package var errorFile: String?
  package var timeoutSeconds: Double?
  package var stopSignal: String?
  package var labels: [String: String] = [:]

  package init(name: String, work: Work) {
    self.name = name
    self.work = work
  }
}

/// A value that is known only when the operation runs. In texts it is a zero byte and a letter: no
/// file that is read may hold a zero byte.
package enum RuntimeValue: UInt8, CaseIterable, Sendable {
  /// The number of an array's element.
  case index = 0x6E
  /// The same of an array of items, counted from 0.
  case position = 0x70
  /// The item of an array's element.
  case item = 0x69
  /// The graph's number.
  case graph = 0x67
  /// How often it was tried before.
  case retry = 0x72

  package var code: String { String(decoding: [0, rawValue], as: UTF8.self) }

  /// As a shell reads it, between double quotes.
  var shellText: String {
    switch self {
    case .index: "$OP_INDEX"
    case .position: "$((OP_INDEX - 1))"
    case .item: "$OP_ITEM"
    case .graph: "$OP_GRAPH"
    case .retry: "$((OP_ATTEMPT - 1))"
    }
  }

  /// As a manifest has it; nil for what only the environment of an operation tells.
  var manifestText: String? {
    switch self {
    case .index: "${{ index }}"
    case .item: "${{ item }}"
    case .graph, .retry, .position: nil
    }
  }
}

/// A text in pieces: bytes as they are, and values.
enum RuntimePiece {
  case bytes(ArraySlice<UInt8>)
  case value(RuntimeValue)

  static func pieces(of text: String) -> [RuntimePiece] {
    let bytes = Array(text.utf8)
    var pieces: [RuntimePiece] = []
    var start = 0
    var at = 0
    while at < bytes.count {
      if bytes[at] == 0, at + 1 < bytes.count, let value = RuntimeValue(rawValue: bytes[at + 1]) {
        if start < at { pieces.append(.bytes(bytes[start..<at])) }
        pieces.append(.value(value))
        at += 2
        start = at
      } else {
        at += 1
      }
    }
    if start < bytes.count { pieces.append(.bytes(bytes[start...])) }
    return pieces
  }
}

extension String {
  /// Whether a shell has to put a value in, since a manifest cannot.
  var needsShell: Bool {
    utf8.contains(0)
      && RuntimePiece.pieces(of: self).contains {
        if case .value(let value) = $0 { value.manifestText == nil } else { false }
      }
  }

  /// One word of a shell, whatever it holds; values are put in when it runs.
  var shellWord: String {
    var result = ""
    for piece in RuntimePiece.pieces(of: self) {
      switch piece {
      case .bytes(let bytes):
        let text = String(decoding: bytes, as: UTF8.self)
        let isPlain = bytes.allSatisfy(isPlainInShell)
        result += isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
      case .value(let value): result += "\"\(value.shellText)\""
      }
    }
    return result.isEmpty ? "''" : result
  }
}

/// Whether a byte means nothing to a shell: letters, digits and some signs.
private func isPlainInShell(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
    UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ","), UInt8(ascii: ":"),
    UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: "%"):
    true
  default: false
  }
}
