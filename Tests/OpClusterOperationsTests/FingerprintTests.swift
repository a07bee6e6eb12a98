// What types look like, as numbers that are the same everywhere.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterOperations

@Suite struct FingerprintTests {
  struct Plain: Codable, Sendable {
    var count: Int
    var name: String?
    var tags: [String]
  }
  enum Same {
    struct Plain: Codable, Sendable {
      var tags: [String]
      var name: String?
      var count: Int
    }
  }
  enum Renamed {
    struct Plain: Codable, Sendable {
      var number: Int
      var name: String?
      var tags: [String]
    }
  }
  enum Retyped {
    struct Plain: Codable, Sendable {
      var count: Double
      var name: String?
      var tags: [String]
    }
  }
  enum Optional {
    struct Plain: Codable, Sendable {
      var count: Int?
      var name: String?
      var tags: [String]
    }
  }
  struct Tree: Codable, Sendable {
    var value: Int
    var children: [Tree]
    var leaves: [String: Tree]
  }
  enum Colour: String, Codable { case red, green }
  enum Shade: String, Codable, CaseIterable { case light, dark }
  enum Choice: Codable, Sendable {
    case one(Int)
    case two
  }
  struct Odd: Codable, Sendable {
    var shade: Shade
    var colours: [Colour]
    var choice: Choice?
    var zone: Int
  }
  struct Stopped: Codable, Sendable {
    var seen: Int
    var colour: Colour
    var unseen: Int
  }
  struct Known: Codable, Sendable {
    var at: Date
    var bytes: Data
    var id: UUID
    var link: URL
    var price: Decimal
    var set: Set<Int>
    var map: [String: [Double]]
  }

  // Written down: it must not change from process to process, nor from release to release.
  @Test func areStable() {
    #expect(SchemaFingerprint.of(Int.self) == 0x41a9_1f19_c98d_d49e)
    #expect(SchemaFingerprint.of(Plain.self) == 0x11e5_29f5_6f37_3e82)
    #expect(SchemaFingerprint.of(Tree.self) == 0x363b_a2e5_5ce6_bd05)
    #expect(SchemaFingerprint.of(Odd.self) == 0x9ab7_4973_29ff_23b4)
    #expect(SchemaFingerprint.of(Known.self) == 0xde59_c000_8145_814d)
    #expect(Darken.operationType.fingerprint == 0xd6fb_d6ec_4451_e29f)
    #expect(Publish.operationType.fingerprint == 0xa487_74ae_e198_e353)
    #expect(Handover.operationType.fingerprint == 0xacd2_72a5_a130_9254)
  }

  // What the numbers are made of, for people.
  @Test func descriptions() {
    let picture = "{name:String,width:Int}"
    let shown: [(Any.Type, String)] = [
      (Int.self, "Int"), (Int?.self, "optional[Int]"), (Choice.self, "Choice"),
      (Plain.self, "{count:Int,name?:String,tags:[String]}"),
      (Tree.self, "{children:[^Tree],leaves:map[String,^Tree],value:Int}"),
      (
        Odd.self,
        "{choice?:Choice,colours:[Colour=String],shade:Shade=String,zone:Int}"
      ),
      (Stopped.self, "Stopped{colour:Colour=String,seen:Int}"),
      (
        Known.self,
        "{at:Date,bytes:Data,id:UUID,link:URL,map:map[String,[Double]],price:Decimal,set:[Int]}"
      ),
      (Darken.self, "{amount:Int,picture:input Picture[\(picture)]}"),
      (Publish.self, "{picture:input Picture[\(picture)]}"), (Never.self, "Never"),
      ((any Error).self, "Error"),
    ]
    for (type, text) in shown { #expect(SchemaFingerprint.description(of: type) == text) }
  }

  // The order of declarations and the names of structures do not count; keys and types do.
  @Test func tellApart() {
    let plain = SchemaFingerprint.of(Plain.self)
    #expect(SchemaFingerprint.of(Same.Plain.self) == plain)
    #expect(SchemaFingerprint.of(Renamed.Plain.self) != plain)
    #expect(SchemaFingerprint.of(Retyped.Plain.self) != plain)
    #expect(SchemaFingerprint.of(Optional.Plain.self) != plain)
    #expect(SchemaFingerprint.of([Plain].self) != plain)
    #expect(SchemaFingerprint.of(Plain?.self) != plain)
    #expect(SchemaFingerprint.of(Tree.self) != plain)
    #expect(SchemaFingerprint.of(Colour.self) != SchemaFingerprint.of(Shade.self))
    // Nothing that can be decoded at all.
    #expect(SchemaFingerprint.of((any Error).self) != SchemaFingerprint.of(Never.self))
  }

  // Of an operation the output counts, too, and both sides get it in the same way.
  @Test func operations() {
    #expect(Darken.operationType.fingerprint == SchemaFingerprint.of(Darken.self))
    #expect(Darken.operationType.name == "test.darken" && Publish.operationType.version == 2)
    #expect(SchemaFingerprint.of(TwiceA.self) != SchemaFingerprint.of(TwiceB.self))
    #expect(TwiceA.operationType.name == TwiceB.operationType.name)
    #expect(!TwiceA.operationType.isServed(by: TwiceB.operationType))
  }
}

private struct TwiceA: RegisteredOperation {
  static let typeName = "twice"
  var number = 1
  func main(_ context: OperationContext) async throws -> Int { number * 2 }
}

private struct TwiceB: RegisteredOperation {
  static let typeName = "twice"
  var number = 1
  func main(_ context: OperationContext) async throws -> String { "\(number * 2)" }
}
