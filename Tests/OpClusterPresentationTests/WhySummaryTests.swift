// `why GRAPH`: equals are one group with a number, the worst is told first.

import OpClusterModel
import OpClusterPresentation
import Testing

struct WhySummaryTests {
  @Test func equalsAreOneGroup() {
    var grouping = WhyGrouping()
    var places: Set<Int> = []
    for element in 1...100 {
      places.insert(
        grouping.add(.waiting, "12/b/\(element)", ["it waits for 12/a/\(element * 11)"]))
    }
    #expect(grouping.groups.count == 1 && grouping.groups[0].count == 100)
    #expect(grouping.groups[0].lines == ["it waits for 12/a/11"])
    // Nobody asked about the others: as they look, they are like these.
    grouping.add(unseen: 900, .waiting, beside: places)
    #expect(grouping.groups.count == 1 && grouping.groups[0].count == 1_000)
    // Another state and another reason are others.
    places = [grouping.add(.held, "12/b/1", ["it waits for 12/a/11"])]
    places.insert(grouping.add(.held, "12/c", ["it waits for 12/other"]))
    #expect(grouping.groups.map(\.count) == [1_000, 1, 1])
    // Where there are several reasons, none is claimed for the rest.
    grouping.add(unseen: 7, .held, beside: places)
    #expect(grouping.groups.last == WhyGroup(state: .held, count: 7, shown: "", lines: []))
    grouping.add(unseen: .max, .waiting, beside: [0])
    #expect(grouping.groups[0].count == .max)
  }

  /// Numbers that are no elements are part of a reason.
  @Test func reasonsWithOtherNumbersAreOthers() {
    var grouping = WhyGrouping()
    grouping.add(.failed, "12/a/1", ["exit status 1"])
    grouping.add(.failed, "12/a/2", ["exit status 2"])
    grouping.add(.failed, "12/a/3", ["exit status 1"])
    #expect(grouping.groups.map(\.count) == [2, 1])
  }

  @Test func thePageBeginsWithWhatIsWrong() {
    let row = Sample.row(counts: Sample.counts([.succeeded: 10_001, .failed: 1, .ready: 1]))
    let groups = [
      WhyGroup(state: .failed, count: 1, shown: "12/a/7", lines: ["exit status 2"]),
      WhyGroup(
        state: .ready, count: 3, shown: "12/big/1",
        lines: ["it asks for 64 cpus, and the largest worker has 2"]),
      WhyGroup(state: .waiting, count: 2, shown: "", lines: []),
    ]
    #expect(
      whyGraphPage(row, groups, hidden: 2, Sample.style(60)) == [
        "12  rnaseq  running", "  1 failed: 12/a/7", "    exit status 2",
        "  3 ready: such as 12/big/1", "    it asks for 64 cpus, and the largest worker has 2",
        "  2 waiting for other reasons", "  … 2 more stages: opbatch show 12", "  10,001 succeeded",
      ])
  }
}
