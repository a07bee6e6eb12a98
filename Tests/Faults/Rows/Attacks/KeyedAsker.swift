// A client with a key that asks one thing after the other and hears the answer, over the plain
// wire: what it says is what an attack tells it to, checked by nobody on its way. And what the
// coordinator spends on somebody else meanwhile. The asker is for the thread that makes it.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

final class KeyedAsker {
  private let address: String
  private let keys: SocketKeys
  private var dealer: KeyedDealer
  private var lastRequest: UInt64 = 0
  /// Requests that were answered, whatever the answer.
  private(set) var answered = 0

  init(_ address: String, _ keys: SocketKeys) throws {
    self.address = address
    self.keys = keys
    dealer = try Self.greeted(address, keys)
  }

  private static func greeted(_ address: String, _ keys: SocketKeys) throws -> KeyedDealer {
    for _ in 0..<60 {
      let dealer = try KeyedDealer(address, keys)
      _ = try dealer.send(Wire.encode(ClientMessage.hello(ClientHello(build: "asker"))))
      let answer = try dealer.answer(within: 20_000)
      if case .welcome? = answer { return dealer }
      guard case .reply(_, .refused(let refusal))? = answer, refusal.code == .busy else {
        throw Trouble("no welcome at \(address): \(String(describing: answer))")
      }
      usleep(500_000)
    }
    throw Trouble("too busy for a welcome at \(address)")
  }

  /// The answer; who is told to come again because it asks too often does so, who is told that
  /// there is no room hears of that.
  func ask(_ request: ClientRequest) throws -> ClientReply {
    let deadline = MonotonicClock.now() + 120_000_000_000
    while true {
      let reply = try askOnce(request, until: deadline)
      guard case .refused(let refusal) = reply, refusal.code == .busy, !refusal.lacksRoom,
        let wait = refusal.retryAfter, MonotonicClock.now() < deadline
      else {
        answered += 1
        return reply
      }
      usleep(UInt32(min(max(wait.nanoseconds / 1_000, 1_000), 1_000_000)))
    }
  }

  private func askOnce(_ request: ClientRequest, until deadline: Int64) throws -> ClientReply {
    lastRequest += 1
    let id = RequestID(lastRequest)
    guard try dealer.send(Wire.encode(ClientMessage.request(id, request))) else {
      dealer = try Self.greeted(address, keys)
      return .refused(Refusal(.badRequest, "the connection was cut"))
    }
    while MonotonicClock.now() < deadline {
      for bytes in try dealer.receive(within: 500) {
        guard case .reply(let which, let reply) = try Wire.decodeClientAnswer(bytes) else {
          continue
        }
        if which == id { return reply }
        // What cannot be decoded has no number, and ends the connection.
        if which.number == 0, case .refused = reply {
          dealer = try Self.greeted(address, keys)
          return reply
        }
      }
      if dealer.isCut {
        dealer = try Self.greeted(address, keys)
        return .refused(Refusal(.badRequest, "the connection was cut"))
      }
    }
    throw Trouble("no answer within 120 s")
  }

  /// Hears what has come, and says a word that keeps the connection.
  func stay() throws { _ = try ask(.ping) }

  func submit(_ graph: GraphSubmission) throws -> GraphID {
    let reply = try ask(.submit(graph))
    guard case .accepted(let id, _, _) = reply else { throw Trouble("not accepted: \(reply)") }
    return id
  }

  func cancel(_ selection: Selection) throws {
    let reply = try ask(.cancel(.selection(selection), reason: "", grace: nil))
    switch reply {
    case .cancelled: return
    case .refused(let refusal) where refusal.code == .alreadyFinished: return
    default: throw Trouble("not cancelled: \(reply)")
    }
  }

  /// The refusal that something meets; nil if it was taken.
  func refusal(of request: ClientRequest) throws -> Refusal? {
    if case .refused(let refusal) = try ask(request) { refusal } else { nil }
  }
}

/// What somebody who does nothing wrong costs the coordinator, and how long that one waits.
struct Toll: Sendable {
  /// Seconds of the coordinator's processor for one small graph, from its submission to its end.
  /// Says what a turn costs, whatever else the machine does.
  var processor: Double
  /// Seconds of a ping, the median and the longest.
  var ping: Double
  var longestPing: Double

  var text: String {
    "\(Self.milliseconds(processor)) ms of opcoord's processor for a graph, "
      + "\(Self.milliseconds(ping)) ms (at most \(Self.milliseconds(longestPing))) for a ping"
  }

  private static func milliseconds(_ seconds: Double) -> String { Moment.text(seconds * 1000) }

  static func measured(
    on cluster: Cluster, graphs: Int, resource: String? = nil
  ) async throws -> Toll {
    let process = try cluster.process("opcoord")
    let bystander = try await Bystander(on: cluster, resource: resource)
    let connection = try await cluster.reach()
    _ = try await bystander.isServed()
    let start = Surroundings.processorSeconds(process)
    for _ in 0..<graphs { _ = try await bystander.isServed() }
    let spent = Surroundings.processorSeconds(process) - start
    var pings = Series()
    for _ in 0..<(5 * graphs) {
      let sent = Moment.now
      _ = try await connection.request(.ping, timeout: .seconds(60))
      pings.add(Moment.now.seconds(since: sent))
    }
    await bystander.end()
    await connection.close()
    return Toll(
      processor: spent / Double(graphs), ping: pings.middle, longestPing: pings.largest)
  }
}

extension Trial {
  /// What a bystander costs beside something is near what it costs without; the clock of
  /// processors has ticks of 10 ms.
  func expectNear(_ beside: Toll, _ calm: Toll, _ what: String) {
    note("beside \(what): \(beside.text)")
    let bound = 4 * calm.processor + 0.010
    expect(
      beside.processor <= bound,
      "G29: beside \(what) a graph costs \(beside.text), and \(calm.text) without")
    expect(beside.longestPing <= 10, "G29: beside \(what): \(beside.text)")
  }
}
