// Leaves files of this machine in the stores of workers, for operations that will read them. Any
// task.

import OpClusterModel
public import OpClusterStore
import OpClusterSystem
import OpClusterTransfer
import Synchronization

extension ClusterConnection {
  /// Leaves files with workers that have a store, each content once; what somebody has already is
  /// not sent. What a worker does not take goes to another. Costs the bytes that nobody has.
  ///
  /// - Parameter sent: Called from other threads with bytes that have been sent, or need not be;
  ///   negative, if they are sent again. Together they are the bytes of all different contents.
  /// - Parameter waits: Called before each wait for a worker, as long as none is there: operations
  ///   would wait for one as well. Cancelling the task ends the wait.
  /// - Throws: `.refused` as `workerUnavailable` if no worker takes them, `.unreachable` if none of
  ///   them can be reached, `.badConfiguration` for a file that has changed or cannot be read, or
  ///   what `request` throws.
  public func upload(
    _ files: [LocalFile], sent: @escaping @Sendable (Int64) -> Void = { _ in },
    waits: @Sendable () -> Void = {}
  ) async throws(ClientError) {
    var left: [ContentDigest: LocalFile] = [:]
    for file in files { left[file.content.digest] = file }
    var avoided: Set<String> = []
    var failure: (file: LocalFile, reason: UploadFailure)?
    var repeats = 0
    // Each store has a socket, and some files that are open.
    _ = ProcessLimits.descriptors(raising: true)
    while !left.isEmpty {
      let places = try await places(
        for: left.values.sorted { $0.path < $1.path }, avoiding: avoided.sorted(), failure, waits)
      for digest in Set(left.keys).subtracting(places.values.joined().map(\.content.digest)) {
        if let file = left.removeValue(forKey: digest) { sent(file.content.size) }
      }
      let ends = try await leave(places, sent: sent)
      for (store, files) in places {
        let failed = ends[store] ?? [:]
        for file in files where failed[file] == nil { left[file.content.digest] = nil }
        guard let first = failed.min(by: { $0.key.path < $1.key.path }) else { continue }
        failure = (first.key, first.value)
        if failed.values.contains(where: \.mayGoElsewhere) { avoided.insert(store.worker) }
        let isLate = failed.values.contains(where: \.mayComeLater)
        repeats += isLate ? 1 : 0
        for (file, reason) in failed
        where !reason.mayGoElsewhere && (!reason.mayComeLater || repeats > Self.mostRepeats) {
          throw ClientError(.badConfiguration, "\(file.path): \(reason)")
        }
      }
    }
  }

  /// How often a store is asked again that would take something later; some twenty seconds each.
  private static var mostRepeats: Int { 90 }
  /// Stores that are written to at a time.
  private static var mostStores: Int { 8 }

  /// Where to leave them; without those that somebody has.
  private func places(
    for files: [LocalFile], avoiding avoided: [String],
    _ failure: (file: LocalFile, reason: UploadFailure)?, _ waits: () -> Void
  ) async throws(ClientError) -> [ContentSource: [LocalFile]] {
    var byDigest: [ContentDigest: LocalFile] = [:]
    for file in files { byDigest[file.content.digest] = file }
    var places: [ContentSource: [LocalFile]] = [:]
    for first in stride(from: 0, to: files.count, by: Limits.rowsPerReply) {
      let page = files[first..<min(first + Limits.rowsPerReply, files.count)].map(\.content)
      let reply: ClientReply
      do throws(ClientError) {
        reply = try await place(page, avoiding: avoided, waits)
      } catch {
        guard let failure, case .refused(let refusal) = error.kind,
          refusal.code == .workerUnavailable
        else { throw error }
        // The reason why the last worker did not take it says more than that there is no other.
        throw ClientError(
          .unreachable,
          "\(failure.file.path) (\(failure.file.content.size) bytes) was taken by no worker: "
            + "\(failure.reason)",
          hint: "look at the stores of the workers, and at the network between here and them")
      }
      guard case .placed(let found) = reply else {
        throw ClientError(.protocolViolation, "the coordinator answered something else")
      }
      for place in found {
        guard let file = byDigest[place.digest], let store = place.sources.first else { continue }
        places[store, default: []].append(file)
      }
    }
    return places
  }

  /// Asks for places until there is a worker, or none is to be waited for.
  private func place(
    _ contents: [StoredContent], avoiding avoided: [String], _ waits: () -> Void
  ) async throws(ClientError) -> ClientReply {
    while true {
      do throws(ClientError) {
        return try await request(.place(contents, avoided: avoided, writer: asker))
      } catch {
        guard case .refused(let refusal) = error.kind, refusal.code == .workerUnavailable,
          let pause = refusal.retryAfter
        else { throw error }
        waits()
        do {
          try await Task.sleep(nanoseconds: UInt64(pause.nanoseconds))
        } catch {
          throw ClientError(.cancelled, "nobody waits for a worker any more")
        }
      }
    }
  }

  /// Leaves files with some stores at once.
  private func leave(
    _ places: [ContentSource: [LocalFile]], sent: @escaping @Sendable (Int64) -> Void
  ) async throws(ClientError) -> [ContentSource: [LocalFile: UploadFailure]] {
    var ends: [ContentSource: [LocalFile: UploadFailure]] = [:]
    let all = places.sorted { $0.key.endpoint < $1.key.endpoint }
    for first in stride(from: 0, to: all.count, by: Self.mostStores) {
      let some = all[first..<min(first + Self.mostStores, all.count)]
      ends.merge(try await leaveAtOnce(some, sent: sent)) { $1 }
    }
    return ends
  }

  private func leaveAtOnce(
    _ places: ArraySlice<(key: ContentSource, value: [LocalFile])>,
    sent: @escaping @Sendable (Int64) -> Void
  ) async throws(ClientError) -> [ContentSource: [LocalFile: UploadFailure]] {
    var running: [(ContentSource, ContentUploader, ReplySlot<UploadEnd>)] = []
    defer { for (_, uploader, _) in running { uploader.stop() } }
    for (store, files) in places {
      let slot = ReplySlot<UploadEnd>()
      do throws(SystemError) {
        let uploader = try ContentUploader(files, to: store, keys: keys, sent: sent) { failed in
          slot.fill(.success(UploadEnd(failed: failed)))
        }
        running.append((store, uploader, slot))
      } catch {
        throw ClientError(.unreachable, "files cannot be left: \(error)")
      }
    }
    var ends: [ContentSource: [LocalFile: UploadFailure]] = [:]
    for (store, _, slot) in running { ends[store] = try await slot.value().failed }
    return ends
  }
}

/// How the files for one store have ended.
private struct UploadEnd: Sendable {
  var failed: [LocalFile: UploadFailure]
}
