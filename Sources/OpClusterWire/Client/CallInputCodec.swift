// Converts the argument of a call with places ⇄ `CallInput`. The client makes it, the worker fills
// it in, the coordinator treats it as opaque bytes.
// Filling in happens at the start of an attempt, since outputs of dependencies and secrets are not
// known before.

import OpClusterModel

/// Pieces of JSON alternate with values; put end to end they are the whole argument.
extension CallInput: WireConvertible {
  var proto: ProtoCallInput {
    var proto = ProtoCallInput()
    proto.segments = segments.map(\.proto)
    proto.elementKeys = elementKeys
    return proto
  }

  /// The limit of the payload bounds every part, so the parts have none of their own.
  /// Pieces of JSON are taken as texts. The worker checks the argument when all values are in it.
  init(proto: ProtoCallInput) throws(WireError) {
    self.init(
      segments: try list(proto.segments, Limits.payloadBytes, "input.segments"),
      elementKeys: proto.elementKeys)
  }
}

/// A value has a form, which says how a text becomes JSON; a piece of JSON is copied as it is.
extension CallInput.Segment: WireConvertible {
  var proto: ProtoCallInput.Segment {
    var proto = ProtoCallInput.Segment()
    switch self {
    case .json(let text): proto.json = text
    case .value(let text, let form):
      proto.value.text = text.proto
      proto.value.form = form.proto
    }
    return proto
  }

  /// Throws `missing` for a segment of a later release: a hole in the argument would be another
  /// argument.
  init(proto: ProtoCallInput.Segment) throws(WireError) {
    switch proto.segment {
    case .json(let text): self = .json(text)
    case .value(let value):
      self = .value(
        try CommandText(proto: value.text), try CallInput.Form(proto: value.form, "input.form"))
    case nil: throw WireError("input.segment", .missing)
    }
  }
}
