// Which graphs a selection means, as numbers.

import OpClusterModel
import OpClusterQueries
import Testing

@Suite struct GraphSetTests {
  /// Against going through the numbers one by one.
  @Test func nextAndContains() {
    let set = GraphSet(ranges: [7...9, 2...3, 20...20, 10...11], openFrom: 30)
    let members = (0...40).filter { [2, 3, 7, 8, 9, 10, 11, 20].contains($0) || $0 >= 30 }
    for number: UInt32 in 0...40 {
      #expect(set.contains(number) == members.contains(Int(number)))
      #expect(set.next(from: number).map(Int.init) == members.first { $0 >= Int(number) })
    }
    #expect(GraphSet(ranges: [2...3]).next(from: 4) == nil)
    #expect(GraphSet(ranges: []).next(from: 0) == nil)
  }

  private func range(_ first: UInt32, _ last: UInt32) -> Selection.ClosedRangeOfGraphs {
    Selection.ClosedRangeOfGraphs(GraphID(first), GraphID(last))
  }

  @Test func rangesAreJoined() {
    let set = GraphSet(ranges: [7...9, 1...2, 3...3, 8...12])
    #expect(set.ranges == [1...3, 7...12])
    #expect((0...14).filter { set.contains($0) } == [1, 2, 3, 7, 8, 9, 10, 11, 12])
    #expect(set.next(from: 4) == 7 && set.next(from: 8) == 8 && set.next(from: 13) == nil)
  }

  /// Nothing comes after the last number there is: what lies in a range up to it belongs to it.
  @Test func rangesUpToTheLastNumber() {
    let set = GraphSet(ranges: [7...UInt32.max, 9...9, 1...2])
    #expect(set.ranges == [1...2, 7...UInt32.max])
    #expect(set.contains(100) && !set.contains(3))
  }

  @Test func selectionsBecomeNumbers() {
    let living = GraphBitmap([GraphID(2), GraphID(5)])
    let numbers = GraphSet(.numbers([range(1, 3), range(9, 8)]), living: living, last: 6)
    #expect(numbers.ranges == [1...3])
    #expect(GraphSet(.last(back: 1), living: living, last: 6).ranges == [5...5])
    #expect(GraphSet(.last(back: 6), living: living, last: 6).ranges.isEmpty)
    #expect(GraphSet(.all, living: living, last: 6).contains(4_000_000))
  }

  /// `active` means those that live and every one to come.
  @Test func activeIncludesTheFuture() {
    let set = GraphSet(.active, living: GraphBitmap([GraphID(2), GraphID(5)]), last: 6)
    #expect((1...9).filter { set.contains($0) } == [2, 5, 7, 8, 9])
    #expect(set.next(from: 3) == 5 && set.next(from: 6) == 7)
  }
}
