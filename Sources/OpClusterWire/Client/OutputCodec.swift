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
    return proto
  }

  /// The limit of the whole bounds every part, so the parts have none of their own.
  /// An encoded output has at most `Limits.outputBytes`, which the caller has checked.
  init(proto: ProtoOutputs) throws(WireError) {
    try checkEqual(proto.value.count, proto.key.count, "outputs.value")
    self.init(
      pairs: zip(proto.key, proto.value).map { Pair(key: $0, value: $1) },
      typeName: proto.typeName,
      value: try opaque(proto.typedValue, Limits.outputBytes, "outputs.typed_value"))
  }
}
