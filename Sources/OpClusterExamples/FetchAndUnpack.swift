// Shows two steps, the second of which runs only if the first succeeded: fetch an archive, unpack
// it. The operation type `Download` is used again as it is.

import ExampleMaterials
public import OpCluster

/// Unpacks the archive that a dependency has fetched.
struct Unpack: RegisteredOperation {
  static let typeName = "example.unpack"
  var folder: String
  @RequiredInput var archive: DownloadedFile

  func main(_ context: OperationContext) async throws -> UnpackedFolder {
    let files = try TarArchive.files(in: LocalFile.bytes(of: archive.path))
    for file in files {
      try context.checkCancellation()
      try LocalFile.write(file.bytes, to: "\(folder)/\(file.name)")
    }
    return UnpackedFolder(path: folder, names: files.map(\.name))
  }
}

public struct UnpackedFolder: Codable, Hashable, Sendable {
  public var path: String
  public var names: [String]
}

/// Fetches an archive of `tar` and unpacks it.
///
/// - Returns: What was unpacked; nil if the archive could not be fetched, so that nothing was.
public func fetchAndUnpack(
  _ address: String, into folder: String, on cluster: OperationCluster
) async throws -> UnpackedFolder? {
  let fetch = ClusterOperation(Download(address: address, path: "\(folder)/archive.tar"))
  let unpack = ClusterOperation(Unpack(folder: "\(folder)/contents"))
  try unpack.addDependency(fetch, when: .succeeded)

  let queue = ClusterOperationQueue(on: cluster)
  try await queue.addOperations([fetch, unpack], waitUntilFinished: true)
  guard fetch.outcome == .succeeded else { return nil }
  return try await unpack.output(of: Unpack.self)
}
