// Large values in the memory of a program: kept while somebody may need them, and for a while
// after.

import Citations
import FoundationEssentials
import OpClusterModel
import OpClusterOperations
import Testing

@testable import OpClusterLocal

@Suite struct LocalValueTests {
  @Test("Released values stay until there are more bytes than the limit; the oldest go first")
  func released() {
    #expect(Limits.releasedValueBytes > 1 << 20)
    let values = LocalValues(limit: 100)
    let contents = (0..<5).map { values.keep([UInt8](repeating: UInt8($0), count: 40)) }
    #expect(Set(contents.map(\.digest)).count == 5)
    #expect(values.release(contents[0...1].map(\.digest)).isEmpty)
    #expect(values.release([contents[2].digest]) == [contents[0].digest])
    #expect(values.find(contents[0].digest) == nil)
    #expect(values.find(contents[1].digest) == Data([UInt8](repeating: 1, count: 40)))
    #expect(values.find(contents[4].digest)?.count == 40, "nobody has let it go")
    #expect(values.release([contents[0].digest]).isEmpty, "it is gone already")
    values.retain([contents[1].digest, contents[0].digest])
    #expect(values.release([contents[3].digest]).isEmpty)
    #expect(values.release([contents[4].digest]) == [contents[2].digest])
    #expect(values.find(contents[1].digest) != nil)
  }

  @Test("Files have a limit of their own; the newest one stays, however large it is")
  func releasedFiles() async throws {
    #expect(Limits.releasedFileBytes > Limits.releasedValueBytes)
    let values = LocalValues(limit: 100, fileLimit: 100)
    let path = "/tmp/local-values-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var contents: [StoredContent] = []
    for count in [40, 500, 60] {
      try Data(repeating: 1, count: count).write(to: URL(filePath: path))
      contents.append(try await values.files.keep(path).content)
    }
    let value = values.keep([UInt8](repeating: 0, count: 90))
    #expect(values.release([value.digest]).isEmpty, "files count elsewhere")
    #expect(values.release([contents[0].digest]).isEmpty)
    #expect(values.release([contents[1].digest]) == [contents[0].digest])
    let large = values.file(contents[1])
    #expect(try await large.data().count == 500)
    #expect(values.release([contents[2].digest]) == [contents[1].digest])
    await #expect(throws: (any Error).self) { try await large.data() }
    #expect(values.path(of: contents[1].digest) == nil)
    #expect(try await values.file(contents[2]).data().count == 60)
    // What nobody has heard of leaves no file.
    let place = try #require(values.path(of: contents[2].digest))
    values.drop([contents[2].digest])
    #expect(!FileManager.default.fileExists(atPath: place))
  }
}
