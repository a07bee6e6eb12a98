// The format does not drift unnoticed: golden bytes, and generated code that is as fresh as the
// contract it was made from.

import FoundationEssentials
import MessageGenerators
import OpClusterModel
import Testing

@testable import OpClusterWire

@Suite struct FormatTests {
  private static let goldenHello =
    "0a640a0408011001120262311a0277312108070605040302012a190880f10410808080800818904e"
    + "220a0a04736c6f7410a09c0132090a047a6f6e651201613a070a0373756d1002420e0a090a010312"
    + "01011a01161201024a0c0a0a0a01031201021a021201"

  @Test func goldenHello() throws {
    let bytes = Wire.encode(.hello(MessageGenerator(seed: 0).helloWithoutChance))
    let hex = bytes.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    #expect(hex == Self.goldenHello)
    #expect(
      try Wire.decodeWorkerMessage(bytes) == .hello(MessageGenerator(seed: 0).helloWithoutChance))
  }

  /// Generated/ was made from proto/ as it is (deploy/generate-protobuf).
  @Test(arguments: [
    ("client", ProtoDigest.client), ("content", ProtoDigest.content),
    ("journal", ProtoDigest.journal),
    ("submission", ProtoDigest.submission), ("worker", ProtoDigest.worker),
  ]) func generatedCodeIsFresh(name: String, digest: String) throws {
    // …/Tests/OpClusterWireTests/FormatTests.swift
    let parts = #filePath.split(separator: "/").dropLast(3)
    let path = "/" + parts.joined(separator: "/") + "/proto/opcluster/v1/\(name).proto"
    let contents = try #require(
      FileManager.default.contents(atPath: path), "cannot read \(path)")
    #expect(cksum([UInt8](contents)) == digest, "run deploy/generate-protobuf")
  }

  /// The checksum and the size, as POSIX cksum prints them.
  private func cksum(_ bytes: [UInt8]) -> String {
    var crc: UInt32 = 0
    func add(_ byte: UInt8) {
      crc ^= UInt32(byte) << 24
      for _ in 0..<8 { crc = crc & 0x8000_0000 != 0 ? crc << 1 ^ 0x04c1_1db7 : crc << 1 }
    }
    bytes.forEach(add)
    var length = bytes.count
    while length > 0 {
      add(UInt8(truncatingIfNeeded: length))
      length >>= 8
    }
    return "\(~crc) \(bytes.count)"
  }

  /// Every value of an enum of the words has a name in proto/, and the other way round.
  @Test func enumsHaveAName() {
    func expectSame<Word: WireEnumeration & CaseIterable>(_ type: Word.Type)
    where Word.Proto: CaseIterable {
      #expect(Word.allCases.count + 1 == Word.Proto.allCases.count, "\(type)")
      #expect(Word(wireNumber: 0) == nil, "\(type)")
    }
    expectSame(EdgePolicy.self)
    expectSame(QualityOfService.self)
    expectSame(FailureCause.self)
    expectSame(FailurePolicy.self)
    expectSame(LogStream.self)
    expectSame(Outcome.self)
    expectSame(Refusal.Code.self)
    expectSame(GraphOutcome.self)
    expectSame(CancelVerdict.Verdict.self)
    expectSame(StateWord.self)
    expectSame(GraphRow.State.self)
    expectSame(WorkerRow.State.self)
    expectSame(Priority.self)
  }
}
