// The other operation types of the documentation. The text between the marks is what the catalogue
// shows.

import Dispatch
import FoundationEssentials
import OpClusterServing

// snippet: patient-sum
struct PatientSum: RegisteredOperation {
  static let typeName = "numbers.patient-sum"
  var numbers: [Int]

  func main(_ context: OperationContext) async throws -> Int {
    var sum = 0
    for (at, number) in numbers.enumerated() {
      try context.checkCancellation()
      sum += number
      context.reportProgress(Double(at + 1) / Double(numbers.count))
    }
    return sum
  }
}
// end

// snippet: page-operations
struct Page: Codable, Sendable {
  var text: String
}

struct ReadPage: RegisteredOperation {
  static let typeName = "pages.read"
  var path: String

  func main(_ context: OperationContext) async throws -> Page {
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw BadArgument("there is no file \(path)")
    }
    return Page(text: String(decoding: bytes, as: UTF8.self))
  }
}

struct CountWords: RegisteredOperation {
  static let typeName = "pages.count-words"
  @RequiredInput var page: Page
  var shortest = 1

  func main(_ context: OperationContext) async throws -> Int {
    page.text.split(separator: " ").count { $0.count >= shortest }
  }
}
// end

// snippet: file-operations
struct Sorted: Codable, Sendable {
  var lines: Int
  var text: OperationFile
}

struct SortLines: RegisteredOperation {
  static let typeName = "lines.sort"
  @RequiredInput var page: Page

  func main(_ context: OperationContext) async throws -> Sorted {
    let lines = page.text.split(separator: "\n").sorted()
    let path = try context.scratchFolder() + "/sorted"
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    return Sorted(lines: lines.count, text: OperationFile(path: path))
  }
}

struct CountBytes: RegisteredOperation {
  static let typeName = "bytes.count"
  @RequiredInput var sorted: Sorted

  func main(_ context: OperationContext) async throws -> Int {
    var bytes = 0
    for piece in try await sorted.text.pieces(of: 65_536) { bytes += piece.count }
    return bytes
  }
}
// end

// snippet: optional-input
struct Title: RegisteredOperation {
  static let typeName = "pages.title"
  @Input var page: Page? = nil

  func main(_ context: OperationContext) async throws -> String {
    guard let page else { return "untitled" }
    return String(page.text.prefix(12))
  }
}
// end

// snippet: by-name
struct Difference: RegisteredOperation {
  static let typeName = "numbers.difference"

  func main(_ context: OperationContext) async throws -> Int {
    let before: Int = try context.requireOutput(of: "before")
    let after: Int = try context.requireOutput(of: "after")
    return after - before
  }
}
// end

// snippet: asynchronous
struct Answer: AsynchronousOperation {
  static let typeName = "letters.answer"
  var milliseconds: Int

  func start(_ context: OperationContext, _ completion: CompletionToken<String>) throws {
    context.onCancel { completion.fail(CancellationError()) }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
      completion.finish("late, but here")
    }
  }
}
// end

// snippet: child
struct DecodeVideo: RegisteredOperation {
  static let typeName = "media.decode"
  static let version: UInt32 = 2
  static let isolation = OperationIsolation.child
  var path: String

  func main(_ context: OperationContext) async throws -> NoOutput {
    let folder = try context.scratchFolder()
    context.logger.info("decoding \(path) into \(folder)")
    return NoOutput()
  }
}
// end
