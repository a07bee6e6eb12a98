// Values of a cluster that are too large for a message. Any task.

public import FoundationEssentials
public import OpClusterModel

extension ClusterConnection {
  /// The bytes of a content that an output names, mapped and not copied. They are fetched from a
  /// worker that has them, and checked; the coordinator only says where.
  ///
  /// - Throws: `.refused` as `expired` if no worker has it, `.unreachable` if none can be reached,
  ///   or what `request` throws.
  public func data(of content: StoredContent) async throws(ClientError) -> Data {
    try await downloads().data(of: content) { digest throws(ClientError) in
      let reply = try await request(.locate([digest], reader: []))
      guard case .located(let holders) = reply else {
        throw ClientError(.protocolViolation, "the coordinator answered something else")
      }
      return holders.first { $0.digest == digest }?.sources
    }
  }
}
