// Detects peers that send a message without end: it grows inside libzmq, which reports nothing
// (A4), until the connection is cut and its possible senders are logged (G33). On the loop's
// thread.

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
