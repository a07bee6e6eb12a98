// Properties that dependencies fill in (S135 to S140): they replace a search through `dependencies`
// at the beginning of `main`.
//
// Synthesised `Codable` calls the overloads at the end of this file, so that an absent key means
// "not set". A file that declares an operation must see this module's members.

import OpClusterModel

/// A property that the program sets, or else the output of a dependency.
///
///     @Input var image: Image? = nil
///
/// (With `= nil` the memberwise initialiser takes an `Image?`, which may be omitted.) A value that
/// was set before the submission wins (S136). Otherwise, when an attempt begins, it becomes the
/// output of the first direct dependency, in order of addition, that succeeded and whose output is
/// of this type. It stays nil if there is none (S138).
@propertyWrapper
public struct Input<Value: Codable & Sendable>: Codable, Sendable {
  public var wrappedValue: Value?
  public init() { wrappedValue = nil }
  public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }
  /// For memberwise initialisers that take the wrapper: `Darken(image: Input(image))`.
  public init(_ value: Value?) { wrappedValue = value }

  public init(from decoder: any Decoder) throws {
    wrappedValue = try InputBinding.value(Value.self, decoder)
  }
  public func encode(to encoder: any Encoder) throws {
    try InputBinding.encode(wrappedValue, encoder)
  }
}

/// The form of ``Input`` for a value that `main` requires: if it was not set and no dependency has
/// one, the attempt fails as `missingInput`, and `main` is not run (S138).
///
///     @RequiredInput var image: Image
///
/// Set it as a property, as with an `Operation`, or in the initialiser: `Publish(image:
/// RequiredInput(image))`. `$image` is the same value as an optional, for programs that make and
/// inspect operations. Reading the plain property of an operation without its input is a
/// programming error, as with an implicitly unwrapped optional; in `main` it is always set.
@propertyWrapper
public struct RequiredInput<Value: Codable & Sendable>: Codable, Sendable {
  public var projectedValue: Value?
  public init() { projectedValue = nil }
  public init(wrappedValue: Value) { projectedValue = wrappedValue }
  /// For memberwise initialisers, which take the wrapper: `Publish(image: RequiredInput(image))`.
  public init(_ value: Value) { projectedValue = value }
  public init(projectedValue: Value?) { self.projectedValue = projectedValue }

  public var wrappedValue: Value {
    get {
      guard let value = projectedValue else {
        preconditionFailure(
          "a required input of type \(TypeName.of(Value.self)) was read before it was there; "
            + "outside of main, read $property")
      }
      return value
    }
    set { projectedValue = newValue }
  }

  public init(from decoder: any Decoder) throws {
    projectedValue = try InputBinding.value(Value.self, decoder)
    if projectedValue == nil, let context = InputBinding.context(decoder) {
      let property = decoder.codingPath.last?.stringValue ?? "an input"
      throw MissingInput(
        "'\(property)' was not set, and no dependency left a \(TypeName.of(Value.self)); "
          + context.leftByDependencies)
    }
  }
  public func encode(to encoder: any Encoder) throws {
    try InputBinding.encode(projectedValue, encoder)
  }
}

extension Input: Equatable where Value: Equatable {}
extension Input: Hashable where Value: Hashable {}
extension RequiredInput: Equatable where Value: Equatable {}
extension RequiredInput: Hashable where Value: Hashable {}

/// The source of the wrappers' values.
enum InputBinding {
  /// The key under which a decoder has the context of the attempt.
  static let key = CodingUserInfoKey(rawValue: "opcluster.context")

  static func context(_ decoder: any Decoder) -> OperationContext? {
    key.flatMap { decoder.userInfo[$0] as? OperationContext }
  }

  /// The value that was set, else the output of a dependency.
  static func value<Value: Codable>(_ type: Value.Type, _ decoder: any Decoder) throws -> Value? {
    if let probe = decoder as? SchemaProbe {
      probe.noteInput(type)
      return nil
    }
    let container = try decoder.singleValueContainer()
    if !container.decodeNil() { return try container.decode(type) }
    return context(decoder)?.output(type)
  }

  /// Null if nothing was set.
  static func encode(_ value: (some Encodable)?, _ encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}

extension KeyedDecodingContainer {
  /// An absent key is an input that was not set. Used by synthesised `Codable`.
  public func decode<Value>(_ type: Input<Value>.Type, forKey key: Key) throws -> Input<Value> {
    try Input(from: superDecoder(forKey: key))
  }

  /// An absent key is an input that was not set. Used by synthesised `Codable`.
  public func decode<Value>(
    _ type: RequiredInput<Value>.Type, forKey key: Key
  ) throws -> RequiredInput<Value> {
    try RequiredInput(from: superDecoder(forKey: key))
  }
}

extension KeyedEncodingContainer {
  /// Leaves out an input that was not set. Used by synthesised `Codable`.
  public mutating func encode<Value>(_ input: Input<Value>, forKey key: Key) throws {
    try encodeIfPresent(input.wrappedValue, forKey: key)
  }

  /// Leaves out an input that was not set. Used by synthesised `Codable`.
  public mutating func encode<Value>(_ input: RequiredInput<Value>, forKey key: Key) throws {
    try encodeIfPresent(input.projectedValue, forKey: key)
  }
}
