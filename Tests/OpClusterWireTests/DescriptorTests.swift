// Numbers of fields that are written by hand, beside the ones of proto/: those that bound messages,
// and those that a glance at a request knows.

import Citations
import FoundationEssentials
import Testing

@testable import OpClusterWire

@Suite struct DescriptorTests {
  private let descriptor: Descriptor

  init() throws {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let folder = root.joined(separator: "/") + "/proto/opcluster/v1"
    let texts = try FileManager.default.contentsOfDirectory(atPath: folder).map {
      try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
    }
    descriptor = Descriptor(texts.joined(separator: "\n"))
    #expect(descriptor.messages.count > 100)
  }

  /// Whatever holds messages without number is bounded, however deep, and nothing but messages is
  /// named.
  @Test(
    .checks("G32"),
    arguments: [
      ("WorkerMessage", Shape.workerMessage), ("CoordinatorMessage", .coordinatorMessage),
      ("ClientMessage", .clientMessage), ("ContentRequest", .contentRequest),
    ])
  func everyMessageFieldIsBounded(_ name: String, _ shape: Shape) {
    compare(shape, name, path: name, isWhole: true)
  }

  /// Payloads have few bytes; only a part of their fields is counted.
  @Test(arguments: [("Blocks", Shape.blocks), ("BlockResults", .blockResults)])
  func payloadsNameMessageFields(_ name: String, _ shape: Shape) {
    compare(shape, name, path: name, isWhole: false)
  }

  private func compare(_ shape: Shape, _ name: String, path: String, isWhole: Bool) {
    guard let message = descriptor.messages[name] else {
      Issue.record("no message \(path)")
      return
    }
    for field in shape.fields {
      let known = message[field.number]
      #expect(known.map { descriptor.messages[$0.type] != nil } == true, "\(path).\(field.number)")
      #expect(known?.isRepeated == true || field.limit == 1, "\(path).\(field.number)")
      if let known, !descriptor.canGrow(known), !field.shape.fields.isEmpty {
        compare(field.shape, known.type, path: "\(path).\(field.number)", isWhole: isWhole)
      }
    }
    #expect(!descriptor.repeated.contains(name), "two messages are called \(name)")
    for (number, field) in message where descriptor.canGrow(field) {
      let place = "\(path).\(number) (\(field.name))"
      guard let bound = shape.fields.first(where: { $0.number == number }) else {
        if isWhole { Issue.record("\(place) is not bounded") }
        continue
      }
      compare(bound.shape, field.type, path: place, isWhole: isWhole)
    }
  }

  @Test(.checks("G29")) func aGlanceKnowsTheNumbers() {
    let message = descriptor.messages["ClientMessage"]
    let request = descriptor.messages["Request"]
    #expect(message?[RequestGlance.request]?.type == "Request")
    #expect(request?[RequestGlance.number]?.name == "number")
    #expect(
      RequestGlance.givingBack.map { request?[$0]?.name ?? "" }
        == ["grant_credit", "unsubscribe", "end_wait"])
  }
}

/// The messages of proto files and their fields, by number.
private struct Descriptor {
  struct Field {
    var name: String
    var type: String
    var isRepeated: Bool
  }
  private(set) var messages: [String: [UInt64: Field]] = [:]
  /// Names of several messages, in different places.
  private(set) var repeated: Set<String> = []

  init(_ text: String) {
    // What the blocks around a line are; nil: none that holds fields.
    var around: [String?] = []
    for line in text.split(separator: "\n") {
      let code = line.split(separator: "//", omittingEmptySubsequences: false)[0]
      let words = code.split { " =;".contains($0) }.map(String.init)
      if words.first == "message", words.count > 1 {
        around.append(words[1])
        if messages.updateValue([:], forKey: words[1]) != nil { repeated.insert(words[1]) }
      } else if words.first == "oneof" {
        around.append(around.last ?? nil)
      } else if words.last == "{" {
        around.append(nil)
      } else if let message = around.last ?? nil {
        read(words, into: message)
      }
      if code.contains("}") { around.removeLast() }
    }
  }

  /// Whether a field holds any number of messages, itself or below it. No message holds itself.
  func canGrow(_ field: Field) -> Bool {
    guard let message = messages[field.type] else { return false }
    return field.isRepeated || message.values.contains { canGrow($0) }
  }

  private mutating func read(_ words: [String], into message: String) {
    let isRepeated = words.first == "repeated"
    let rest = words.drop { ["repeated", "optional"].contains($0) }
    guard rest.count >= 3, rest.first != "reserved", let number = UInt64(rest[rest.startIndex + 2])
    else { return }
    messages[message]?[number] = Field(
      name: rest[rest.startIndex + 1], type: rest[rest.startIndex], isRepeated: isRepeated)
  }
}
