// The known types that a schema probe does not inspect.

import FoundationEssentials

/// Types without parts.
enum Leaves {
  /// A sample value of a plain type; nil for all others.
  static func sample(of type: Any.Type) -> Any? {
    if let plain = type as? any PlainType.Type { return plain.sample }
    switch type {
    case is Date.Type: return Date(timeIntervalSinceReferenceDate: 0)
    case is Data.Type: return Data()
    case is UUID.Type: return UUID()
    case is URL.Type: return URL(filePath: "/")
    case is Decimal.Type: return Decimal(0)
    default: return nil
    }
  }
}

/// A type that every encoder supports directly.
protocol PlainType {
  init()
}

extension PlainType {
  fileprivate static var sample: Any { Self() }
}

extension Bool: PlainType {}
extension String: PlainType {}
extension Double: PlainType {}
extension Float: PlainType {}
extension Int: PlainType {}
extension Int8: PlainType {}
extension Int16: PlainType {}
extension Int32: PlainType {}
extension Int64: PlainType {}
extension UInt: PlainType {}
extension UInt8: PlainType {}
extension UInt16: PlainType {}
extension UInt32: PlainType {}
extension UInt64: PlainType {}

/// A container of any number of values, possibly none: an empty one always exists.
protocol EmptyHolder {
  /// Inspects its element type, and returns an empty container.
  static func probed(by probe: SchemaProbe) -> Self
}

extension Array: EmptyHolder where Element: Decodable {
  static func probed(by probe: SchemaProbe) -> [Element] {
    probe.tryIt(Element.self, in: probe.shape.addElement())
    return []
  }
}

extension Set: EmptyHolder where Element: Decodable {
  static func probed(by probe: SchemaProbe) -> Set<Element> {
    probe.tryIt(Element.self, in: probe.shape.addElement())
    return []
  }
}

extension Optional: EmptyHolder where Wrapped: Decodable {
  static func probed(by probe: SchemaProbe) -> Wrapped? {
    probe.shape.name = "optional"
    probe.tryIt(Wrapped.self, in: probe.shape.addElement())
    return nil
  }
}

extension Dictionary: EmptyHolder where Key: Decodable, Value: Decodable {
  static func probed(by probe: SchemaProbe) -> [Key: Value] {
    probe.shape.isMap = true
    probe.tryIt(Key.self, in: probe.shape.addElement())
    probe.tryIt(Value.self, in: probe.shape.addElement())
    return [:]
  }
}
