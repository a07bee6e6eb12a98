// Converts the output of an operation ⇄ `Outputs`. Pure functions for any thread.
// `OperationOutput` is opaque to the coordinator: it keeps the bytes, and passes them on with the
// dispatches of dependents.

import OpClusterModel
import SwiftProtobuf

/// Commands have pairs alone. Registered types have a value, and its scalar fields as pairs, so
/// that a command may depend on a call.
extension OperationOutput: WireConvertible {
  var proto: ProtoOutputs {
    var proto = ProtoOutputs()
    proto.key = pairs.map(\.key)
    proto.value = pairs.map(\.value)
    proto.typeName = typeName
    proto.typedValue = data(value)
    proto.contents = contents.map(ProtoContent.init) + files.map(\.proto)
    proto.valueAt = UInt32(clamping: valueContent.map { $0 + 1 } ?? 0)
    return proto
  }

  /// The limit of the whole bounds every part, so the parts have none of their own.
  /// The caller has checked the bytes of the whole.
  init(proto: ProtoOutputs) throws(WireError) {
    try checkEqual(proto.value.count, proto.key.count, "outputs.value")
    self.init(
      pairs: zip(proto.key, proto.value).map { Pair(key: $0, value: $1) },
      typeName: proto.typeName,
      value: [UInt8](proto.typedValue))
    try checkCount(proto.contents.count, Limits.contentsPerOutput, "outputs.contents")
    // Files stand behind the values.
    for content in proto.contents {
      if content.file.isEmpty, files.isEmpty {
        contents.append(try content.words())
      } else {
        files.append(try StoredFile(proto: content))
      }
    }
    guard proto.valueAt > 0 else { return }
    guard Int(proto.valueAt) <= contents.count else {
      throw WireError("outputs.value_at", .outOfRange)
    }
    valueContent = Int(proto.valueAt) - 1
  }
}

extension ProtoContent {
  fileprivate init(_ content: StoredContent) {
    self.init()
    digest = data(content.digest.bytes)
    size = UInt64(clamping: content.size)
  }

  fileprivate func words() throws(WireError) -> StoredContent {
    StoredContent(
      digest: try OpClusterWire.digest(digest, "outputs.contents"),
      size: try contentBytes(size, "outputs.contents"))
  }
}

extension StoredFile: WireConvertible {
  var proto: ProtoContent {
    var proto = ProtoContent(content)
    proto.file = name
    proto.path = path
    proto.isExecutable = isExecutable
    return proto
  }

  /// The name and the path become names on the reader's disk, so that neither may leave its folder.
  init(proto: ProtoContent) throws(WireError) {
    guard !proto.file.contains("/"), RelativePath.isValid(proto.file) else {
      throw WireError("outputs.file", .outOfRange)
    }
    guard proto.path.isEmpty || RelativePath.isValid(proto.path) else {
      throw WireError("outputs.path", .outOfRange)
    }
    self.init(
      name: proto.file, path: proto.path, isExecutable: proto.isExecutable,
      content: try proto.words())
  }
}
