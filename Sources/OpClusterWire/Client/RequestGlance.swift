// Reads a request's number and kind without decoding its body, so that a refusal is cheap (G29).
// Pure.
// A flood of large requests must not cost their parsing. The walk skips bodies by their length, so
// its cost does not depend on what is in them.

public import OpClusterModel

/// The number of a client's request, and whether quotas delay it.
/// Admission control takes a glance at frames that it is about to refuse, since the refusal must
/// name the request.
public struct RequestGlance: Hashable, Sendable {
  /// The number of the client's choice, which the refusal carries back.
  public var id: RequestID
  /// The request returns something that its client holds (credit, a subscription, a wait). Such a
  /// request does not wait for quotas.
  public var givesBack: Bool

  /// Field numbers of `ClientMessage.request` and of `Request.number`.
  /// Numbers in `proto/opcluster/v1/client.proto` are never reused. A new request that gives
  /// something back belongs into the last of the three lists.
  static let request: UInt64 = 2
  static let number: UInt64 = 1
  /// Field numbers of `grant_credit`, `unsubscribe` and `end_wait`.
  static let givingBack: [UInt64] = [24, 25, 30]

  /// Returns nil if the bytes hold no request or are malformed. Does not look into the body.
  /// A request without a number reads as number 0. Decoding the body later may still fail.
  public init?(_ bytes: [UInt8]) {
    // A hello, or anything beside the request, makes this no request.
    var outer = Fields(bytes[...])
    var found: ArraySlice<UInt8>?
    while let field = outer.next() {
      guard field.number == Self.request else { return nil }
      found = field.content
    }
    guard let found, !outer.isBroken else { return nil }
    var inner = Fields(found)
    var id: UInt64 = 0
    // Field numbers start at 1, so 0 is none. The last body counts, as it does when the message is
    // parsed.
    var body: UInt64 = 0
    while let field = inner.next() {
      if field.number == Self.number { id = field.value } else { body = field.number }
    }
    if inner.isBroken { return nil }
    self.id = RequestID(id)
    givesBack = Self.givingBack.contains(body)
  }

  /// Steps over the fields of one message.
  /// Knows two wire types, the varint and the length with bytes: a request's own fields have no
  /// others.
  private struct Fields {
    private var rest: ArraySlice<UInt8>
    /// Set once and for ever: after a broken field there is no next one to find.
    private(set) var isBroken = false

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// A varint has a value, a field with a length has content; the other is empty.
    struct Field {
      var number: UInt64
      var value: UInt64 = 0
      var content: ArraySlice<UInt8> = []
    }

    /// nil at the end and at a broken field; `isBroken` tells them apart.
    mutating func next() -> Field? {
      guard !rest.isEmpty, !isBroken else { return nil }
      guard let tag = varint() else { return broken() }
      var field = Field(number: tag >> 3)
      switch tag & 7 {
      case 0:
        guard let value = varint() else { return broken() }
        field.value = value
      case 2:
        guard let length = varint(), length <= UInt64(rest.count) else { return broken() }
        field.content = rest.prefix(Int(length))
        rest = rest.dropFirst(Int(length))
      default: return broken()
      }
      return field
    }

    private mutating func broken() -> Field? {
      isBroken = true
      return nil
    }

    /// nil if the bytes end inside the number, or after ten bytes without an end.
    private mutating func varint() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 70, by: 7) {
        guard let byte = rest.popFirst() else { return nil }
        value |= UInt64(byte & 0x7f) << shift
        if byte < 0x80 { return value }
      }
      return nil
    }
  }
}
