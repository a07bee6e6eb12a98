// The table of transitions: which events a state obeys at all.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterExecution

@Suite struct LifeTests {
  static let states: [AttemptState] = [
    .absent, .blocked, .ready, .running, .stopping(.cancel), .killing(.timeout), .ended,
  ]
  static let events: [AttemptEvent] = [
    .awaitsMet, .chosen, .recall, .cancel, .abandon, .stop(.workerStop), .graceOver, .ended,
    .acknowledged,
  ]

  // Nothing comes back to life; only a ready one is launched; nothing launched is undone.
  @Test(.checks("S13", "S148")) func legalTransitions() {
    for state in Self.states {
      for event in Self.events {
        let (next, action) = state.after(event)
        if action == .launch { #expect(state == .ready && event == .chosen && next == .running) }
        if state.isLive || state == .ended { #expect(!next.isAssigned) }
        if state == .absent { #expect(next == .absent && action == .nothing) }
        if next != state { #expect(action != .nothing) }
        if action == .giveBack { #expect(state.isAssigned && next == .absent) }
        if action == .report { #expect(state.isLive && next == .ended) }
      }
    }
  }

  // Whatever it is, a stale attempt is gone.
  @Test(.checks("S17")) func abandonEndsEverything() {
    for state in Self.states { #expect(state.after(.abandon).0 == .absent) }
  }

  // House rule 10: these exist by the hundred thousand.
  @Test func sizes() {
    #expect(MemoryLayout<AttemptRecord>.size <= 104)
    #expect(MemoryLayout<LineEntry>.size <= 40)
    #expect(MemoryLayout<OperationEntry>.size <= 16)
  }
}
