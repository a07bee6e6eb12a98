// Numbers at the ends of their types: bounded where they are decoded, and in every sum behind that
// (G33). Each of these ended a daemon or a command once.

import Citations
import OpClusterModel
import OpClusterPresentation
import SwiftProtobuf
import Testing

@testable import OpClusterWire

@Suite struct NumberBoundsTests {
  private static let ends: [Int64] = [
    .min, .min + 1, -(1 << 62), -1, 0, 1, 1 << 32, 1 << 61, 1 << 62, .max - 1, .max,
  ]

  /// Moments and lengths never leave their bounds, however they are added up.
  @Test(.checks("G33")) func sumsOfTimesEndAtTheirBounds() {
    #expect(Span.longest.nanoseconds == Limits.longestSpanNanoseconds)
    #expect(Span(nanoseconds: Limits.longestSpanNanoseconds + 1) == .longest)
    #expect(Span(nanoseconds: Limits.longestSpanNanoseconds - 1) < .longest)
    #expect(Instant.distantFuture.nanoseconds == Limits.furthestInstantNanoseconds)
    #expect(WallTime(milliseconds: .max).milliseconds == Limits.latestWallMilliseconds)
    #expect(Span.seconds(.max) == .longest)
    #expect(Span(.seconds(Int64.max)) == .longest && Span(.seconds(Int64.min)) < .zero)
    for one in Self.ends {
      for other in Self.ends {
        let (moment, span) = (Instant(nanoseconds: one), Span(nanoseconds: other))
        let sums = [moment + span, moment - span].map(\.nanoseconds.magnitude)
        #expect(sums.allSatisfy { $0 <= Limits.furthestInstantNanoseconds.magnitude })
        let lengths = [
          Span(nanoseconds: one) + span, Span(nanoseconds: one) - span, span * one,
          Instant(nanoseconds: other) - moment, .milliseconds(one), .seconds(one),
          WallTime(milliseconds: one) - WallTime(milliseconds: other),
        ]
        #expect(
          lengths.allSatisfy { $0.nanoseconds.magnitude <= Span.longest.nanoseconds.magnitude })
        let wall = WallTime(milliseconds: one) + span
        #expect(wall >= .unknown && wall.milliseconds <= Limits.latestWallMilliseconds)
        #expect(!rfc3339(wall).isEmpty && !shownDuration(lengths[0]).isEmpty)
      }
    }
    for number in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 9.3e18] {
      let span = Span.fractionalSeconds(number)
      #expect(span.nanoseconds.magnitude <= Limits.longestSpanNanoseconds.magnitude)
      #expect(
        Span.seconds(3).scaled(by: number).nanoseconds.magnitude <= span.nanoseconds.magnitude)
      _ = (UInt8(saturating: number), Int64(saturating: number), UInt64(saturating: number))
    }
    #expect(Int64(saturating: Double(Int64.max)) == .max && UInt8(saturating: 255.9) == 255)
  }

  /// A worker's report of times of ±2⁶³ and of odd numbers is told as the nearest that is one.
  @Test(.checks("G33"), arguments: ends) func aReportsNumbersAreBounded(end: Int64) throws {
    var proto = ProtoAttemptResults([])
    proto.count = 2
    proto.exitStatus = [Int32(truncatingIfNeeded: end), .min]
    proto.signal = [Int32(truncatingIfNeeded: end), .max]
    proto.maximumResidentBytes = [UInt64(bitPattern: end), .max]
    proto.processorMicroseconds = [UInt64(bitPattern: end), .max]
    proto.startedAtDelta = [end, .max]
    proto.endedAfter = [end, .min]
    for result in try proto.words(2, "results") {
      #expect((0...Limits.exitStatus).contains(result.exitStatus))
      #expect((0...Limits.signal).contains(result.signal))
      #expect(result.maximumResidentBytes <= Limits.measuredAmount)
      #expect(result.processorMicroseconds <= Limits.measuredAmount)
      var row = OperationRow(
        id: OperationID(graph: GraphID(1), index: 0), name: "a", index: nil, state: .failed)
      row.result = result
      row.readyAt = WallTime(milliseconds: end)
      row.startedAt = result.startedAt
      row.finishedAt = result.endedAt
      let style = Style(now: WallTime(milliseconds: end), secondsEastOfUTC: .max)
      #expect(!operationPage(row, style).isEmpty)
      #expect(!jsonDocument { json in json.object { $0.fields(of: row) } }.isEmpty)
    }
  }

  /// A piece of a log says where it lies, which its reader adds its length to.
  @Test(.checks("G33")) func aLogsPlacesAreBounded() throws {
    var proto = ProtoLogChunk()
    proto.offset = .max
    proto.size = .max
    proto.bytes = data([1, 2, 3])
    let chunk = try LogChunk(proto: proto)
    #expect(chunk.offset == Limits.measuredAmount && chunk.size == Limits.measuredAmount)
  }

  /// Times that a submission asks for are lengths that can be waited for; negative ones are
  /// refused.
  @Test(.checks("G33")) func aSubmissionsTimesAreBounded() throws {
    var proto = ProtoTemplate()
    proto.name = "a"
    proto.count = 1
    proto.work = .command
    proto.timeoutNanoseconds = .max
    proto.graceNanoseconds = .max
    proto.retry.backoffNanoseconds = .max
    proto.retry.maximumBackoffNanoseconds = .max
    proto.retry.backoffPercent = .max
    let template = try OperationTemplate(proto: proto)
    #expect(template.timeout == .longest && template.grace == .longest)
    #expect(template.retry.backoff == .longest && template.retry.maximumBackoff == .longest)
    for field in [\ProtoTemplate.timeoutNanoseconds, \.graceNanoseconds] {
      var negative = proto
      negative[keyPath: field] = .min
      #expect(throws: WireError.self) { try OperationTemplate(proto: negative) }
    }
  }

  /// Counts of a graph that no submission can have are told as the largest that it can, and
  /// can be added up.
  @Test(.checks("X1")) func countsOfRowsAreBounded() throws {
    var proto = ProtoGraphRow()
    proto.name = "g"
    proto.state = .running
    proto.counts = Array(repeating: .max, count: StateWord.allCases.count)
    let row = try GraphRow(proto: proto)
    #expect(row.counts[.failed] == UInt32(Limits.operationsPerGraph))
    #expect(row.counts.total < .max && !row.counts.sentence().isEmpty)
    var all = StateCounts()
    for word in StateWord.allCases { all[word] = .max }
    all.add(all)
    #expect(all.total == .max && all.finished == .max)
  }
}
