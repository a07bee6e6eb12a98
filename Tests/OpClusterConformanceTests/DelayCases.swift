// Delayed and periodic operations (S150), in this process and on workers.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct Delays {
    /// It is held and says so, others pass by, and it goes by itself.
    @Test(.checks("S44", "S46", "S150"), arguments: Setting.everywhere) func aDelayPasses(
      _ setting: Setting
    ) async throws {
      try await onStage(setting) { stage in
        let late = stage.mark("late")
        late.notBefore = .delay(.milliseconds(400))
        #expect(late.isHeld && !late.isReady)
        let began = ContinuousClock.now
        let recorder = Recorder(late)
        try await stage.queue.addOperations([late, stage.mark("now")])
        let row = try #require(try await late.details())
        #expect(row.state == .held || row.isFinished)
        if row.state == .held {
          let moment = try #require(row.notBefore)
          #expect(moment.milliseconds - row.submittedAt.milliseconds == 400)
          let why = try await late.explanation()
          #expect(why.contains { $0.contains("not_before") } || late.isFinished, "\(why)")
        }
        try await stage.ended(late)
        #expect(ContinuousClock.now - began >= .milliseconds(400))
        #expect(stage.sink.trace == ["now", "late"])
        try await recorder.completed()
        #expect(recorder.changes.contains { $0.kind == .isHeld(false) })
        #expect(!late.isHeld && late.outcome == .succeeded)
      }
    }

    /// Released by hand it starts at once, cancelled it ends at once; a time that has
    /// passed is none.
    @Test(.checks("S44", "S150"), arguments: Setting.all) func aHandIsQuicker(_ setting: Setting)
      async throws
    {
      try await onStage(setting) { stage in
        let (released, cancelled, past) = (stage.mark("r"), stage.mark("c"), stage.mark("p"))
        for operation in [released, cancelled] { operation.notBefore = .delay(.seconds(3_600)) }
        past.notBefore = .time(1_000)
        try await stage.queue.addOperations([released, cancelled, past])
        try await stage.ended(past)
        #expect(released.isHeld && cancelled.isHeld && !past.isHeld)
        try await released.release()
        try await stage.ended(released)
        #expect(try await cancelled.cancel() == .cancelled)
        try await stage.ended(cancelled)
        #expect(cancelled.outcome == .cancelled && !cancelled.isHeld)
        #expect(stage.sink.trace == ["p", "r"])
        let never = stage.mark("n")
        never.notBefore = .delay(.seconds(11 * 366 * 86_400))
        await #expect(throws: ClusterError.self) { try await stage.queue.addOperation(never) }
      }
    }

    /// Every occurrence is an operation of its own; the handle cancels what is still to
    /// come, and what has come to its moment goes on.
    @Test(.checks("S150"), arguments: Setting.everywhere) func aSchedule(_ setting: Setting)
      async throws
    {
      try await onStage(setting) { stage in
        let made = Mutex<[ClusterOperation]>([])
        let schedule = try await stage.queue.schedule(every: .milliseconds(100), after: .zero) {
          made.withLock { made in
            made.append(stage.gate("g\(made.count + 1)"))
            return made[made.count - 1]
          }
        }
        try await stage.sink.waitFor("g1+", "g2+")
        try await soon("another one waits") { schedule.next != nil }
        try await schedule.cancel()
        #expect(schedule.isCancelled && schedule.next == nil && schedule.error == nil)
        // What was made in the moment of the cancellation was not added.
        let all = made.withLock { $0 }.filter { $0.id != nil }
        #expect(schedule.occurrences == all.count)
        #expect(Set(all.compactMap(\.id)).count == all.count)
        try await soon("nothing is held any more") { all.allSatisfy { !$0.isHeld } }
        stage.sink.openAll()
        try await stage.emptied(stage.queue)
        #expect(made.withLock { $0.count { $0.id != nil } } == all.count)
        let begun = Set(stage.sink.trace.filter { $0.hasSuffix("+") }.map { $0.dropLast() })
        for (at, operation) in all.enumerated() {
          let hasBegun = begun.contains("g\(at + 1)")
          #expect(operation.outcome == (hasBegun ? .succeeded : .cancelled), "g\(at + 1)")
        }
        #expect(begun.isSuperset(of: ["g1", "g2"]))
      }
    }

    /// One occurrence after a delay, cancelled before its moment; what is wrong is thrown.
    @Test(.checks("S11", "S150"), arguments: Setting.all) func onceAfterADelay(_ setting: Setting)
      async throws
    {
      try await onStage(setting) { stage in
        let mark = stage.mark("m")
        let schedule = try await stage.queue.schedule(after: .milliseconds(100), mark)
        #expect(schedule.next == mark && mark.isHeld)
        try await stage.ended(mark)
        try await soon("nothing is to come") { schedule.next == nil }
        try await schedule.cancel()
        #expect(mark.outcome == .succeeded)
        let never = stage.mark("never")
        let other = try await stage.queue.schedule(after: .seconds(3_600), never)
        try await other.cancel()
        try await stage.ended(never)
        #expect(never.outcome == .cancelled && stage.sink.trace == ["m"])
        await #expect(throws: ClusterError.self) {
          try await stage.queue.schedule(every: .zero) { stage.mark("x") }
        }
        await #expect(throws: ClusterError.self) {
          try await stage.queue.schedule(after: .seconds(1), mark)
        }
      }
    }

    /// The wait goes on where the coordinator is killed and started again. In between,
    /// and only there, the wall clock counts: monotonic clocks of two lives say nothing of each
    /// other. What has not been started is neither early nor lost.
    @Test(.checks("S150")) func aDelaySurvivesTheCoordinator() async throws {
      try await onOwnCluster(workers: 1) { stage, processes in
        let (short, long) = (stage.mark("short"), stage.mark("long"))
        let began = ContinuousClock.now
        short.notBefore = .delay(.seconds(2))
        long.notBefore = .delay(.seconds(3_600))
        try await stage.queue.addOperations([short, long])
        try await processes.kill("opcoord")
        try await processes.startCoordinator()
        try await stage.ended(short)
        #expect(ContinuousClock.now - began >= .seconds(2))
        let row = try #require(try await long.details())
        #expect(row.state == .held && row.notBefore != nil)
        try await long.release()
        try await stage.ended(long)
        #expect(stage.sink.trace == ["short", "long"])
      }
    }
  }
}
