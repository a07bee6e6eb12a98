// Leaves contents of a store in others, which cannot fetch them from here: a thread for each of
// them, a few at a time.

import DequeModule
package import OpClusterModel
package import OpClusterStore
import OpClusterSystem
package import OpClusterZeroMQ
import Synchronization

/// The deliveries of one store. Any thread may order them; they end with `end`.
package final class StoreDeliveries: Sendable {
  private struct Work: Sendable {
    /// By target, in the order in which the targets were first named.
    var targets: Deque<ContentSource> = []
    var waiting: [ContentSource: [ContentDelivery]] = [:]
    var uploaders: [ContentSource: ContentUploader] = [:]
    var hasEnded = false
  }

  private let store: ContentStore
  private let keys: KeyPair?
  private let allowance: SharedSendAllowance
  private let patience: OpClusterModel.Span
  private let failed: Failed
  private let work = Mutex(Work())

  /// Told of those that were not left; on threads of its own, or on the caller's.
  package typealias Failed = @Sendable ([FailedDelivery]) -> Void

  /// - Parameters:
  ///   - keys: Our own key; nil where there is no TCP.
  ///   - allowance: What is sent at most, together with whoever has it as well.
  ///   - patience: A store that is not reached for so long is given up.
  package init(
    from store: ContentStore, keys: KeyPair?, allowance: SharedSendAllowance,
    patience: OpClusterModel.Span = .seconds(10), failed: @escaping Failed
  ) {
    self.store = store
    self.keys = keys
    self.allowance = allowance
    self.patience = patience
    self.failed = failed
  }

  /// Delivers these when their targets' turn has come.
  package func deliver(_ deliveries: [ContentDelivery]) {
    work.withLock { work in
      for delivery in deliveries {
        if work.waiting[delivery.to] == nil { work.targets.append(delivery.to) }
        work.waiting[delivery.to, default: []].append(delivery)
      }
    }
    begin()
  }

  /// Ends all, without a word.
  package func end() {
    let uploaders = work.withLock { work in
      work.hasEnded = true
      return Array(work.uploaders.values)
    }
    for uploader in uploaders { uploader.stop() }
  }

  private func begin() {
    while let (target, deliveries) = takeNext() { start(deliveries, to: target) }
  }

  private func takeNext() -> (ContentSource, [ContentDelivery])? {
    work.withLock { work in
      guard !work.hasEnded, work.uploaders.count < Limits.deliveriesAtOnce,
        let at = work.targets.firstIndex(where: { work.uploaders[$0] == nil })
      else { return nil }
      let target = work.targets.remove(at: at)
      return (target, work.waiting.removeValue(forKey: target) ?? [])
    }
  }

  private func start(_ deliveries: [ContentDelivery], to target: ContentSource) {
    var files: [LocalFile] = []
    var byDigest: [ContentDigest: ContentDelivery] = [:]
    var absent: [FailedDelivery] = []
    for delivery in deliveries where byDigest[delivery.content.digest] == nil {
      // What has left is told to the coordinator by the store.
      guard let file = store.file(delivery.content.digest) else {
        absent.append(FailedDelivery(delivery, isUnreached: false))
        continue
      }
      byDigest[delivery.content.digest] = delivery
      files.append(file)
    }
    if !absent.isEmpty { failed(absent) }
    if files.isEmpty { return }
    do throws(SystemError) {
      try work.withLock { work throws(SystemError) in
        work.uploaders[target] = try ContentUploader(
          files, to: target, keys: keys, patience: patience, allowance: allowance,
          sent: { _ in }
        ) { [weak self, byDigest] failures in
          let notLeft = failures.compactMap { file, failure in
            byDigest[file.content.digest].map {
              FailedDelivery($0, isUnreached: failure == .unreachable)
            }
          }
          self?.ended(target, notLeft)
        }
      }
    } catch {
      failed(byDigest.values.map { FailedDelivery($0, isUnreached: false) })
    }
  }

  private func ended(_ target: ContentSource, _ notLeft: [FailedDelivery]) {
    let hasEnded = work.withLock { work in
      work.uploaders[target] = nil
      return work.hasEnded
    }
    if hasEnded { return }
    if !notLeft.isEmpty { failed(notLeft) }
    begin()
  }
}
