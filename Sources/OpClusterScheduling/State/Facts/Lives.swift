// Decides whether this journal contains the facts that a peer was told (G12 to G14). A journal that
// was restored from a copy, or truncated, has lost the end of a life: workers and clients may know
// more of that life than the journal does, and that knowledge is invalid here. Each life of the
// coordinator has a random number and a starting position in the log, so a mark (a life, and a
// position in it) can be looked up, however the copy was made. Checked when a worker says
// hello, and when a client subscribes.

import OpClusterModel

extension ClusterState {
  var life: CoordinatorLife { counters.lives.last?.life ?? CoordinatorLife(counters.epoch) }

  /// Begins a life behind this commit and the events so far.
  mutating func beginLife(_ life: CoordinatorLife, after commit: CommitIndex) {
    counters.epoch = life.epoch
    if counters.lives.count >= Limits.rememberedLives { counters.lives.removeFirst() }
    counters.lives.append(KnownLife(life, after: commit, events: counters.lastEvent))
  }

  /// Whether this journal contains every decision up to the mark.
  func knows(_ mark: HistoryMark) -> Bool {
    switch place(of: mark.life) {
    case .untold: mark.commit <= lastCommit
    case .unknown: false
    case .known(let next): mark.commit <= (next?.commitsBefore ?? lastCommit)
    }
  }

  /// Whether this journal contains every event up to the mark.
  func knows(_ mark: EventMark) -> Bool {
    switch place(of: mark.life) {
    case .untold: mark.sequence <= counters.lastEvent
    case .unknown: false
    case .known(let next): mark.sequence <= (next?.eventsBefore ?? counters.lastEvent)
    }
  }

  private enum Place {
    /// A life from before lives had numbers, or forgotten since: the mark is accepted.
    case untold
    /// A life that is not in this journal.
    case unknown
    /// A known life, with its successor if there is one.
    case known(KnownLife?)
  }

  private func place(of life: CoordinatorLife) -> Place {
    guard life.number != 0, let oldest = counters.lives.first?.life.epoch, oldest <= life.epoch
    else { return .untold }
    guard let at = counters.lives.lastIndex(where: { $0.life == life }) else { return .unknown }
    return .known(at + 1 < counters.lives.count ? counters.lives[at + 1] : nil)
  }

  /// The mark that peers are told, so that they can name it again; nil if this life has no number.
  func mark(_ commit: CommitIndex) -> HistoryMark? {
    life.number == 0 ? nil : HistoryMark(life: life, commit: commit)
  }
}
