// Converts enums ⇄ their numbers on the wire. 0 is never sent. An unknown number becomes an error
// value or a documented default, never a trap (G32).
// The cases themselves are in OpClusterModel, their numbers in `proto/`. Three schemes turn one
// into the other without a table per enum: the raw value plus one, the raw value as it is, and the
// position among all cases.

import OpClusterModel
import SwiftProtobuf

/// An enum with a generated counterpart.
/// A conforming type picks one of the schemes below, or counts by itself.
protocol WireEnumeration {
  /// The generated enum, with a case UNRECOGNIZED for the numbers of later releases.
  associatedtype Proto: SwiftProtobuf.Enum
  /// From 1 on: 0 means "not said" in every enum of the protocol.
  var wireNumber: Int { get }
  /// Returns nil for a number that no case of this release has.
  init?(wireNumber: Int)
}

extension WireEnumeration {
  /// The fallback is the generated zero; no case yields it as long as its scheme fits `proto/`.
  var proto: Proto { Proto(rawValue: wireNumber) ?? Proto() }

  /// Zero throws `unknownValue` as well: a field that has to be said was not.
  init(proto: Proto, _ field: String) throws(WireError) {
    guard let word = Self(wireNumber: proto.rawValue) else {
      throw WireError(field, .unknownValue(proto.rawValue))
    }
    self = word
  }

  /// Decodes an enum that has a meaning for "unspecified".
  /// Only zero means "unspecified"; a number of a later release throws.
  init(proto: Proto, unspecified: Self, _ field: String) throws(WireError) {
    if proto.rawValue == 0 {
      self = unspecified
    } else {
      try self.init(proto: proto, field)
    }
  }

  /// Decodes a packed column. One unknown entry refuses the whole message, since skipping it would
  /// shift all entries behind it.
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
    // `&-` keeps the lowest number from trapping; the conversion then refuses what is negative.
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
    // The conversion refuses numbers outside of the raw type before a case is looked for.
    guard let raw = RawValue(exactly: wireNumber) else { return nil }
    self.init(rawValue: raw)
  }
}

/// Cases without raw values: the number is the position among all cases, from 1.
/// The order of the cases is therefore part of the protocol: a case may only be added at the end.
/// The columns of `StateCounts` use the same order.
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

// Enums whose raw values begin at 0, so that a byte or an array index holds them in memory.
extension EdgePolicy: ShiftedEnumeration { typealias Proto = ProtoEdgePolicy }
extension QualityOfService: ShiftedEnumeration { typealias Proto = ProtoQualityOfService }
extension FailureCause: ShiftedEnumeration { typealias Proto = ProtoFailureCause }
extension GroupEdge.Match: ShiftedEnumeration { typealias Proto = ProtoEdgeMatch }
extension FailurePolicy: ShiftedEnumeration { typealias Proto = ProtoFailurePolicy }
extension LogStream: ShiftedEnumeration { typealias Proto = ProtoLogStream }
extension CallInput.Form: ShiftedEnumeration { typealias Proto = ProtoCallInput.Form }
// Enums whose raw values begin at 1: in columns of bytes, 0 means that there is none yet.
extension Outcome: EqualEnumeration { typealias Proto = ProtoOutcome }
extension Refusal.Code: EqualEnumeration { typealias Proto = ProtoRefusalCode }
extension GraphOutcome: EqualEnumeration { typealias Proto = ProtoGraphOutcome }
extension CancelVerdict.Verdict: EqualEnumeration { typealias Proto = ProtoCancelVerdict }
// Enums without raw values. They are words for people, and few are sent.
extension StateWord: PositionEnumeration { typealias Proto = ProtoStateWord }
extension GraphRow.State: PositionEnumeration { typealias Proto = ProtoGraphState }
extension WorkerRow.State: PositionEnumeration { typealias Proto = ProtoWorkerRows.State }

extension Priority: WireEnumeration {
  typealias Proto = ProtoPriority
  /// Maps the five levels −8…8 to 1…5.
  /// Foundation has the same five: −8, −4, 0, 4 and 8. The wire has no numbers between them.
  var wireNumber: Int { Int(rawValue) / 4 + 3 }
  init?(wireNumber: Int) {
    guard (1...5).contains(wireNumber) else { return nil }
    self.init(rawValue: Int8(wireNumber - 3) * 4)
  }
}

extension FailureCause {
  /// Decodes an unknown cause as a failure.
  /// A worker of a later release may know more causes than this coordinator. The attempt has ended
  /// either way, and refusing its report would lose the end (G32).
  init(lenient proto: ProtoFailureCause) {
    self = FailureCause(wireNumber: proto.rawValue) ?? .failed
  }
}

extension QualityOfService? {
  /// Decodes UNSPECIFIED as nil.
  /// nil means that the queue's service applies, which need not be the default.
  init(proto: ProtoQualityOfService, _ field: String) throws(WireError) {
    self = proto == .unspecified ? nil : try QualityOfService(proto: proto, field)
  }
}
