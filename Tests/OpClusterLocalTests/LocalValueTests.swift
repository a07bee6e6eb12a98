// Large values in the memory of a program: kept while somebody may need them, and for a while
// after.

import Citations
import FoundationEssentials
import OpClusterModel
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
}
