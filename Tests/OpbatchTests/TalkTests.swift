// What `run` says to signals, and while nothing starts.

import Glibc
import OpClusterModel
import Testing

@testable import opbatch

@Suite struct TalkTests {
  // Ctrl-C is offered again to who pressed it; TERM may have come from a program.
  @Test func cancellingBySignal() {
    let pressed = GraphRun.cancelling(SIGINT, isFirst: true)
    #expect(pressed.hasPrefix("cancelling") && pressed.contains("Ctrl-C again"))
    let told = GraphRun.cancelling(SIGTERM, isFirst: true)
    #expect(told.contains("cancelling") && !told.contains("Ctrl-C"))
    #expect(GraphRun.cancelling(SIGTERM, isFirst: false) == "killing what runs")
  }

  private func line(_ state: StateWord, _ lines: [Explanation.Line]) -> String? {
    WaitingNotice.line(
      Explanation(
        operation: OperationID(graph: GraphID(23), index: 0), shown: "23/run", state: state,
        lines: lines))
  }

  @Test func whyNothingStarts() {
    #expect(line(.ready, ["no worker is connected"]) == "23/run waits: no worker is connected")
    #expect(
      line(.ready, ["no worker can run it:", "worker w: a\u{1b}[2J", "worker v: b", "more"])
        == "23/run waits: no worker can run it: worker w: a\\x1b[2J; worker v: b; …")
    #expect(line(.held, ["it is held", "it waits"]) == "23/run waits: it is held; it waits")
  }

  // What runs, or has ended, needs no word.
  @Test func whatHasStartedIsNotTold() {
    for state in StateWord.allCases
    where ![.waiting, .held, .ready, .dispatched].contains(state) {
      #expect(line(state, ["worker w runs attempt 1"]) == nil)
    }
    #expect(line(.ready, []) == nil)
  }
}
