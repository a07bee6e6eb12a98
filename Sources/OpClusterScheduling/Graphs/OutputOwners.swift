// The interface of the coordinator's loop to outputs.

public import OpClusterModel

extension Scheduler {
  /// Sets the owner of a graph, for this life of the coordinator; counts its outputs with those of
  /// the owner's other graphs (G29).
  public mutating func own(_ graph: GraphID, by owner: GraphOwner) {
    state.own(graph, by: owner)
  }

  /// The refusal of a repeated graph whose taken-over outputs lack room (S11, G29); nil if there is
  /// room.
  public func lackOfRoom(
    forOutputsOf submission: GraphSubmission, by owner: GraphOwner
  ) -> Refusal? {
    state.lackOfRoom(forOutputsOf: submission, by: owner)
  }
}
