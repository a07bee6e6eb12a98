// The libzmq options that we set, and the table of their values. `Socket.init` applies the table;
// tests read it back. Pure.

import CZeroMQ

/// What a socket is for, and how large a message it accepts.
public enum SocketRole: Hashable, Sendable {
  /// Binds; serves many peers, each named by a `RoutingID`.
  case router(maximumMessageBytes: Int)
  /// Connects; talks to one router.
  case dealer(maximumMessageBytes: Int)

  /// The largest message accepted from a peer, in bytes. A peer that sends more is cut off.
  public var maximumMessageBytes: Int {
    switch self {
    case .router(let bytes), .dealer(let bytes): bytes
    }
  }

  var isRouter: Bool {
    if case .router = self { true } else { false }
  }

  var type: Int32 { isRouter ? ZMQ_ROUTER : ZMQ_DEALER }
}

/// A libzmq setting. Heartbeats appear only to be asserted as off (A1).
public enum SocketOption: Hashable, Sendable, CaseIterable {
  case routerMandatory, routerHandover
  case heartbeatInterval, handshakeInterval
  case maximumMessageBytes, sendHighWaterMark, receiveHighWaterMark
  case backlog, linger, sendTimeout
  case tcpKeepalive, tcpKeepaliveIdle, tcpKeepaliveInterval, tcpKeepaliveCount
  case tcpMaximumRetransmission
  case immediate, reconnectInterval, ipv6
  case curveServer, zapEnforceDomain

  /// Whether libzmq tells the value: it does not for the two that only ROUTER has.
  public var isReadable: Bool {
    switch self {
    case .routerMandatory, .routerHandover: false
    default: true
    }
  }

  /// Whether the value is 64 bits wide; all others are 32.
  var isWide: Bool { self == .maximumMessageBytes }

  var number: Int32 {
    switch self {
    case .routerMandatory: ZMQ_ROUTER_MANDATORY
    case .routerHandover: ZMQ_ROUTER_HANDOVER
    case .heartbeatInterval: ZMQ_HEARTBEAT_IVL
    case .handshakeInterval: ZMQ_HANDSHAKE_IVL
    case .maximumMessageBytes: ZMQ_MAXMSGSIZE
    case .sendHighWaterMark: ZMQ_SNDHWM
    case .receiveHighWaterMark: ZMQ_RCVHWM
    case .backlog: ZMQ_BACKLOG
    case .linger: ZMQ_LINGER
    case .sendTimeout: ZMQ_SNDTIMEO
    case .tcpKeepalive: ZMQ_TCP_KEEPALIVE
    case .tcpKeepaliveIdle: ZMQ_TCP_KEEPALIVE_IDLE
    case .tcpKeepaliveInterval: ZMQ_TCP_KEEPALIVE_INTVL
    case .tcpKeepaliveCount: ZMQ_TCP_KEEPALIVE_CNT
    case .tcpMaximumRetransmission: ZMQ_TCP_MAXRT
    case .immediate: ZMQ_IMMEDIATE
    case .reconnectInterval: ZMQ_RECONNECT_IVL
    case .ipv6: ZMQ_IPV6
    case .curveServer: ZMQ_CURVE_SERVER
    // ZMQ_ZAP_ENFORCE_DOMAIN, which the header shows only to drafts (A6).
    case .zapEnforceDomain: 93
    }
  }
}

extension SocketRole {
  /// Everything that is set on a socket of this role before it binds or connects.
  func settings(
    highWaterMark: Int, lingerMilliseconds: Int
  ) -> [(option: SocketOption, value: Int)] {
    let common: [(option: SocketOption, value: Int)] = [
      // ZMTP heartbeats can abort the process under back-pressure (A1): never.
      (.heartbeatInterval, 0),
      (.handshakeInterval, 2_000),
      (.maximumMessageBytes, maximumMessageBytes),
      (.sendHighWaterMark, highWaterMark), (.receiveHighWaterMark, highWaterMark),
      // A shorter queue makes a thousand reconnecting workers wait seconds (A8).
      (.backlog, 4_096),
      // libzmq would keep unsent messages, and the process, for ever (A15).
      (.linger, lingerMilliseconds),
      (.sendTimeout, 0),
      // A vanished machine is noticed within 11 s, idle or sending (A10).
      (.tcpKeepalive, 1), (.tcpKeepaliveIdle, 5), (.tcpKeepaliveInterval, 2),
      (.tcpKeepaliveCount, 3),
      (.tcpMaximumRetransmission, 10_000),
      // The owner opens a fresh socket per session, with its own back-off (A2, A19).
      (.reconnectInterval, -1),
    ]
    if isRouter {
      // Without the first, messages for the gone or the slow vanish in silence (A3).
      return common + [(.routerMandatory, 1), (.routerHandover, 0)]
    }
    // Nothing is queued for a coordinator that is not there (A20).
    return common + [(.immediate, 1)]
  }
}
