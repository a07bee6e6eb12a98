// Values of a cluster that are too large for a message, and files. Any task.

public import FoundationEssentials
public import OpClusterModel
import OpClusterTransfer

extension ClusterConnection {
  /// The bytes of a content that an output names, mapped and not copied. They are fetched from a
  /// worker that has them, and checked; the coordinator only says where.
  ///
  /// - Throws: `.refused` as `expired` if no worker has it, `.unreachable` if none can be reached,
  ///   or what `request` throws.
  public func data(of content: StoredContent) async throws(ClientError) -> Data {
    let downloads = try downloads()
    if let known = try downloads.data(of: content) { return known }
    try await bring(content, to: downloads)
    guard let fetched = try downloads.data(of: content) else {
      throw ClientError(
        .unreachable, "the value of \(content.size) bytes was fetched and is gone again",
        hint: "look at the disk of the temporary folder")
    }
    return fetched
  }

  /// Where the bytes of a content are that ``data(of:)`` has fetched, as long as this connection is
  /// open; nil: it has not.
  public func path(of content: StoredContent) -> String? {
    (try? downloads())?.path(of: content)
  }

  /// Writes a content that an output names to a file. It is fetched as by ``data(of:)``, into the
  /// folder of the file, and appears there as a whole; if it does not, what was there is as it was.
  ///
  /// - Parameter replaces: Whether it takes the place of a file that is there.
  /// - Throws: As ``data(of:)``, or if the file cannot be written, or is there already.
  public func write(
    _ content: StoredContent, to path: String, isExecutable: Bool = false, replaces: Bool = false
  ) async throws(ClientError) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let downloads = try downloads(in: parent.isEmpty ? "/" : parent)
    if !downloads.has(content) { try await bring(content, to: downloads) }
    try downloads.write(content, to: path, isExecutable: isExecutable, replaces: replaces)
  }

  /// The workers that have contents: at most some of them, and none for a content that nobody has
  /// now. Asks for at most ``Limits/rowsPerReply``.
  public func holders(
    of digests: [ContentDigest]
  ) async throws(ClientError) -> [ContentDigest: [String]] {
    let reply = try await request(.locate(digests, reader: asker))
    guard case .located(let holders) = reply else {
      throw ClientError(.protocolViolation, "the coordinator answered something else")
    }
    return Dictionary(
      holders.map { ($0.digest, $0.sources.map(\.worker)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Fetches a content from a worker that has it. Where none of them is reached, as behind a
  /// firewall, another one is given a copy, and it is fetched from there.
  private func bring(
    _ content: StoredContent, to downloads: ContentDownloads
  ) async throws(ClientError) {
    var known = try await located(.locate([content.digest], reader: asker), content)
    var unreached: Set<String> = []
    while let failure = try await downloads.fetch(content, from: known.sources) {
      let error = ClientError(
        .unreachable, "the value of \(content.size) bytes was not fetched: \(failure)",
        hint: "look at the network between here and the workers")
      let names = known.sources.map(\.worker)
      guard failure == .unreachable, !unreached.isSuperset(of: names) else { throw error }
      unreached.formUnion(names)
      known = try await brought(content, unreached, error)
    }
  }

  private func located(
    _ request: ClientRequest, _ content: StoredContent
  ) async throws(ClientError) -> ContentHolders {
    guard case .located(let holders) = try await self.request(request) else {
      throw ClientError(.protocolViolation, "the coordinator answered something else")
    }
    guard let known = holders.first(where: { $0.digest == content.digest }) else {
      throw ClientError(
        Refusal(
          .expired, "no connected worker has the \(content.size) bytes any more",
          hint: "wait until their worker is back, or run the operation again"))
    }
    return known
  }

  /// Waits until another worker has a content, as long as a copy may take.
  ///
  /// - Throws: The error of the fetch, if this does not lead to another worker either.
  private func brought(
    _ content: StoredContent, _ unreached: Set<String>, _ failed: ClientError
  ) async throws(ClientError) -> ContentHolders {
    let patience =
      Limits.copyPatience + .seconds(content.size / Limits.leastBytesPerSecondOfCopy)
    let end = ContinuousClock().now + .nanoseconds(patience.nanoseconds)
    var pause = Duration.milliseconds(100)
    while ContinuousClock().now < end {
      do throws(ClientError) {
        let known = try await located(
          .bring(content, unreached: unreached.sorted(), reader: asker), content)
        if !known.sources.isEmpty { return known }
      } catch {
        guard case .refused(let refusal) = error.kind, refusal.code != .expired else { throw error }
        // There may be no other store, or this key may only read.
        if refusal.code != .busy {
          throw ClientError(
            failed.kind, "\(failed.message); \(refusal.message)", hint: failed.hint)
        }
      }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw ClientError(.cancelled, "the fetch was cancelled")
      }
      pause = min(pause * 2, .seconds(2))
    }
    throw failed
  }
}
