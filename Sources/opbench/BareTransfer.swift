// The floor of transfers: the same bytes from one process to another over libzmq with CURVE, read
// by nobody; and the same bytes copied on the disk. Each end is a program of its own, as workers
// are.

import ArgumentParser
import FoundationEssentials
import Glibc
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

/// One end of a bare transfer; the benchmark runs both.
struct BareTransfer: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bare-transfer", shouldDisplay: false)

  @Flag var receive = false
  @Option var port: UInt16
  /// Of the receiver.
  @Option var secret: String
  @Option var messages: Int

  static let pieceBytes = Limits.contentPieceBytes

  func run() throws {
    guard let secret = SecretKey(secret) else { throw ValidationError("no secret key") }
    let keys = KeyPair(secret)
    let endpoint = try Endpoint("tcp://127.0.0.1:\(port)")
    if receive { try takeAll(endpoint, keys) } else { try sendAll(endpoint, keys.publicKey) }
  }

  private func takeAll(_ endpoint: Endpoint, _ keys: KeyPair) throws {
    let gate = try Gate { _ in true }
    gate.open(until: .max)
    let socket = try Socket(
      role: .router(maximumMessageBytes: Self.pieceBytes), keys: .server(keys), highWaterMark: 64)
    try socket.watchConnections()
    _ = try socket.bind(endpoint)
    var poller = SocketPoller()
    _ = poller.add(socket)
    var left = messages
    var last: Sender?
    while left > 0 {
      _ = try poller.wait(until: nil)
      _ = socket.countConnections(most: 2)
      while case .message(_, let sender) = socket.receive() {
        left -= 1
        last = sender
      }
    }
    // The sender ends when it hears this; the receiver when it is gone.
    guard let last else { return }
    _ = socket.send([1], to: last.connection)
    sleep(1)
  }

  private func sendAll(_ endpoint: Endpoint, _ server: PublicKey) throws {
    let socket = try connected(endpoint, server)
    var poller = SocketPoller()
    let item = poller.add(socket)
    let piece = [UInt8](repeating: 7, count: Self.pieceBytes)
    var left = messages
    while true {
      while left > 0, case .sent = socket.send(piece) { left -= 1 }
      if left == 0, case .message = socket.receive() { return }
      while let event = socket.nextConnectionEvent() {
        guard event == .connected else { throw ValidationError("the receiver has gone") }
      }
      poller.change(item, to: left > 0 ? [.readable, .writable] : .readable)
      _ = try poller.wait(until: nil)
    }
  }

  /// A dealer behind its handshake: no socket connects twice, and the receiver may not listen yet.
  private func connected(_ endpoint: Endpoint, _ server: PublicKey) throws -> Socket {
    while true {
      let socket = try Socket(
        role: .dealer(maximumMessageBytes: Self.pieceBytes),
        keys: .client(.random(), server: server), highWaterMark: 64)
      try socket.connect(endpoint)
      var poller = SocketPoller()
      _ = poller.add(socket)
      var event: ConnectionEvent?
      while event == nil {
        _ = try poller.wait(until: nil)
        event = socket.nextConnectionEvent()
      }
      if event == .connected { return socket }
      usleep(1_000)
    }
  }

  /// The seconds that so many bytes take.
  static func seconds(for bytes: Int) throws -> Double {
    let secret = KeyPair.random().secretKey.revealedText
    let port = UInt16.random(in: 10_000...30_000)
    let common = [
      "--port", "\(port)", "--secret=\(secret)", "--messages",
      "\(max(1, bytes / pieceBytes))",
    ]
    let start = ContinuousClock().now
    let ends = try [["--receive"], []].map { flags in
      try Spawning.spawn([Spawning.ownPath, "bare-transfer"] + flags + common)
    }
    // The sender, which hears of the end first.
    try Spawning.awaitEnd(of: ends[1])
    let time = (ContinuousClock().now - start) / .seconds(1)
    try Spawning.awaitEnd(of: ends[0])
    return time
  }

  /// The seconds that `cp` takes for a file of so many bytes.
  static func copySeconds(for bytes: Int) throws -> Double {
    let folder = try TemporaryFolder.make(named: "opbench")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = "\(folder)/file"
    try Spawning.awaitEnd(
      of: Spawning.spawn(["sh", "-c", "head -c \(bytes) /dev/urandom > \(file)"]))
    let start = ContinuousClock().now
    try Spawning.awaitEnd(of: Spawning.spawn(["cp", file, "\(file).copy"]))
    return (ContinuousClock().now - start) / .seconds(1)
  }
}
