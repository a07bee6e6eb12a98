// The argument of a call with places ⇄ `CallInput`: made by the client, filled in by the worker,
// opaque between them.

import OpClusterModel

extension CallInput: WireConvertible {
  var proto: ProtoCallInput {
    var proto = ProtoCallInput()
    proto.segments = segments.map(\.proto)
    proto.elementKeys = elementKeys
    return proto
  }

  /// What the bytes of a payload can hold needs no further limits: the payload has one.
  init(proto: ProtoCallInput) throws(WireError) {
    self.init(
      segments: try list(proto.segments, Limits.payloadBytes, "input.segments"),
      elementKeys: proto.elementKeys)
  }
}

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
