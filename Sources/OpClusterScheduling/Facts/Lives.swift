// Whether what somebody was told is in this journal (G12 to G14). A journal that was restored from
// a copy, or cut, has lost the end of a life: workers and clients may know more of that life than
// it does, and what they know has no meaning here. Each life of the coordinator has a random number
// and a place in the log where it began, so that a mark (a life, and how far it was heard) can be
// looked up, whoever made the copy and with what. Asked where a worker or a subscriber says hello.

public import OpClusterModel

extension ClusterState {
  var life: CoordinatorLife { counters.lives.last?.life ?? CoordinatorLife(counters.epoch) }

  /// A life begins behind this commit and the events so far.
  mutating func beginLife(_ life: CoordinatorLife, after commit: CommitIndex) {
    counters.epoch = life.epoch
    if counters.lives.count >= Limits.rememberedLives { counters.lives.removeFirst() }
    counters.lives.append(KnownLife(life, after: commit, events: counters.lastEvent))
  }

  /// Whether everything that was decided up to the mark is in this journal.
  func knows(_ mark: HistoryMark) -> Bool {
    if SchedulingBug.believedMarks.isPlanted { return true }
    return switch place(of: mark.life) {
    case .untold: true
    case .unknown: false
    case .known(let next): mark.commit <= (next?.commitsBefore ?? lastCommit)
    }
  }

  /// The same of events.
  func knows(_ mark: EventMark) -> Bool {
    switch place(of: mark.life) {
    case .untold: mark.sequence <= counters.lastEvent
    case .unknown: false
    case .known(let next): mark.sequence <= (next?.eventsBefore ?? counters.lastEvent)
    }
  }

  private enum Place {
    /// Of before lives had numbers, or forgotten since: it is believed.
    case untold
    /// No life of this journal.
    case unknown
    /// With the life that came after it, if any.
    case known(KnownLife?)
  }

  private func place(of life: CoordinatorLife) -> Place {
    guard life.number != 0, let oldest = counters.lives.first?.life.epoch, oldest <= life.epoch
    else { return .untold }
    guard let at = counters.lives.lastIndex(where: { $0.life == life }) else { return .unknown }
    return .known(at + 1 < counters.lives.count ? counters.lives[at + 1] : nil)
  }

  /// What is told to peers, so that they can name it again; nil where this life has no number.
  func mark(_ commit: CommitIndex) -> HistoryMark? {
    life.number == 0 ? nil : HistoryMark(life: life, commit: commit)
  }

}

extension Scheduler {
  public var epoch: Epoch { counters.epoch }
  public var life: CoordinatorLife { state.life }
  public var lastEvent: UInt64 { counters.lastEvent }

  /// Whether everything that was decided up to the mark is in this journal.
  public func knows(_ mark: HistoryMark) -> Bool { state.knows(mark) }

  /// The same of events.
  public func knows(_ mark: EventMark) -> Bool { state.knows(mark) }

  public static func otherHistory(_ whose: String) -> Refusal {
    Refusal(
      .otherHistory,
      "this coordinator's journal does not know \(whose): an older state was restored, or it is "
        + "another cluster",
      hint: "what was told before has no meaning here; begin anew")
  }
}
