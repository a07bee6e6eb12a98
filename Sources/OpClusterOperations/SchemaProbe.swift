// A decoder without input: returns zeros and empty lists, and records the requests. Used by one
// thread at a time.

import FoundationEssentials

/// Inspects a type. Values deeper than `depthLimit`, and recursive types, count by name.
struct SchemaProbe: Decoder {
  let shape: SchemaShape
  /// The types under inspection, outermost first.
  private var around: [ObjectIdentifier] = []
  private static let depthLimit = 32

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { Self.nothingRead }
  private static let nothingRead: [CodingUserInfoKey: any Sendable] =
    ReadFiles.key.map { [$0: ReadFiles.none] } ?? [:]

  init(_ shape: SchemaShape) { self.shape = shape }

  /// A probe for a part of the value.
  func part(_ shape: SchemaShape) -> SchemaProbe {
    var probe = SchemaProbe(shape)
    probe.around = around
    return probe
  }

  /// Inspects the type; it does not matter if no value results.
  func tryIt<Value: Decodable>(_ type: Value.Type) { _ = try? value(type) }

  /// Records a property that a dependency may fill in: it may be absent.
  func noteInput<Value: Decodable>(_ type: Value.Type) {
    shape.name = "input " + TypeName.of(type)
    tryIt(type, in: shape.addElement())
  }

  func tryIt<Value: Decodable>(_ type: Value.Type, in shape: SchemaShape) {
    part(shape).tryIt(type)
  }

  /// A sample value of the type.
  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let leaf = Leaves.sample(of: type) {
      shape.name = TypeName.of(type)
      if let value = leaf as? Value { return value }
    }
    if let holder = type as? any EmptyHolder.Type, let value = holder.probed(by: self) as? Value {
      return value
    }
    let identity = ObjectIdentifier(type)
    if around.contains(identity) || around.count >= Self.depthLimit {
      shape.name = "^" + TypeName.of(type)
      throw Unprobable()
    }
    var inside = self
    inside.around.append(identity)
    do {
      return try Value(from: inside)
    } catch {
      shape.name = TypeName.of(type) + (shape.name.isEmpty ? "" : "=" + shape.name)
      if let first = Self.firstCase(of: type) as? Value { return first }
      throw error
    }
  }

  private static func firstCase(of type: Any.Type) -> Any? {
    (type as? any CaseIterable.Type).flatMap { $0.firstCase }
  }

  func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Keyed(probe: self))
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer { Unkeyed(probe: self) }
  func singleValueContainer() -> any SingleValueDecodingContainer { Single(probe: self) }

  struct Unprobable: Error {}
}

extension CaseIterable {
  fileprivate static var firstCase: Any? { allCases.first }
}

/// An object with every requested key.
private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let probe: SchemaProbe
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { Key(stringValue: "key").map { [$0] } ?? [] }

  private func part(_ key: some CodingKey) -> SchemaProbe {
    probe.part(probe.shape.field(key.stringValue))
  }

  func contains(_ key: Key) -> Bool { true }
  /// Called only for optional values.
  func decodeNil(forKey key: Key) -> Bool {
    probe.shape.markOptional(key.stringValue)
    return false
  }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try part(key).value(type)
  }
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
    probe.shape.markOptional(key.stringValue)
    part(key).tryIt(type)
    return nil
  }
  func nestedContainer<Nested>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedDecodingContainer<Nested> {
    part(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    part(key).unkeyedContainer()
  }
  func superDecoder() -> any Decoder { probe.part(probe.shape.field("super")) }
  func superDecoder(forKey key: Key) -> any Decoder { part(key) }
}

/// A list of one element, or of as many as are requested.
private struct Unkeyed: UnkeyedDecodingContainer {
  let probe: SchemaProbe
  var codingPath: [any CodingKey] { [] }
  var count: Int? { 1 }
  var isAtEnd: Bool { currentIndex >= 1 }
  private(set) var currentIndex = 0

  init(probe: SchemaProbe) { self.probe = probe }

  private mutating func next() -> SchemaProbe {
    currentIndex += 1
    return probe.part(probe.shape.addElement())
  }

  func decodeNil() -> Bool { false }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next().value(type)
  }
  mutating func nestedContainer<Nested>(
    keyedBy type: Nested.Type
  ) -> KeyedDecodingContainer<Nested> {
    next().container(keyedBy: type)
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer {
    next().unkeyedContainer()
  }
  mutating func superDecoder() -> any Decoder { next() }
}

/// A single value.
private struct Single: SingleValueDecodingContainer {
  let probe: SchemaProbe
  var codingPath: [any CodingKey] { [] }
  func decodeNil() -> Bool { false }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try probe.value(type) }
}
