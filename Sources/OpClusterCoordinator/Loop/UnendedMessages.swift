// Who sends a message that never ends: it grows in libzmq, which tells nobody (A4), until this cuts
// the connection and names whoever it may have been (G33). On the loop's thread.

import Logging
import OpClusterModel
import OpClusterZeroMQ

extension CoordinatorLoop {
  func cutUnendedMessages() {
    guard now >= watch.nextTrafficLook else { return }
    watch.nextTrafficLook = now + CoordinatorLimits.trafficLookPause
    let limit = UInt64(settings.unheardBytes)
    for connection in workers.cutUnheard(beyond: limit) + clients.cutUnheard(beyond: limit) {
      let address = connection.origin.networkAddress ?? "unknown"
      let names = keys.access?.names(admittedFrom: address) ?? []
      logger.error(
        """
        a connection is cut: it has sent more than can be heard, as by a message that never ends
        """,
        metadata: [
          "address": "\(address)", "unheard_bytes": "\(connection.bytes)",
          "keys_let_in_from_there": "\(names.joined(separator: " "))",
        ])
    }
  }
}
