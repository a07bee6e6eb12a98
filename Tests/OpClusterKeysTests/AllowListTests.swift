// The list as a value: names, roles, invitations, and its text (G36, G37).

import FoundationEssentials
import Glibc
import OpClusterModel
import OpClusterZeroMQ
import Testing

@testable import OpClusterKeys

@Suite struct AllowListTests {
  private let now = WallTime(milliseconds: 1_000_000)

  private func key(_ name: String, _ role: Role = .worker) -> AllowedKey {
    AllowedKey(name: name, role: role, key: KeyPair.random().publicKey, addedAt: now)
  }

  private func invitation(_ name: String? = nil, in milliseconds: Int64 = 1) -> Invitation {
    Invitation(
      name: name, role: .submitter, key: KeyPair.random().publicKey,
      expiresAt: WallTime(milliseconds: now.milliseconds + milliseconds))
  }

  @Test func roundTrip() throws {
    var list = AllowList()
    for (name, role) in zip(["a", "b.1", "c:2", "d_-"], Role.allCases) {
      try list.add(key(name, role))
    }
    try list.invite(invitation("e"), at: now)
    try list.invite(invitation(), at: now)
    #expect(try AllowList(parsing: list.text, "f") == list)
    #expect(try AllowList(parsing: "", "f") == AllowList())
    #expect(try AllowList(parsing: "# only a comment\n\n", "f") == AllowList())
  }

  /// One line lets a whole rack join, and no machine more than it says.
  @Test func anInvitationForMany() throws {
    var list = AllowList()
    var many = invitation(in: 1_000)
    many.uses = 3
    try list.invite(many, at: now)
    #expect(try AllowList(parsing: list.text, "f") == list)
    let first = KeyPair.random().publicKey
    for _ in 0..<2 {
      // The second time, its answer had been lost.
      let added = try list.redeem(many.key, name: "w1", key: first, at: now)
      #expect(added.name == "w1" && list.invitations.first?.uses == 2)
    }
    // The name of another is no use of it.
    #expect(throws: KeyError.self) {
      try list.redeem(many.key, name: "w1", key: KeyPair.random().publicKey, at: now)
    }
    for name in ["w2", "w3"] {
      _ = try list.redeem(many.key, name: name, key: KeyPair.random().publicKey, at: now)
    }
    #expect(list.invitations.isEmpty && list.keys.count == 3)
    #expect(throws: KeyError.self) {
      try list.redeem(many.key, name: "w4", key: KeyPair.random().publicKey, at: now)
    }
  }

  @Test(arguments: [("a", 2), (nil, 0), (nil, Limits.invitationUses + 1)] as [(String?, UInt32)])
  func aWrongInvitationForMany(name: String?, uses: UInt32) {
    var list = AllowList()
    var wrong = invitation(name)
    wrong.uses = uses
    #expect(throws: KeyError.self) { try list.invite(wrong, at: now) }
  }

  @Test(arguments: ["0", "1", "x", "10001", "99999999999", "-2"])
  func aWrongCountOfUses(text: String) throws {
    var list = AllowList()
    try list.invite(invitation(), at: now)
    let lines = list.text.split(separator: "\n").map {
      $0.hasPrefix("invitation") ? "\($0) \(text)" : String($0)
    }
    #expect(throws: KeyError.self) { try AllowList(parsing: lines.joined(separator: "\n"), "f") }
  }

  @Test func namesAndKeysAreUnique() throws {
    var list = AllowList()
    let first = key("a")
    try list.add(first)
    #expect(throws: KeyError.self) { try list.add(key("a")) }
    #expect(throws: KeyError.self) {
      try list.add(AllowedKey(name: "b", role: .admin, key: first.key, addedAt: now))
    }
    for name in ["", "a b", "../x", "\u{1B}[31m", String(repeating: "n", count: 129)] {
      let error = #expect(throws: KeyError.self) { try list.add(key(name)) }
      #expect(error?.description.contains("\u{1B}") == false)
    }
    try list.add(key(String(repeating: "n", count: 128)))
    #expect(try list.remove(named: "a").key?.key == first.key)
    #expect(throws: KeyError.self) { _ = try list.remove(named: "a") }
  }

  // An invitation makes one key, once, in time, under the name that was decided.
  @Test func invitations() throws {
    var list = AllowList()
    let free = invitation()
    let named = invitation("w7")
    let late = invitation(in: 0)
    for one in [free, named, late] { try list.invite(one, at: now) }
    let own = KeyPair.random().publicKey
    let added = try list.redeem(free.key, name: "anna", key: own, at: now)
    // A name that is taken costs no invitation.
    var taken = list
    let another = invitation()
    try taken.invite(another, at: now)
    let refused = #expect(throws: KeyError.self) {
      _ = try taken.redeem(another.key, name: "anna", key: KeyPair.random().publicKey, at: now)
    }
    #expect(refused?.message == "there is a key named 'anna' already")
    #expect(refused?.hint.contains("--name") == true && taken.invitations.contains(another))
    #expect(added == AllowedKey(name: "anna", role: .submitter, key: own, addedAt: now))
    let spent = #expect(throws: KeyError.self) {
      _ = try list.redeem(free.key, name: "bert", key: KeyPair.random().publicKey, at: now)
    }
    #expect(spent?.message.contains("used before") == true)
    let expired = #expect(throws: KeyError.self) {
      _ = try list.redeem(late.key, name: "bert", key: KeyPair.random().publicKey, at: now)
    }
    #expect(expired?.message.contains("expired") == true)
    // A key that is there already does not spend the invitation.
    #expect(throws: KeyError.self) { _ = try list.redeem(named.key, name: "x", key: own, at: now) }
    #expect(
      try list.redeem(named.key, name: "x", key: KeyPair.random().publicKey, at: now).name == "w7")
    #expect(list.invitations == [late])
    #expect(throws: KeyError.self) { try list.invite(invitation("w7"), at: now) }
    #expect(try list.remove(named: "anna").key != nil)
    // What expired long ago is forgotten at the next invitation.
    let nextWeek = WallTime(milliseconds: now.milliseconds + 8 * 86_400_000)
    try list.invite(invitation(in: 9 * 86_400_000), at: nextWeek)
    #expect(list.invitations.count == 1)
  }

  @Test func withdrawn() throws {
    var list = AllowList()
    try list.invite(invitation("w7"), at: now)
    for _ in 0..<2 { try list.invite(invitation(nil), at: now) }
    #expect(try list.remove(named: "w7") == .init(key: nil, invitations: 1))
    #expect(list.invitations.count == 2)
    // Those without a name have one sign for all of them.
    #expect(try list.remove(named: "*") == .init(key: nil, invitations: 2))
    #expect(list.invitations.isEmpty)
    #expect(throws: KeyError.self) { try list.remove(named: "*") }
  }

  @Test func limits() throws {
    var list = AllowList()
    for number in 0..<Limits.openInvitations { try list.invite(invitation("i\(number)"), at: now) }
    #expect(throws: KeyError.self) { try list.invite(invitation(), at: now) }
    let bytes = KeyPair.random().publicKey.bytes
    func line(_ number: Int) -> String {
      let own = [UInt8(number & 255), UInt8(number >> 8)] + bytes.dropFirst(2)
      return "key k\(number) worker \(PublicKey(bytes: own)!) 0\n"
    }
    let full = (0..<Limits.allowedKeys).map(line).joined()
    #expect(try AllowList(parsing: full, "f").keys.count == Limits.allowedKeys)
    #expect(throws: KeyError.self) {
      _ = try AllowList(parsing: full + line(Limits.allowedKeys), "f")
    }
    for twice in [line(1) + line(1), line(1) + line(2).replacing("k2", with: "k1")] {
      #expect(throws: KeyError.self) { _ = try AllowList(parsing: twice, "f") }
    }
    // The longest list fits into its file.
    #expect((full.utf8.count / Limits.allowedKeys + 128) * Limits.allowedKeys < Limits.keyFileBytes)
  }

  @Test func coveredNames() {
    for name in ["w1", "w1.a", "w1-2", "w1:x"] { #expect("w1".covers(workerName: name), "\(name)") }
    for name in ["w", "w2", "w11", "w1_2", "xw1", ""] {
      #expect(!"w1".covers(workerName: name), "\(name)")
    }
  }

  /// A key's name owns those that continue it, but for what a longer key's does.
  @Test func namesBelongToTheLongestKey() {
    let keys: Set = ["g", "g-2", "g.a:b"]
    for (name, owner) in [
      ("g", "g"), ("g-1", "g"), ("g-2", "g-2"), ("g-2-1", "g-2"), ("g-2.x:y", "g-2"),
      ("g-22", "g"), ("g.a", "g"), ("g.a:b", "g.a:b"), ("g.a:b-7", "g.a:b"), ("g.a:bc", "g"),
      ("g--2", "g"), ("g-", "g"), ("gg", nil), ("", nil), ("-g", nil),
    ] as [(String, String?)] {
      #expect(name.owningKey(among: keys) == owner, "\(name)")
    }
    // Whoever is said to own a name covers it.
    for name in ["g-2-1", "g.a:b-7", "g--2"] {
      #expect(name.owningKey(among: keys)?.covers(workerName: name) == true)
    }
  }

  /// What may be named as a token's place, and what is said when it is none.
  @Test func joinSources() throws {
    let token = JoinToken(
      pair: .random(), role: .worker, server: KeyPair.random().publicKey,
      clientAddress: "tcp://node-1.example:7420")
    let text = token.revealedText
    let nothing: (Int) -> [UInt8]? = { _ in nil }
    #expect(JoinSource(fileTextOrDash: "-") == .standardInput)
    #expect(JoinSource(textOrDash: "-") == .standardInput)
    #expect(JoinSource(fileTextOrDash: text) == .text(text))
    #expect(JoinSource(fileTextOrDash: "a/b") == .file("a/b"))
    let read = try JoinSource.standardInput.token { limit in
      #expect(limit == Limits.joinFileBytes)
      return Array(text.utf8)
    }
    #expect(read.pair.publicKey == token.pair.publicKey)
    #expect(throws: KeyError.self) { try JoinSource.standardInput.token(readLine: nothing) }
    let folder = try TestFolder()
    let path = "\(folder.path)/token"
    let bytes = Array("\(text)\n".utf8)
    let full = bytes + [UInt8](repeating: 0x20, count: Limits.joinFileBytes - bytes.count)
    for (content, isTaken) in [(bytes, true), (full, true), (full + [0x20], false), ([], false)] {
      #expect(FileManager.default.createFile(atPath: path, contents: Data(content)))
      #expect(unsafe chmod(path, 0o600) == 0)
      let found = try? JoinSource.file(path).token(readLine: nothing)
      #expect((found != nil) == isTaken, "\(content.count) bytes")
    }
    #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
    for mode: mode_t in [0o644, 0o620, 0o604] {
      #expect(unsafe chmod(path, mode) == 0)
      let error = #expect(throws: KeyError.self) {
        try JoinSource.file(path).token(readLine: nothing)
      }
      #expect(error?.kind == .exposed && error?.description.contains(text) == false)
    }
    let none = #expect(throws: KeyError.self) {
      try JoinSource.file("\(path).none").token(readLine: nothing)
    }
    #expect(none?.status == 64 && none?.hint.contains("opcoord key invite") == true)
  }

  @Test(arguments: Role.allCases) func tokens(role: Role) throws {
    let token = JoinToken(
      pair: .random(), role: role, server: KeyPair.random().publicKey,
      clientAddress: "tcp://node-1.example:7420")
    let text = token.revealedText
    #expect(
      text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") })
    let read = try #require(JoinToken("  \(text)\n"))
    #expect(read.pair.publicKey == token.pair.publicKey)
    #expect(read.server == token.server && read.role == role)
    #expect(read.clientAddress == token.clientAddress)
    for broken in [
      "", "opjoin_", String(text.prefix(90)), text + " x", String(text.dropFirst()), text + "!",
      "\(token)",
    ] {
      #expect(JoinToken(broken) == nil, "\(broken)")
    }
    // A token that names no address of TCP is none.
    var local = token
    local.clientAddress = "ipc:///run/x"
    #expect(JoinToken(local.revealedText) == nil)
    #expect(!"\(token)".contains(token.pair.secretKey.revealedText))
  }
}
