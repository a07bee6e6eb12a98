// What a relay makes of the messages in a stream that is not encrypted: it cuts the stream into the
// frames of ZMTP 3, records them by what they say, and sends them twice, later, and again at some
// other time. The taps belong to the relay's thread; the recorder is for any.

import Synchronization

/// When a message that is said again was said first.
enum RecordedAge: String, Sendable, CaseIterable {
  case thisSession = "of this session"
  case otherSession = "of another session"
  case otherLife = "of another life of opcoord"
}

/// Messages by what they say, and how often they were said again.
final class Recorder: Sendable {
  fileprivate struct Entry {
    var frame: [UInt8]
    var session: Int
    var life: Int
  }
  private struct State {
    var entries: [String: [Entry]] = [:]
    var replayed: [String: [RecordedAge: Int]] = [:]
    var mixed = 0
    var life = 1
    var sessions = 0
  }
  private let state = Mutex(State())
  private let kinds: @Sendable ([UInt8]) -> [String]
  private static let entriesPerKind = 1_000

  /// - Parameter kinds: What a message says; several words for several things in one.
  init(_ kinds: @escaping @Sendable ([UInt8]) -> [String]) { self.kinds = kinds }

  /// The coordinator was started anew.
  func beginLife() { state.withLock { $0.life += 1 } }

  /// Messages that were doubled or came after the next one.
  var mixed: Int { state.withLock { $0.mixed } }
  /// How often a message of a kind and an age was said again.
  func replayed(_ kind: String, _ age: RecordedAge) -> Int {
    state.withLock { $0.replayed[kind]?[age] ?? 0 }
  }
  var replayed: Int {
    state.withLock { $0.replayed.values.reduce(0) { $0 + $1.values.reduce(0, +) } }
  }

  fileprivate func nextSession() -> Int {
    state.withLock { state in
      state.sessions += 1
      return state.sessions
    }
  }

  fileprivate func mix() { state.withLock { $0.mixed += 1 } }

  fileprivate func record(_ frame: [UInt8], session: Int) {
    let payload = Array(frame.dropFirst(frame[0] & 2 != 0 ? 9 : 2))
    for kind in kinds(payload) {
      state.withLock { state in
        let entry = Entry(frame: frame, session: session, life: state.life)
        if state.entries[kind, default: []].count < Self.entriesPerKind {
          state.entries[kind, default: []].append(entry)
        } else {
          state.entries[kind]?[Int.random(in: 0..<Self.entriesPerKind)] = entry
        }
      }
    }
  }

  /// Something that was said before; rare kinds and rare ages as often as others.
  fileprivate func pick(session: Int) -> [UInt8]? {
    state.withLock { state in
      guard let kind = state.entries.keys.randomElement(), let all = state.entries[kind] else {
        return nil
      }
      func age(_ entry: Entry) -> RecordedAge {
        if entry.life != state.life { return .otherLife }
        return entry.session == session ? .thisSession : .otherSession
      }
      // Of those ages that there are.
      let entries = RecordedAge.allCases.compactMap { wanted in
        all.filter { age($0) == wanted }.randomElement()
      }
      guard let entry = entries.randomElement() else { return nil }
      let wanted = age(entry)
      state.replayed[kind, default: [:]][wanted, default: 0] += 1
      return entry.frame
    }
  }
}

/// One direction of one connection.
struct FrameTap {
  private var buffer: [UInt8] = []
  /// Of the 64 bytes of a greeting, which either side sends in parts as the other goes on.
  private var greeting = 64
  private var heldBack: [UInt8] = []
  private var heldSince: Int64 = 0
  private var session = 0

  /// What is to be sent for these bytes.
  mutating func mixed(
    _ bytes: ArraySlice<UInt8>, _ share: Double, _ recorder: Recorder, at now: Int64
  ) -> [UInt8] {
    if session == 0 { session = recorder.nextSession() }
    var out = Array(bytes.prefix(greeting))
    buffer += bytes.dropFirst(out.count)
    greeting -= out.count
    while let (frame, isMessage) = next() {
      guard isMessage else {
        out += frame
        continue
      }
      recorder.record(frame, session: session)
      let generator = Double.random(in: 0..<1)
      if generator < share, heldBack.isEmpty {
        heldBack = frame
        heldSince = now
        recorder.mix()
        continue
      }
      out += frame + heldBack
      heldBack = []
      if generator > 1 - share {
        out += frame
        recorder.mix()
      }
      if Double.random(in: 0..<1) < share, let old = recorder.pick(session: session) { out += old }
    }
    return out
  }

  /// A message that was held back, when nothing has followed for a while: whoever waits for its
  /// answer says nothing more.
  mutating func overdue(at now: Int64) -> [UInt8]? {
    guard !heldBack.isEmpty, now - heldSince > 50_000_000 else { return nil }
    defer { heldBack = [] }
    return heldBack
  }

  private mutating func next() -> (frame: [UInt8], isMessage: Bool)? {
    guard let flags = buffer.first else { return nil }
    let isLong = flags & 2 != 0
    guard buffer.count >= (isLong ? 9 : 2) else { return nil }
    let size =
      isLong ? buffer[1..<9].reduce(0) { $0 << 8 | Int($1) } + 9 : Int(buffer[1]) + 2
    guard buffer.count >= size else { return nil }
    return (take(size), flags & 4 == 0)
  }

  private mutating func take(_ count: Int) -> [UInt8] {
    let taken = Array(buffer[..<count])
    buffer.removeFirst(count)
    return taken
  }
}
