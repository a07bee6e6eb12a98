// The name that a ROUTER socket gives to one connection. A pure value of four bytes.

/// Names one connection of a ROUTER socket, for as long as that connection lives.
///
/// libzmq numbers connections itself; a peer that chooses its own name is not listened to (A2), so
/// four bytes are all there is. It says nothing about who the peer is: that is the hello's task.
/// Never tell it to a peer: one who can guess the next number can end this process.
public struct RoutingID: Hashable, Sendable, CustomStringConvertible {
  /// The number that libzmq gave to the connection.
  public let number: UInt32

  public init(number: UInt32) { self.number = number }

  public var description: String { "peer-" + String(number, radix: 16) }

  /// Bytes of the frame that carries it: a zero, then the number, high byte first.
  static let frameBytes = 5

  /// Reads the frame that libzmq puts in front of a message; nil if the peer chose its own name.
  init?(frame: UnsafeRawBufferPointer) {
    guard frame.count == RoutingID.frameBytes, unsafe frame[0] == 0 else { return nil }
    number = UInt32(bigEndian: unsafe frame.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
  }

  /// The eight bytes whose first five, in memory order, are the frame.
  var frameWord: UInt64 { (UInt64(number) << 24).bigEndian }
}
