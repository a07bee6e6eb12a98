// A property that is added to a word and forgotten here would round-trip as its default, unseen.
// So every property of the generated words has to take more than one value: with the round trips,
// this shows that it crosses the wire.

import MessageGenerators
import OpClusterModel
import Testing

@Suite struct PropertyTests {
  private func expectEveryPropertyVaries<Word>(
    _ make: (inout MessageGenerator) -> Word, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var seen: [String: Set<String>] = [:]
    for seed in 0..<300 {
      var generator = MessageGenerator(seed: UInt64(seed))
      for child in Mirror(reflecting: make(&generator)).children {
        seen[child.label ?? "", default: []].insert(String(describing: child.value))
      }
    }
    #expect(!seen.isEmpty, sourceLocation: sourceLocation)
    for (property, values) in seen {
      #expect(values.count > 1, "\(Word.self).\(property)", sourceLocation: sourceLocation)
    }
  }

  @Test func everyPropertyVaries() {
    expectEveryPropertyVaries { $0.graphState() }
    expectEveryPropertyVaries { $0.endedGraph() }
    expectEveryPropertyVaries { $0.counters() }
    expectEveryPropertyVaries { $0.result() }
    expectEveryPropertyVaries { $0.history() }
    expectEveryPropertyVaries { $0.template() }
    expectEveryPropertyVaries { $0.submission() }
    expectEveryPropertyVaries { $0.type() }
    expectEveryPropertyVaries { $0.welcome() }
    expectEveryPropertyVaries { $0.retry() }
    expectEveryPropertyVaries { $0.command() }
    expectEveryPropertyVaries { $0.timing() }
    expectEveryPropertyVaries { $0.resources() }
    expectEveryPropertyVaries { $0.settings() }
    expectEveryPropertyVaries { $0.refusal() }
    expectEveryPropertyVaries { $0.chunk() }
    expectEveryPropertyVaries { $0.workerHello() }
    expectEveryPropertyVaries { $0.report() }
    expectEveryPropertyVaries { $0.orders() }
    expectEveryPropertyVaries { $0.dispatch() }
    expectEveryPropertyVaries { $0.input() }
    expectEveryPropertyVaries { $0.announcement() }
    expectEveryPropertyVaries { $0.selection() }
    expectEveryPropertyVaries { $0.queueChange() }
    expectEveryPropertyVaries { $0.subscription() }
    expectEveryPropertyVaries { $0.operationRow() }
    expectEveryPropertyVaries { $0.graphRow() }
    expectEveryPropertyVaries { $0.structure() }
    expectEveryPropertyVaries { $0.workerRow(isDown: $0.bool()) }
  }
}
