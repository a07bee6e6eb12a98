// The sample of "Coming from OperationQueue" that has both modules in one file.

// snippet: both
import Foundation
import OpCluster

func both() async throws {
  let theirs = OperationQueue()
  let ours = ClusterOperationQueue(name: "both")
  theirs.addOperation { print("Foundation's") }
  try await ours.addOperation { _ in print("ours") }
  try await ours.waitUntilAllOperationsAreFinished()
}
// end
