// Shows a queue with a limit: many downloads, some at a time; a table of those under way, from
// which a completion block removes them; one cancelled by its id.

import ExampleMaterials
public import OpCluster
import Synchronization

/// One download. The properties are its argument, the value that `main` returns is its output.
struct Download: RegisteredOperation {
  static let typeName = "example.download"
  var address: String
  var path: String

  func main(_ context: OperationContext) async throws -> DownloadedFile {
    // When the operation is cancelled, so is the task that runs it, and `get` throws.
    let bytes = try await WebResource(address).get()
    try LocalFile.write(bytes, to: path)
    return DownloadedFile(
      path: path, size: bytes.count, digest: LocalFile.digest(of: bytes))
  }
}

/// A file that was fetched: not its content, which may be large, but where it is.
public struct DownloadedFile: Codable, Hashable, Sendable {
  public var path: String
  public var size: Int
  public var digest: String
}

/// Downloads by their ids.
public final class Downloads: Sendable {
  private let queue: ClusterOperationQueue
  private let folder: String
  private let table = Mutex<[String: ClusterOperation]>([:])

  public init(into folder: String, atOnce limit: Int, on cluster: OperationCluster) {
    self.folder = folder
    queue = ClusterOperationQueue(on: cluster, maxConcurrentOperationCount: limit)
  }

  /// Adds a download; it begins when the limit lets it.
  @discardableResult
  public func start(_ id: String, from address: String) async throws -> ClusterOperation {
    let operation = ClusterOperation(
      Download(address: address, path: "\(folder)/\(id)"), name: id)
    operation.completionBlock = { [weak self, weak operation] in
      if let operation { self?.remove(operation, id) }
    }
    table.withLock { $0[id] = operation }
    do {
      try await queue.addOperation(operation)
    } catch {
      remove(operation, id)
      throw error
    }
    return operation
  }

  /// Removes a download, but not a later one of its id.
  private func remove(_ operation: ClusterOperation, _ id: String) {
    table.withLock { if $0[id] == operation { $0[id] = nil } }
  }

  /// Cancels a download, whether it has begun or not.
  public func cancel(_ id: String) async throws {
    try await table.withLock { $0[id] }?.cancel(reason: "no longer wanted")
  }

  /// The ids of what is waiting or under way.
  public var underWay: [String] { table.withLock { $0.keys.sorted() } }

  public func waitUntilAllAreFinished() async throws {
    try await queue.waitUntilAllOperationsAreFinished()
  }
}

/// Fetches everything, and cancels one of it when all the rest has come.
///
/// - Returns: The files that are there, by their ids.
public func downloadAll(
  _ addresses: [String: String], into folder: String, atOnce limit: Int,
  givingUpOn unwanted: String? = nil, on cluster: OperationCluster
) async throws -> [String: DownloadedFile] {
  let downloads = Downloads(into: folder, atOnce: limit, on: cluster)
  var operations: [String: ClusterOperation] = [:]
  for (id, address) in addresses.sorted(by: { $0.key < $1.key }) {
    operations[id] = try await downloads.start(id, from: address)
  }
  var files: [String: DownloadedFile] = [:]
  for (id, operation) in operations where id != unwanted {
    files[id] = try await operation.output(of: Download.self)
  }
  if let unwanted { try await downloads.cancel(unwanted) }
  try await downloads.waitUntilAllAreFinished()
  return files
}
