// The JSON contract: fixed keys, absent rather than null, and text that survives the way there
// and back without steering a terminal (G38).

import OpClusterModel
import OpClusterPresentation
import Testing

struct JSONTests {
  private func parsed(_ body: (inout JSONText) -> Void) throws -> StrictJSON {
    var json = JSONText()
    json.object(body)
    return try StrictJSON(json.text)
  }

  @Test func anyTextComesBackAndNoControlCharacterIsRaw() throws {
    let evil = "q\" b\\ n\n t\t r\r z\0 e\u{1b}[2J d\u{7f} c\u{9b} l\u{2028} b\u{202e} é 漢 🧬"
    let json = try parsed { $0.field(evil, evil) }
    #expect(json[evil] == .string(evil))
    var text = JSONText()
    text.value(evil)
    let raw = text.text.unicodeScalars.filter {
      $0.value < 0x20 || (0x7f..<0xa0).contains($0.value) || $0.value == 0x202e
    }
    #expect(raw.isEmpty)
  }

  @Test func numbersAreExactOrRounded() throws {
    let json = try parsed { json in
      json.field("a", UInt64.max)
      json.field("b", 1.5)
      json.field("c", 4.0)
      json.field("d", -0.000_001)
      json.field("e", Double.infinity)
      json.field("f", Int64.min)
      json.field("g", nil as String?)
      json.field("h", WallTime.unknown)
    }
    #expect(json["b"] == .number(1.5) && json["c"] == .number(4))
    #expect(json["d"] == .number(-0.000_001) && json["e"] == .number(0))
    #expect(json["g"] == nil && json["h"] == nil)
    var text = JSONText()
    text.value(UInt64.max)
    #expect(text.text == "18446744073709551615")
  }

  @Test func timesAreRFC3339() {
    #expect(rfc3339(Sample.start) == "2026-11-21T01:40:48.123Z")
    #expect(rfc3339(WallTime(milliseconds: 951_782_400_000)) == "2000-02-29T00:00:00.000Z")
    #expect(rfc3339(WallTime(milliseconds: -1)) == "1970-01-01T00:00:00.000Z")
    #expect(rfc3339(WallTime(milliseconds: .max)) == "9999-12-31T23:59:59.999Z")
    #expect(rfc3339(WallTime(milliseconds: 4_107_542_399_999)) == "2100-02-28T23:59:59.999Z")
  }

  @Test func aGraphHasItsKeys() throws {
    let json = try parsed { $0.fields(of: Sample.rnaseq.row) }
    #expect(json["id"] == .number(12) && json["name"] == .string("rnaseq"))
    #expect(json["state"] == .string("running") && json["total"] == .number(804))
    #expect(json["counts"]?["waiting"] == .number(362))
    #expect(json["counts"]?["timed_out"] == .number(0))
    #expect(json["submitted_at"] == .string("2026-11-21T01:40:48.123Z"))
    #expect(json["finished_at"] == nil)
  }

  @Test func anOperationHasItsKeys() throws {
    var row = Sample.failed
    row.result?.output = Array("reads=120\nbest=a=b\nreads=121\n".utf8)
    let json = try parsed { $0.fields(of: row) }
    let expected: [String: StrictJSON] = [
      "id": .string("12/align/3"), "name": .string("align"), "graph": .number(12),
      "index": .number(3), "state": .string("failed"), "is_ready": .flag(true),
      "is_executing": .flag(false), "is_finished": .flag(true), "is_cancelled": .flag(false),
      "outcome": .string("failed"), "reason": .string("failed"), "queue": .string("default"),
      "priority": .string("normal"), "qos": .string("default"), "worker": .string("w1"),
      "attempt": .number(2), "exit_code": .number(2),
      "output": .object(["reads": .string("121"), "best": .string("a=b")]),
      "submitted_at": .string("2026-11-21T01:40:48.123Z"),
      "max_rss_bytes": .number(Double(3 << 29)), "cpu_seconds": .number(58),
      "needs": .array([
        .object(["id": .string("12/index"), "when": .string("succeeded")])
      ]),
    ]
    for (key, value) in expected { #expect(json[key] == value, "\(key)") }
    #expect(json["signal"] == nil)
    #expect(json["attempts"]?[0]?["signal"] == .number(15))
    #expect(json["attempts"]?[0]?["exit_code"] == nil)
  }

  @Test func whatIsNotKnownIsAbsent() throws {
    let json = try parsed { $0.fields(of: Sample.operation(.waiting, name: "one", element: nil)) }
    for key in ["index", "outcome", "reason", "worker", "attempt", "exit_code", "signal", "output"]
    {
      #expect(json[key] == nil, "\(key)")
    }
    #expect(json["id"] == .string("12/one") && json["needs"] == .array([]))
  }

  @Test func skippedAndCancelledNameTheirReason() throws {
    var row = Sample.operation(.skipped)
    row.outcome = .skipped
    row.reason = .dependency(OperationID(graph: GraphID(12), index: 0), .timedOut)
    row.needs = Sample.failed.needs
    var json = try parsed { $0.fields(of: row) }
    #expect(json["outcome"] == .string("cancelled") && json["state"] == .string("skipped"))
    #expect(json["reason"] == .string("dependency"))
    #expect(json["reason_detail"] == .string("12/index timed-out"))
    row.reason = .request("wrong input")
    json = try parsed { $0.fields(of: row) }
    #expect(json["reason"] == .string("request"))
    #expect(json["reason_detail"] == .string("wrong input"))
  }

  @Test func outputsThatAreNoPairsAreBase64() throws {
    var row = Sample.failed
    let cases: [([UInt8], String)] = [
      ([0xff], "/w=="), ([0xff, 0x00], "/wA="), ([0, 0x10, 0x83], "ABCD"),
      (Array("no pair".utf8), "bm8gcGFpcg=="),
    ]
    for (bytes, expected) in cases {
      row.result?.output = bytes
      let json = try parsed { $0.fields(of: row) }
      #expect(json["output_base64"] == .string(expected) && json["output"] == nil)
    }
  }

  @Test(arguments: [ListFormat.json, .jsonl]) func aListingGoesOnAfterItsBytesWereTaken(
    _ format: ListFormat
  ) throws {
    var listing = JSONListing("graphs", format: format)
    var bytes = listing.take()
    for number in 1...3 {
      listing.row { $0.field("id", number) }
      bytes += listing.take()
    }
    listing.end()
    bytes += listing.take()
    let text = String(decoding: bytes, as: UTF8.self)
    let rows = (1...3).map { StrictJSON.object(["id": .number(Double($0))]) }
    #expect(text.hasSuffix("\n"))
    switch format {
    case .json:
      let json = try StrictJSON(text)
      #expect(json == .object(["schema": .string("opbatch/v1"), "graphs": .array(rows)]))
    case .jsonl:
      let lines = text.split(separator: "\n")
      #expect(try lines.map { try StrictJSON(String($0)) } == rows)
    }
  }

  @Test func anEmptyListingIsAnEmptyArray() throws {
    var listing = JSONListing("graphs", format: .json)
    listing.end()
    let text = String(decoding: listing.take(), as: UTF8.self)
    #expect(text == "{\"schema\":\"opbatch/v1\",\"graphs\":[]}\n")
  }

  @Test func errorsAndSubmissionsHaveTheirShape() throws {
    #expect(
      jsonError(code: "unknown_queue", message: "no queue 'x'", hint: "queue ls")
        == #"{"error":{"code":"unknown_queue","message":"no queue 'x'","hint":"queue ls"}}"# + "\n")
    let text = jsonDocument {
      $0.submission(GraphID(12), name: "a", operations: 3, repeated: false)
    }
    #expect(
      text == #"{"schema":"opbatch/v1","graph":{"id":12,"name":"a","operations":3}}"# + "\n")
  }

  @Test func queuesAndWorkersHaveTheirKeys() throws {
    let queue = try parsed { $0.fields(of: ClusterSample.queues[0]) }
    #expect(queue["name"] == .string("io") && queue["qos"] == .string("utility"))
    #expect(queue["max_concurrent"] == .number(4) && queue["is_suspended"] == .flag(true))
    #expect(queue["operation_count"] == .number(12) && queue["executing"] == .number(3))
    let unlimited = try parsed { $0.fields(of: ClusterSample.queues[1]) }
    #expect(unlimited["max_concurrent"] == nil)
    let worker = try parsed { $0.fields(of: ClusterSample.workers[0]) }
    #expect(worker["name"] == .string("node-1") && worker["state"] == .string("connected"))
    #expect(worker["slots"] == .number(8) && worker["executing"] == .number(3))
    #expect(worker["resources"]?["memory_bytes"] == .number(Double(32 << 30)))
    #expect(worker["resources"]?["licence"] == .number(2))
    #expect(worker["operation_types"]?[0] == .string("image.denoise@1"))
    #expect(worker["last_heard_seconds"] == .number(0.4))
    #expect(worker["free"]?["cpus"] == .number(7) && worker["free"]?["licence"] == .number(2))
  }

  // One that was not heard yet has no resources, and runs something.
  @Test func nothingLessThanNothingIsFree() throws {
    var row = ClusterSample.workers[0]
    row.free.take(row.capacity)
    row.capacity = Resources()
    row.lastHeard = nil
    let free = try parsed { $0.fields(of: row) }["free"]
    #expect(free?["cpus"] == .number(0) && free?["memory_bytes"] == .number(0))
    #expect(free?["licence"] == .number(0))
  }

  @Test func everyKeyIsSnakeCase() throws {
    let texts = [
      GraphDocuments.json(Sample.rnaseq), jsonDocument { $0.fields(of: Sample.failed) },
      jsonDocument { $0.fields(of: ClusterSample.workers[1]) },
      jsonDocument { $0.fields(of: ClusterSample.queues[0]) },
    ]
    for text in texts {
      for key in try StrictJSON(text).keys {
        #expect(key.allSatisfy { $0.isLowercase || $0 == "_" || $0.isNumber }, "\(key)")
      }
    }
  }

  @Test func structureNamesItsEdges() throws {
    let json = try StrictJSON(GraphDocuments.json(Sample.rnaseq))
    #expect(json["stages"]?[2]?["count"] == .number(400))
    let edge = json["edges"]?[3]
    #expect(edge?["from"] == .string("align") && edge?["match"] == .string("same-index"))
    #expect(json["edges"]?[5]?["when"] == .string("finished"))
  }
}
