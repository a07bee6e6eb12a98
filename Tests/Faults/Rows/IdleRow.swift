// What an idle coordinator costs (G30): with a thousand connections that are greeted by libzmq and
// silent, with a thousand clients' worth of them at the limit of its descriptors. Any task.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

/// G30
func idleProcessor(_ trial: Trial) async throws {
  let seconds = trial.scale.isShort ? 1.0 : max(5, 40 * trial.scale.part)
  Surroundings.raiseDescriptorLimit()
  try await idle(trial, "1,000 connections", connections: 1_000, descriptors: nil, seconds)
  try await idle(
    trial, "5,000 connections and 2,600 descriptors", connections: 5_000, descriptors: 2_600,
    seconds)
}

private func idle(
  _ trial: Trial, _ name: String, connections: Int, descriptors: Int?, _ seconds: Double
) async throws {
  var shape = trial.shape(workers: 1)
  if let descriptors {
    shape.launches["opcoord"] = Cluster.Launch(
      through: ["/bin/sh", "-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\""])
  }
  try await Cluster.with(shape) { cluster in
    let good = try await cluster.reach()
    var crowd: [RawPeer] = []
    for number in 0..<connections {
      guard let peer = try? RawPeer(cluster.address) else { continue }
      peer.say(RawPeer.greeting + RawPeer.ready)
      crowd.append(peer)
      if number % 100 == 99 { try await Task.sleep(for: .milliseconds(20)) }
    }
    trial.injected("connection that says nothing", times: crowd.count)
    // Until all are shaken hands with, or cut.
    try await Task.sleep(for: .seconds(3))
    let process = try cluster.process("opcoord")
    let (start, used) = (Moment.now, Surroundings.processorSeconds(process))
    try await Task.sleep(for: .milliseconds(Int(seconds * 1000)))
    let share =
      (Surroundings.processorSeconds(process) - used) / Moment.now.seconds(since: start)
    trial.note(
      "\(name): \(Moment.text(share * 100)) % of a processor in \(Int(seconds)) s")
    trial.expect(share < 0.05, "G30: \(name): \(Moment.text(share)) of a processor")
    _ = try await good.request(.ping, timeout: .seconds(10))
    await good.close()
    withExtendedLifetime(crowd) {}
  }
}
