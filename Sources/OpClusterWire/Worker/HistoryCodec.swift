// Converts a life of the coordinator, and a position in its history. No value of them is malformed.
// A journal may be restored from a copy: then its epochs are counted once more, and peers know
// commits that it does not have. A random number for each life, and positions in it, tell such
// histories apart.

import OpClusterModel

/// Number 0 belongs to lives of journals that had none.
extension CoordinatorLife {
  var proto: ProtoCoordinatorLife {
    var proto = ProtoCoordinatorLife()
    proto.epoch = epoch.number
    proto.number = number
    return proto
  }
  init(proto: ProtoCoordinatorLife) {
    self.init(Epoch(proto.epoch), number: proto.number)
  }
}

/// A worker and a coordinator exchange it in hello and welcome: how far either knows the log of
/// commits.
extension HistoryMark {
  var proto: ProtoHistoryMark {
    var proto = ProtoHistoryMark()
    proto.life = life.proto
    proto.commit = commit.number
    return proto
  }
  init(proto: ProtoHistoryMark) {
    self.init(life: CoordinatorLife(proto: proto.life), commit: CommitIndex(proto.commit))
  }
}

/// A subscriber brings it along: the newest event that it knows, and the life that numbered it.
extension EventMark {
  var proto: ProtoEventMark {
    var proto = ProtoEventMark()
    proto.life = life.proto
    proto.sequence = sequence
    return proto
  }
  init(proto: ProtoEventMark) {
    self.init(life: CoordinatorLife(proto: proto.life), sequence: proto.sequence)
  }
}
