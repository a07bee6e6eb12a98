// What a test asks the file system.

import FoundationEssentials

@testable import OpClusterClient

extension ClusterFolder {
  /// Permission bits.
  var mode: UInt16 {
    get throws {
      let facts = try FileManager.default.attributesOfItem(atPath: path)
      return (facts[.posixPermissions] as? UInt16) ?? 0
    }
  }
}
