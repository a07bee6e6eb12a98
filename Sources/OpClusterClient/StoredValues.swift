// Values of a cluster that are too large for a message, and files. Any task.

public import FoundationEssentials
public import OpClusterModel

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

  /// Writes a content that an output names to a new file. It is fetched as by ``data(of:)``, into
  /// the folder of the file, and appears there as a whole.
  ///
  /// - Throws: As ``data(of:)``, or if the file cannot be written, or is there already.
  public func write(
    _ content: StoredContent, to path: String, isExecutable: Bool = false
  ) async throws(ClientError) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let downloads = try downloads(in: parent.isEmpty ? "/" : parent)
    if !downloads.has(content) { try await bring(content, to: downloads) }
    try downloads.write(content, to: path, isExecutable: isExecutable)
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

  private func bring(
    _ content: StoredContent, to downloads: ContentDownloads
  ) async throws(ClientError) {
    let reply = try await request(.locate([content.digest], reader: asker))
    guard case .located(let holders) = reply else {
      throw ClientError(.protocolViolation, "the coordinator answered something else")
    }
    guard let known = holders.first(where: { $0.digest == content.digest }) else {
      throw ClientError(
        Refusal(
          .expired, "no connected worker has the \(content.size) bytes any more",
          hint: "wait until their worker is back, or run the operation again"))
    }
    try await downloads.fetch(content, from: known.sources)
  }
}
