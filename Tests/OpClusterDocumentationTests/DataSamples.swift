// The samples of "Data along dependencies", "Writing a worker" and "Coming from OperationQueue", as
// they are run.

import Citations
import Dispatch
import FoundationEssentials
import OpCluster
import Testing

@testable import DocumentationWorker

@Suite struct DataSamples {
  let queue = ClusterOperationQueue(on: .local())

  @Test func pages() async throws {
    let path = "\(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString)"
    #expect(FileManager.default.createFile(atPath: path, contents: Data("one two three".utf8)))
    defer { try? FileManager.default.removeItem(atPath: path) }
    // snippet: pages
    let read = ClusterOperation(ReadPage(path: path))
    let count = ClusterOperation(CountWords(shortest: 4))
    try count.addDependency(read, when: .succeeded)
    try await queue.addOperations([read, count])
    let words = try await count.output(of: CountWords.self)
    // end
    #expect(words == 1)
  }

  private func lines() throws -> String {
    let path = "\(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString)"
    try Data("b\na\n".utf8).write(to: URL(filePath: path))
    return path
  }

  @Test(.checks("S140")) func files() async throws {
    let path = try lines()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let read = ClusterOperation(ReadPage(path: path))
    // snippet: file-values
    let sort = ClusterOperation(SortLines())
    let count = ClusterOperation(CountBytes())
    try sort.addDependency(read, when: .succeeded)
    try count.addDependency(sort, when: .succeeded)
    try await queue.addOperations([read, sort, count])
    let sorted = try await sort.output(of: SortLines.self)
    let text = try await sorted.text.data()
    // end
    #expect(text == Data("a\nb".utf8) && sorted.lines == 2)
    #expect(try await count.output(of: CountBytes.self) == 3)
  }

  @Test(.checks("S140")) func filesOfCommands() async throws {
    let path = try lines()
    defer { try? FileManager.default.removeItem(atPath: path) }
    // snippet: file-commands
    let read = ClusterOperation(ReadPage(path: path), name: "read")
    let sort = ClusterOperation(SortLines(), name: "sort")
    try sort.addDependency(read, when: .succeeded)

    var command = ClusterCommand(shell: "gzip -n < \"$OP_INPUTS/sort/text\" > small.gz")
    command.outputFiles = ["small": "small.gz"]
    let pack = ClusterOperation(command, name: "pack")
    pack.settings.inputFiles = ["sort": ["text"]]
    try pack.addDependency(sort, when: .succeeded)
    try await queue.addOperations([read, sort, pack])
    let packed = try await pack.file("small").data()
    // end
    #expect(packed.starts(with: [0x1f, 0x8b]))
  }

  // S136, S138
  @Test(.checks("S136", "S138")) func ownInputWins() async throws {
    let read = ClusterOperation(returning: { _ in Page(text: "from the dependency") })
    let title = ClusterOperation(Title(page: Page(text: "own")))
    let given = ClusterOperation(Title())
    let none = ClusterOperation(Title())
    for operation in [title, given] { try operation.addDependency(read) }
    try await queue.addOperations([read, title, given, none])
    #expect(try await title.output(of: Title.self) == "own")
    #expect(try await given.output(of: Title.self) == "from the dep")
    #expect(try await none.output(of: Title.self) == "untitled")
  }

  // S138
  @Test(.checks("S138")) func aRequiredInputIsMissed() async throws {
    let count = ClusterOperation(CountWords())
    try await queue.addOperation(count)
    try await count.waitUntilFinished()
    guard case .failed(let failure) = try await count.result() else {
      Issue.record("it did not fail")
      return
    }
    #expect(failure.cause == .missingInput)
  }

  @Test func byName() async throws {
    // snippet: names
    let before = ClusterOperation(Sum(numbers: [1, 2]), name: "before")
    let after = ClusterOperation(Sum(numbers: [1, 2, 3]), name: "after")
    let difference = ClusterOperation(Difference())
    for sum in [before, after] { try difference.addDependency(sum) }
    // end
    try await queue.addOperations([before, after, difference])
    #expect(try await difference.output(of: Difference.self) == 3)
  }

  // The asynchronous type does no more than keep and use its token.
  @Test(.checks("S131", "S132")) func patience() async throws {
    let sum = ClusterOperation(PatientSum(numbers: [4, 5]))
    let answer = ClusterOperation(Answer(milliseconds: 1))
    try await queue.addOperations([sum, answer])
    #expect(try await sum.output(of: PatientSum.self) == 9)
    #expect(try await answer.output(of: Answer.self) == "late, but here")
    #expect(answer.isAsynchronous)
  }

  // A test cannot be started as a child of itself.
  @Test(.checks("S145")) func withoutDoor() async throws {
    let video = ClusterOperation(DecodeVideo(path: "a.mp4"))
    let error = await #expect(throws: ClusterError.self) { try await queue.addOperation(video) }
    #expect(error?.message.contains("runAsChildIfAsked") == true)
  }

  @Test func withoutTasks() async throws {
    // The calls of this sample block, so they run on a thread of Dispatch.
    let queue = queue
    let outcome = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: Result { try block(queue) }) }
    }
    #expect(try outcome.get() == .succeeded)
  }
}

// snippet: blocking
func block(_ queue: ClusterOperationQueue) throws -> ClusterOperation.Outcome? {
  let operation = ClusterOperation { _ in print("here") }
  try queue.blocking.addOperation(operation)
  try operation.blocking.waitUntilFinished()
  return operation.outcome
}
// end

// snippet: child-door
struct Converter {
  static func main() async throws {
    OperationCluster.runAsChildIfAsked(types: [DecodeVideo.self])
    let queue = ClusterOperationQueue(name: "videos")
    let video = ClusterOperation(DecodeVideo(path: "a.mp4"))
    try await queue.addOperations([video], waitUntilFinished: true)
  }
}
// end
