// Questions of the coordinator's loop and its peers about lives: which one this is, and whether its
// journal contains what a peer was told.

public import OpClusterModel

extension Scheduler {
  public var epoch: Epoch { counters.epoch }
  public var life: CoordinatorLife { state.life }
  public var lastEvent: UInt64 { counters.lastEvent }

  /// Whether this journal contains every decision up to the mark.
  public func knows(_ mark: HistoryMark) -> Bool { state.knows(mark) }

  /// Whether this journal contains every event up to the mark.
  public func knows(_ mark: EventMark) -> Bool { state.knows(mark) }

  public static func otherHistory(_ whose: String) -> Refusal {
    Refusal(
      .otherHistory,
      "this coordinator's journal does not know \(whose): an older state was restored, or it is "
        + "another cluster",
      hint: "what was told before has no meaning here; begin anew")
  }
}
