// Converts enums ⇄ their numbers on the wire. 0 is never sent. An unknown number becomes an error
// value or a documented default, never a trap (G32).

import OpClusterModel
import SwiftProtobuf

/// An enum with a generated counterpart.
protocol WireEnumeration {
  associatedtype Proto: SwiftProtobuf.Enum
  var wireNumber: Int { get }
  init?(wireNumber: Int)
}

extension WireEnumeration {
  var proto: Proto { Proto(rawValue: wireNumber) ?? Proto() }

  init(proto: Proto, _ field: String) throws(WireError) {
    guard let word = Self(wireNumber: proto.rawValue) else {
      throw WireError(field, .unknownValue(proto.rawValue))
    }
    self = word
  }

  /// Decodes an enum that has a meaning for "unspecified".
  init(proto: Proto, unspecified: Self, _ field: String) throws(WireError) {
    if proto.rawValue == 0 {
      self = unspecified
    } else {
      try self.init(proto: proto, field)
    }
  }

  static func column(_ protos: [Proto], _ field: String) throws(WireError) -> [Self] {
    var words: [Self] = []
    words.reserveCapacity(protos.count)
    for proto in protos { words.append(try Self(proto: proto, field)) }
    return words
  }
}

/// The number on the wire is the raw value plus 1; raw values begin at 0.
private protocol ShiftedEnumeration: WireEnumeration, RawRepresentable
where RawValue: FixedWidthInteger {}

extension ShiftedEnumeration {
  var wireNumber: Int { Int(rawValue) + 1 }
  init?(wireNumber: Int) {
    guard let raw = RawValue(exactly: wireNumber &- 1) else { return nil }
    self.init(rawValue: raw)
  }
}

/// The number on the wire is the raw value; raw values begin at 1.
private protocol EqualEnumeration: WireEnumeration, RawRepresentable
where RawValue: FixedWidthInteger {}

extension EqualEnumeration {
  var wireNumber: Int { Int(rawValue) }
  init?(wireNumber: Int) {
    guard let raw = RawValue(exactly: wireNumber) else { return nil }
    self.init(rawValue: raw)
  }
}

/// Cases without raw values: the number is the position among all cases, from 1.
private protocol PositionEnumeration: WireEnumeration, CaseIterable, Equatable {}

extension PositionEnumeration {
  var wireNumber: Int {
    var number = 0
    for word in Self.allCases {
      number += 1
      if word == self { break }
    }
    return number
  }
  init?(wireNumber: Int) {
    var number = 0
    for word in Self.allCases {
      number += 1
      if number == wireNumber {
        self = word
        return
      }
    }
    return nil
  }
}

extension EdgePolicy: ShiftedEnumeration { typealias Proto = ProtoEdgePolicy }
extension QualityOfService: ShiftedEnumeration { typealias Proto = ProtoQualityOfService }
extension FailureCause: ShiftedEnumeration { typealias Proto = ProtoFailureCause }
extension GroupEdge.Match: ShiftedEnumeration { typealias Proto = ProtoEdgeMatch }
extension FailurePolicy: ShiftedEnumeration { typealias Proto = ProtoFailurePolicy }
extension LogStream: ShiftedEnumeration { typealias Proto = ProtoLogStream }
extension CallInput.Form: ShiftedEnumeration { typealias Proto = ProtoCallInput.Form }
extension Outcome: EqualEnumeration { typealias Proto = ProtoOutcome }
extension Refusal.Code: EqualEnumeration { typealias Proto = ProtoRefusalCode }
extension GraphOutcome: EqualEnumeration { typealias Proto = ProtoGraphOutcome }
extension CancelVerdict.Verdict: EqualEnumeration { typealias Proto = ProtoCancelVerdict }
extension StateWord: PositionEnumeration { typealias Proto = ProtoStateWord }
extension GraphRow.State: PositionEnumeration { typealias Proto = ProtoGraphState }
extension WorkerRow.State: PositionEnumeration { typealias Proto = ProtoWorkerRows.State }

extension Priority: WireEnumeration {
  typealias Proto = ProtoPriority
  /// Maps the five levels −8…8 to 1…5.
  var wireNumber: Int { Int(rawValue) / 4 + 3 }
  init?(wireNumber: Int) {
    guard (1...5).contains(wireNumber) else { return nil }
    self.init(rawValue: Int8(wireNumber - 3) * 4)
  }
}

extension FailureCause {
  /// Decodes an unknown cause as a failure.
  init(lenient proto: ProtoFailureCause) {
    self = FailureCause(wireNumber: proto.rawValue) ?? .failed
  }
}

extension QualityOfService? {
  /// Decodes UNSPECIFIED as nil.
  init(proto: ProtoQualityOfService, _ field: String) throws(WireError) {
    self = proto == .unspecified ? nil : try QualityOfService(proto: proto, field)
  }
}
