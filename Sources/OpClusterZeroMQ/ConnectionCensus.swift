// How many connections a router has. A value; RouterConnections.swift counts.

/// What a router knows of its connections.
public struct ConnectionCensus: Hashable, Sendable {
  /// Connections that are open now, greeted or not.
  public internal(set) var open = 0
  /// Cut because there were too many.
  public internal(set) var refused: UInt64 = 0
  /// Cut because they said nothing for too long, or too many of one host did so.
  public internal(set) var silent: UInt64 = 0
  public init() {}
}

extension ConnectionCensus {
  /// Connections that may have been accepted and not been counted yet. So many descriptors have to
  /// be left over: at their end libzmq 4.3.4 turns in circles over TCP (A7) and aborts over ipc.
  public static let mostUncounted = 1_000 + unreadEvents + 1

  /// Events that may be unread before libzmq waits for the reader, beside the thousand that its own
  /// end keeps: as few as can be, since it accepts nobody while it waits.
  static let unreadEvents = 1
}
