// The rule of a tap that records every message and says recorded ones again: at once, after the
// next one, later, over another connection, and to a later life of the coordinator. Counts each
// kind of message in each of these ways. Called on the threads of the taps; told from any task.

import OpClusterModel
import OpClusterWire
import Synchronization

enum ReplayWay: String, Sendable, CaseIterable {
  case doubled, reordered
  /// Over the connection it was recorded on.
  case late
  case elsewhere
  /// Over a connection to a later life of the coordinator.
  case afterRestart = "after a restart"
}

final class Replayer: Sendable {
  private struct Recorded {
    var bytes: [UInt8]
    var kinds: [String]
    var connection: Int
    var life: Int
  }
  private struct State {
    var recorded: [[Recorded]] = TapHop.allCases.map { _ in [] }
    /// By kind and way.
    var counts: [String: [ReplayWay: Int]] = [:]
    var heldBack: [Int: [UInt8]] = [:]
    var life = 1
    var lastRequest: UInt64 = 1 << 61
    var isOver = false
  }
  private let state = Mutex(State())
  /// How often each kind is said again in each way.
  private let copies: Int

  init(copies: Int) { self.copies = copies }

  /// The coordinator has begun a new life.
  func restarted() { state.withLock { $0.life += 1 } }
  /// Everything passes as it is from now on.
  func end() { state.withLock { $0.isOver = true } }

  /// Messages by kind and way, as far as they were said again.
  var counts: [String: [ReplayWay: Int]] { state.withLock { $0.counts } }

  /// What has not been said again in some way.
  var missing: [String] {
    counts.sorted { $0.key < $1.key }.flatMap { kind, ways in
      ReplayWay.allCases.filter { ways[$0] == nil && !($0 == .reordered && isOpening([kind])) }
        .map { "\(kind) \($0.rawValue)" }
    }
  }

  func rule(_ message: TapMessage) -> [[UInt8]] {
    let kinds = MessageKinds.of(message.bytes, message.hop)
    return state.withLock { state in
      let place = message.connection * 2 + (message.hop.isToCoordinator ? 0 : 1)
      if state.isOver {
        return [message.bytes] + (state.heldBack.removeValue(forKey: place).map { [$0] } ?? [])
      }
      for kind in kinds where state.counts[kind] == nil { state.counts[kind] = [:] }
      keep(message, kinds, &state)
      if let earlier = state.heldBack.removeValue(forKey: place) {
        return [message.bytes, earlier]
      }
      if lacks(kinds, .reordered, state), !isOpening(kinds) {
        count(kinds, .reordered, &state)
        state.heldBack[place] = message.bytes
        return []
      }
      if lacks(kinds, .doubled, state) {
        count(kinds, .doubled, &state)
        return [message.bytes, message.bytes]
      }
      return [message.bytes] + again(at: message, &state)
    }
  }

  /// Nothing follows before it has arrived: there is no other order.
  private func isOpening(_ kinds: [String]) -> Bool {
    kinds.contains { $0.hasSuffix(" hello") || $0.hasSuffix(" welcome") }
  }

  private func lacks(_ kinds: [String], _ way: ReplayWay, _ state: State) -> Bool {
    kinds.contains { (state.counts[$0]?[way] ?? 0) < copies }
  }

  private func count(_ kinds: [String], _ way: ReplayWay, _ state: inout State) {
    for kind in kinds { state.counts[kind, default: [:]][way, default: 0] += 1 }
  }

  private func keep(_ message: TapMessage, _ kinds: [String], _ state: inout State) {
    let hop = message.hop.rawValue
    guard !kinds.isEmpty else { return }
    let fresh = Recorded(
      bytes: message.bytes, kinds: kinds, connection: message.connection, life: state.life)
    // Of each kind the first and the newest: 3 of each connection and life.
    let alike = state.recorded[hop].indices.filter {
      let old = state.recorded[hop][$0]
      return old.kinds == kinds && old.life == state.life && old.connection == message.connection
    }
    if alike.count >= 3 { state.recorded[hop].remove(at: alike[1]) }
    state.recorded[hop].append(fresh)
  }

  /// Something recorded that has been said again too seldom, and how.
  private func again(at message: TapMessage, _ state: inout State) -> [[UInt8]] {
    for recorded in state.recorded[message.hop.rawValue].shuffled() {
      let way: ReplayWay =
        recorded.connection == message.connection
        ? .late : recorded.life == state.life ? .elsewhere : .afterRestart
      guard lacks(recorded.kinds, way, state) else { continue }
      count(recorded.kinds, way, &state)
      return [way == .late ? recorded.bytes : renumbered(recorded.bytes, message.hop, &state)]
    }
    return []
  }

  /// A request from elsewhere gets a number that nobody waits for, so that its answer is not taken
  /// for that to another question.
  private func renumbered(_ bytes: [UInt8], _ hop: TapHop, _ state: inout State) -> [UInt8] {
    state.lastRequest += 1
    let id = RequestID(state.lastRequest)
    switch hop {
    case .clientToCoordinator:
      guard case .request(_, let what)? = try? Wire.decodeClientMessage(bytes) else { return bytes }
      return Wire.encode(ClientMessage.request(id, what))
    case .coordinatorToClient:
      guard case .reply(_, let reply)? = try? Wire.decodeClientAnswer(bytes) else { return bytes }
      return Wire.encode(ClientAnswer.reply(id, reply))
    case .workerToCoordinator, .coordinatorToWorker: return bytes
    }
  }
}
