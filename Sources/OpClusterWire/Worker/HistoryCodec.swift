// Converts a life of the coordinator, and a position in its history. No value of them is malformed.

import OpClusterModel

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
