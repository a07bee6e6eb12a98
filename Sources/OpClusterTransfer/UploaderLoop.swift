// The thread of an uploader: offers files, reads pieces as far as there is credit, sends them.

import DequeModule
import Glibc
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ

/// Owned by its thread.
final class UploaderLoop {
  private struct Offer {
    var file: LocalFile
    /// nil: it has not been wanted yet.
    var open: OpenContent?
    /// Where the store wanted it from.
    var start: Int64 = 0
    var next: Int64 = 0
    var credit: Int64 = 0
  }

  private let store: ContentSource
  private let keys: KeyPair?
  private let orders: Mailbox<UploadOrder>
  private let patience: OpClusterModel.Span
  private let sent: @Sendable (Int64) -> Void
  private var waiting: Deque<LocalFile>
  /// Those that cannot be offered before a moment, in order of it.
  private var later: Deque<(at: Instant, file: LocalFile)> = []
  private var offers: [UInt64: Offer] = [:]
  /// The offers with credit, in rotation; some have ended since.
  private var ready: Deque<UInt64> = []
  private var failures: [LocalFile: UploadFailure] = [:]
  /// Since when a file has been put off.
  private var putOffSince: [LocalFile: Instant] = [:]
  private let allowance: SharedSendAllowance
  private var lastNumber: UInt64 = 0
  private var link: HolderLink?
  private var isConnected = false
  private var connectsAt = Instant.distantPast
  private var lastProgress = Instant(nanoseconds: MonotonicClock.now())
  private var nextTrafficLook = Instant.zero
  /// The store has sent more than can be heard.
  private var isUnheard = false
  private var now = Instant(nanoseconds: MonotonicClock.now())

  /// Offers at a time: small files do not wait for each other's answers.
  private static let mostOffers = 32
  /// Pieces that the socket may have waiting.
  private static let mostUnsent = 8
  private static let pause = OpClusterModel.Span.milliseconds(200)
  private static let messagesPerTurn = 64

  /// - Parameter patience: As of `ContentUploader`; also how long a file is offered again that is
  ///   put off.
  init(
    _ files: [LocalFile], _ store: ContentSource, _ keys: KeyPair?,
    _ orders: Mailbox<UploadOrder>, _ patience: OpClusterModel.Span,
    _ allowance: SharedSendAllowance,
    _ sent: @escaping @Sendable (Int64) -> Void
  ) {
    self.allowance = allowance
    waiting = Deque(files)
    self.store = store
    self.keys = keys
    self.orders = orders
    self.patience = patience
    self.sent = sent
  }

  /// Returns the files that were not left.
  func run() -> [LocalFile: UploadFailure] {
    while !isDone {
      var batch: [UploadOrder] = []
      orders.takeAll(into: &batch)
      if !batch.isEmpty || now > lastProgress + patience { return giveUp() }
      connectIfDue()
      takeMessages()
      if isUnheard { return giveUp() }
      while let first = later.first, first.at <= now { waiting.append(later.removeFirst().file) }
      offerMore()
      sendPieces()
      flush()
      guard isDone || wait() else { return giveUp() }
    }
    return failures
  }

  private func flush() {
    guard let link else { return }
    let before = link.sentCount
    if !link.flush() { return lose() }
    // Over a slow network a store has long nothing to say.
    if link.sentCount > before { lastProgress = now }
  }

  private var isDone: Bool { waiting.isEmpty && later.isEmpty && offers.isEmpty }

  private func giveUp() -> [LocalFile: UploadFailure] {
    for file in waiting + later.map(\.file) + offers.values.map(\.file) {
      failures[file] = failures[file] ?? .unreachable
    }
    return failures
  }

  private func connectIfDue() {
    guard link == nil, now >= connectsAt else { return }
    connectsAt = now + Self.pause
    link = try? HolderLink(to: store, keys)
  }

  /// The connection has ended: everything is offered anew, and goes on where the store has got to.
  private func lose() {
    link = nil
    isConnected = false
    for offer in offers.values.sorted(by: { $0.file.path < $1.file.path }) {
      if offer.open != nil { sent(-offer.next) }
      waiting.prepend(offer.file)
    }
    offers = [:]
    ready = []
  }

  private func wait() -> Bool {
    var poller = SocketPoller()
    _ = poller.add(descriptor: orders.descriptor)
    link?.join(&poller)
    link?.listen(&poller)
    let due = [
      link == nil ? connectsAt : nextTrafficLook, later.first?.at, lastProgress + patience,
    ]
    let isBusy = isConnected && !ready.isEmpty && link.map { !$0.isFull(Self.mostUnsent) } == true
    let deadline = isBusy ? allowance.opens(after: now) : due.compactMap { $0 }.min() ?? now
    defer { now = Instant(nanoseconds: MonotonicClock.now()) }
    return (try? poller.wait(until: deadline.nanoseconds)) != nil
  }

  // MARK: - Answers

  private func takeMessages() {
    guard let link else { return }
    if now >= nextTrafficLook {
      nextTrafficLook = now + HolderLink.trafficLook
      // An answer that never ends is none, and offers that are repeated are no progress.
      isUnheard = link.hasUnheard(beyond: UInt64(Limits.unheardBytes))
      if isUnheard { return }
    }
    while let event = link.nextEvent() {
      guard case .connected = event else { return lose() }
      isConnected = true
    }
    for _ in 0..<Self.messagesPerTurn {
      switch link.receive() {
      case .nothing: return
      case .message(let bytes, _):
        guard let answer = try? Wire.decodeContentAnswer(bytes), take(answer) else {
          return lose()
        }
      case .malformed, .failed: return lose()
      }
    }
  }

  /// False: the store does not keep the rules.
  private func take(_ answer: ContentAnswer) -> Bool {
    lastProgress = now
    switch answer {
    case .piece: return false
    case .wanted(let number, let offset, let credit): return give(credit, from: offset, number)
    case .kept(let number):
      guard let offer = offers.removeValue(forKey: number) else { return true }
      sent(offer.file.content.size - offer.next)
    case .refused(let number, let refusal):
      guard let offer = offers.removeValue(forKey: number) else { return true }
      sent(-offer.next)
      if refusal == .damaged, offer.start > 0 {
        // What was there may have been somebody else's beginning; now it has to come as a whole.
        waiting.append(offer.file)
      } else {
        refused(offer.file, refusal)
      }
    }
    return true
  }

  private func give(_ credit: Int64, from offset: Int64, _ number: UInt64) -> Bool {
    guard var offer = offers[number] else { return true }
    if offer.open == nil {
      guard offset <= offer.file.content.size else { return false }
      do throws(StoreError) {
        offer.open = try offer.file.open()
      } catch {
        offers[number] = nil
        failures[offer.file] = .unreadable(error.description)
        link?.send(Wire.encode(.stop(number: number)))
        return true
      }
      (offer.start, offer.next) = (offset, offset)
      sent(offset)
    }
    if offer.credit == 0 { ready.append(number) }
    // Bounded where it was decoded, and by the size below.
    offer.credit = min(offer.credit + credit, offer.file.content.size)
    offers[number] = offer
    return true
  }

  private func refused(_ file: LocalFile, _ refusal: ContentRefusal) {
    switch refusal {
    // The word of the coordinator may be on its way; somebody else may be leaving the same.
    case .notGranted, .busy:
      let since = putOffSince[file] ?? now
      putOffSince[file] = since
      guard now < since + patience else {
        failures[file] = refusal == .busy ? .busy : .notGranted
        return
      }
      later.append((at: now + Self.pause, file: file))
    case .full: failures[file] = .full
    case .damaged: failures[file] = .changed
    case .absent, .failed: failures[file] = .failed
    }
  }

  // MARK: - Sending

  private func offerMore() {
    guard isConnected, let link else { return }
    while offers.count < Self.mostOffers, let file = waiting.popFirst() {
      lastNumber += 1
      offers[lastNumber] = Offer(file: file)
      link.send(Wire.encode(.offer(number: lastNumber, file.content)))
    }
  }

  private func sendPieces() {
    guard isConnected, let link else { return }
    while !link.isFull(Self.mostUnsent), allowance.isOpen(at: now), let number = ready.popFirst() {
      guard var offer = offers[number], let open = offer.open, offer.credit > 0 else { continue }
      let most = min(offer.credit, Int64(Limits.contentPieceBytes))
      do throws(StoreError) {
        let bytes = try open.read(at: offer.next, most: Int(most))
        guard !bytes.isEmpty else { throw .absent(offer.file.content.digest) }
        link.send(Wire.encode(ContentRequest.piece(number: number, offset: offer.next, bytes)))
        offer.next += Int64(bytes.count)
        offer.credit -= Int64(bytes.count)
        offers[number] = offer
        allowance.take(bytes.count)
        sent(Int64(bytes.count))
        // One after the other: the first is there soon, and the store answers.
        if offer.credit > 0 { ready.prepend(number) }
      } catch {
        // A file that has become shorter.
        offers[number] = nil
        sent(-offer.next)
        failures[offer.file] = .changed
        link.send(Wire.encode(.stop(number: number)))
      }
    }
  }
}
