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
    proto.contents = contents.map { content in
      var proto = ProtoContent()
      proto.digest = data(content.digest.bytes)
      proto.size = UInt64(clamping: content.size)
      return proto
    }
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
    for content in proto.contents {
      contents.append(
        StoredContent(
          digest: try digest(content.digest, "outputs.contents"),
          size: try contentBytes(content.size, "outputs.contents")))
    }
    guard proto.valueAt > 0 else { return }
    guard Int(proto.valueAt) <= contents.count else {
      throw WireError("outputs.value_at", .outOfRange)
    }
    valueContent = Int(proto.valueAt) - 1
  }
}
