// Inputs from dependencies (S135 to S140): by wrapper, by name, by operation, by type.

import Citations
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Testing

@Suite struct InputTests {
  private let cat = Picture(name: "cat")
  private let dog = Picture(name: "dog")

  private func darkened(_ operation: Darken, _ inputs: [DependencyInput]) async throws -> String {
    let result = try await Rig.run(operation, Rig.context(inputs))
    return try OutputValue.decode(Picture.self, from: result.output).name
  }

  // What was set wins.
  @Test(.checks("S136")) func ownInputFirst() async throws {
    let inputs = [try Rig.input("fetch", dog)]
    #expect(try await darkened(Darken(picture: cat), inputs) == "cat-1")
    #expect(try await darkened(Darken(), inputs) == "dog-1")
  }

  // The first in order of addition that succeeded and left such a value.
  @Test(.checks("S135", "S136")) func firstProviderWins() async throws {
    let inputs = [
      try Rig.input("text", "hello"), try Rig.input("empty", NoOutput()),
      try Rig.input("failed", cat, outcome: .failed),
      try Rig.input("cancelled", cat, outcome: .cancelled),
      try Rig.input("absent", Picture?.none),
      DependencyInput(
        operation: Rig.attempt.operation, name: "garbage", index: nil, outcome: .succeeded,
        output: [0xFF, 0xFF]),
      try Rig.input("dog", dog), try Rig.input("cat", cat),
    ]
    #expect(try await darkened(Darken(), inputs) == "dog-1")
    #expect(try await darkened(Darken(), Array(inputs.dropLast(2))) == "none-1")
  }

  // A required input that is absent is the end, without main.
  @Test(.checks("S138")) func requiredInput() async throws {
    let there = try await Rig.run(Publish(), Rig.context([try Rig.input("fetch", cat)]))
    #expect(try OutputValue.decode(String.self, from: there.output) == "published cat")
    var own = Publish()
    own.picture = dog
    #expect(own.picture == dog && own.$picture == dog)
    let set = try await Rig.run(own, Rig.context([try Rig.input("fetch", cat)]))
    #expect(try OutputValue.decode(String.self, from: set.output) == "published dog")

    let absent = try await Rig.run(
      Publish(),
      Rig.context([
        try Rig.input("fetch", cat, outcome: .failed),
        try Rig.input("tiles", "text", element: 4),
      ]))
    #expect(absent.cause == .missingInput)
    #expect(
      absent.diagnostic
        == "'picture' was not set, and no dependency left a Picture; fetch (failed) left nothing, "
        + "tiles/4 left a value of type String")
    #expect(try await Rig.run(Publish()).diagnostic.hasSuffix("it has no dependencies"))
  }

  // An absent key, a null and a key with a value, whoever has written the JSON.
  @Test func keys() async throws {
    let context = Rig.context([try Rig.input("fetch", dog)])
    for (json, name) in [
      ("{}", "dog"), (#"{"picture": null}"#, "dog"),
      (#"{"picture": {"name": "cat", "width": 1}}"#, "cat"),
    ] {
      let bytes = Array(json.utf8)
      if json != "{}" {
        let publish = try OperationArgument.decode(Publish.self, from: bytes, for: context)
        #expect(publish.picture.name == name)
      }
      let lone = try OperationArgument.decode(LoneInput.self, from: bytes, for: context)
      #expect(lone.picture?.name == name)
      // Without a context nothing is filled in, and nothing is required.
      let bare = try OperationArgument.decode(Publish.self, from: bytes, for: nil)
      #expect(bare.$picture?.name == (name == "cat" ? "cat" : nil))
    }
    let wrong = Array(#"{"picture": {"name": 3}}"#.utf8)
    let error = #expect(throws: BadArgument.self) {
      try OperationArgument.decode(LoneInput.self, from: wrong, for: context)
    }
    #expect(error?.description.contains("picture.name: ") == true)
  }

  // What was not set leaves no key behind, so that it is not set there either.
  @Test func unsetInputsAreNotEncoded() throws {
    #expect(String(decoding: try OperationArgument.encode(Publish()), as: UTF8.self) == "{}")
    #expect(
      String(decoding: try OperationArgument.encode(Darken()), as: UTF8.self)
        == #"{"amount":1}"#)
    #expect(
      String(decoding: try OperationArgument.encode(LoneInput(picture: cat)), as: UTF8.self)
        == #"{"picture":{"name":"cat","width":640}}"#)
    #expect(Publish(picture: RequiredInput(cat)).picture == cat)
  }

  // Own `Codable` code, without the overloads: the same.
  @Test func writtenByHand() throws {
    let context = Rig.context([try Rig.input("fetch", dog)])
    let null = Array(#"[null, null]"#.utf8)
    let pair = try OperationArgument.decode(HandWritten.self, from: null, for: context)
    #expect(pair.first.wrappedValue == dog && pair.second.wrappedValue == dog)
    #expect(
      try OperationArgument.encode(HandWritten(Input(), RequiredInput()))
        == [
          UInt8
        ]("[null,null]".utf8))
    #expect(throws: MissingInput.self) {
      try OperationArgument.decode(HandWritten.self, from: null, for: Rig.context())
    }
  }

  // All that is known of a dependency.
  @Test(.checks("S135")) func dependencies() throws {
    let context = Rig.context([
      try Rig.input("fetch", cat, at: 4), try Rig.input("tiles", dog, at: 6, element: 2),
      try Rig.input("broken", dog, at: 8, outcome: .timedOut),
    ])
    #expect(context.dependencies.map(\.shownName) == ["fetch", "tiles/2", "broken"])
    #expect(context.dependencies.map(\.operation.index) == [4, 6, 8])
    #expect(context.dependencies.map(\.outcome) == [.succeeded, .succeeded, .timedOut])
    #expect(context.dependencies.map { $0.output != nil } == [true, true, false])
  }

  @Test func byNameAndByOperation() throws {
    let context = Rig.context([
      try Rig.input("fetch", cat, at: 4), try Rig.input("broken", cat, at: 5, outcome: .failed),
      try Rig.input("tiles", Picture?.none, at: 6, element: 1),
      try Rig.input("tiles", dog, at: 7, element: 2),
      try Rig.input("tiles", cat, at: 8, element: 3),
    ])
    func id(_ index: UInt32) -> OperationID { OperationID(graph: Rig.graph, index: index) }
    #expect(try context.output(of: "fetch", as: Picture.self) == cat)
    #expect(try context.output(of: "tiles") == dog)
    #expect(try context.outputs(of: "tiles") == [dog, cat])
    #expect(try context.output(of: id(8)) == cat)
    #expect(context.output(Picture.self) == cat)
    #expect(try context.requireOutput(of: "fetch") == cat)
    #expect(try context.requireOutput(of: id(7), as: Picture.self) == dog)
    #expect(try context.requireOutput(Picture.self) == cat)
    // S138, S139: absent is nil, whoever it is.
    #expect(try context.output(of: "broken", as: Picture.self) == nil)
    #expect(try context.output(of: "nobody", as: Picture.self) == nil)
    #expect(try context.output(of: id(6), as: Picture.self) == nil)
    #expect(try context.output(of: id(99), as: Picture.self) == nil)
    #expect(context.output(String.self) == nil)
    #expect(try context.outputs(of: "nobody", as: Picture.self) == [])
    #expect(throws: MissingInput.self) { try context.requireOutput(of: "broken", as: Picture.self) }
    #expect(throws: MissingInput.self) { try context.requireOutput(of: id(6), as: Picture.self) }
    #expect(throws: MissingInput.self) { try context.requireOutput(String.self) }
    // Something else is an error, not an absence.
    let error = #expect(throws: BadOutput.self) {
      try context.output(of: "tiles", as: String.self)
    }
    #expect(
      error?.description == "'tiles/2': it left a value of type Picture, not a String")
    #expect(throws: BadOutput.self) { try context.outputs(of: "tiles", as: String.self) }
  }

  // What commands left.
  @Test func outputsOfCommands() throws {
    var input = try Rig.input("make", NoOutput())
    input.output = Wire.encode(outputs: [("path", "/a"), ("size", "3"), ("path", "/b")])
    let context = Rig.context([input])
    #expect(try context.output(of: "make") == ["path": "/b", "size": "3"])
    #expect(context.output([String: String].self) == ["path": "/b", "size": "3"])
    let error = #expect(throws: BadOutput.self) {
      try context.output(of: "make", as: Picture.self)
    }
    #expect(
      error?.description
        == "'make': it left the texts path, size, path of a command, not a Picture")
  }
}

/// Has nothing but an input.
struct LoneInput: Codable, Sendable {
  @Input var picture: Picture? = nil
}

/// Codes its inputs without keys.
struct HandWritten: Codable, Sendable {
  var first: Input<Picture>
  var second: RequiredInput<Picture>
  init(_ first: Input<Picture>, _ second: RequiredInput<Picture>) {
    (self.first, self.second) = (first, second)
  }
  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    first = try container.decode(Input<Picture>.self)
    second = try container.decode(RequiredInput<Picture>.self)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(first)
    try container.encode(second)
  }
}
