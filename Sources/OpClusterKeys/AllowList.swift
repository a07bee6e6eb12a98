// The keys that a coordinator admits, with name and role, and its open invitations. Pure.

public import OpClusterModel
public import OpClusterZeroMQ

/// A key that may connect.
public struct AllowedKey: Hashable, Sendable {
  /// Matches `[A-Za-z0-9._:-]{1,128}`; unique.
  public var name: String
  public var role: Role
  public var key: PublicKey
  public var addedAt: WallTime

  public init(name: String, role: Role, key: PublicKey, addedAt: WallTime) {
    self.name = name
    self.role = role
    self.key = key
    self.addedAt = addedAt
  }
}

/// A one-time key whose holder may add a key of its own, and nothing else.
public struct Invitation: Hashable, Sendable {
  /// The name of the new key; nil: the holder chooses.
  public var name: String?
  public var role: Role
  /// The key by which its holders show it.
  public var key: PublicKey
  public var expiresAt: WallTime
  /// For so many keys it is still good: 1 to ``Limits/invitationUses``.
  public var uses: UInt32

  public init(name: String?, role: Role, key: PublicKey, expiresAt: WallTime, uses: UInt32 = 1) {
    self.name = name
    self.role = role
    self.key = key
    self.expiresAt = expiresAt
    self.uses = uses
  }
}

/// The coordinator's list, as a value.
public struct AllowList: Hashable, Sendable {
  public private(set) var keys: [AllowedKey] = []
  public private(set) var invitations: [Invitation] = []

  /// How long an expired invitation is kept, so that its holder learns why it fails.
  static let expiredKept = Span.seconds(7 * 24 * 3600)

  public init() {}

  // MARK: - Changes

  public mutating func add(_ added: AllowedKey) throws(KeyError) {
    guard added.name.isValidName else {
      throw KeyError(
        .refused, "'\(printable(added.name))' is not a name",
        hint: "a key's name has 1 to \(Limits.nameBytes) of the characters A-Z a-z 0-9 . _ : -")
    }
    if let known = keys.first(where: { $0.name == added.name }) {
      throw KeyError(
        .refused, "there is a key named '\(known.name)' already",
        hint: "choose another name, or remove that one with 'opcoord key rm \(known.name)'")
    }
    if let known = keys.first(where: { $0.key == added.key }) {
      throw KeyError(.refused, "this key is there already, as '\(known.name)'")
    }
    guard keys.count < Limits.allowedKeys else {
      throw KeyError(.refused, "there are \(Limits.allowedKeys) keys already", hint: "remove some")
    }
    keys.append(added)
  }

  /// The number of removed entries.
  public struct Removed: Hashable, Sendable {
    public var key: AllowedKey?
    public var invitations: Int
  }

  /// Stands for the invitations whose holder chooses the name.
  public static let unnamed = "*"

  /// Removes a key and the open invitations of that name, or all invitations without a name.
  public mutating func remove(named name: String) throws(KeyError) -> Removed {
    let before = invitations.count
    invitations.removeAll { $0.name ?? Self.unnamed == name }
    var removed = Removed(key: nil, invitations: before - invitations.count)
    if let at = keys.firstIndex(where: { $0.name == name }) { removed.key = keys.remove(at: at) }
    guard removed.key != nil || removed.invitations > 0 else {
      throw KeyError(
        .refused, "there is no key and no invitation named '\(printable(name))'",
        hint: "'opcoord key ls' shows all of them")
    }
    return removed
  }

  public mutating func invite(_ invitation: Invitation, at now: WallTime) throws(KeyError) {
    let oldest = now - Self.expiredKept
    invitations.removeAll { $0.expiresAt < oldest }
    if let name = invitation.name {
      guard name.isValidName, !keys.contains(where: { $0.name == name }) else {
        throw KeyError(
          .refused, "'\(printable(name))' is taken already, or is not a name",
          hint: "a name has 1 to \(Limits.nameBytes) of the characters A-Z a-z 0-9 . _ : -")
      }
    }
    guard invitation.uses == 1 || invitation.name == nil else {
      throw KeyError(
        .refused, "one name is good for one key; an invitation for many has none",
        hint: "the holders choose their names: leave --name away")
    }
    guard (1...Limits.invitationUses).contains(invitation.uses) else {
      throw KeyError(
        .refused, "an invitation is good for 1 to \(Limits.invitationUses) keys", hint: "")
    }
    guard invitations.count < Limits.openInvitations else {
      throw KeyError(
        .refused, "there are \(Limits.openInvitations) open invitations already",
        hint: "'opcoord key ls' shows them, 'opcoord key rm NAME' removes them, and "
          + "'opcoord key rm \"*\"' those without a name")
    }
    invitations.append(invitation)
  }

  /// Adds the key of an invitation's holder, and removes the invitation with its last use. A holder
  /// who asks again, since the answer was lost, has used it once.
  public mutating func redeem(
    _ invitation: PublicKey, name: String, key: PublicKey, at now: WallTime
  ) throws(KeyError) -> AllowedKey {
    guard let at = invitations.firstIndex(where: { $0.key == invitation }) else {
      throw KeyError(
        .refused, "this invitation was used before, or withdrawn",
        hint: "ask for a new one: opcoord key invite")
    }
    let found = invitations[at]
    guard now.milliseconds < found.expiresAt.milliseconds else {
      throw KeyError(
        .refused, "this invitation has expired", hint: "ask for a new one: opcoord key invite")
    }
    if found.uses > 1,
      let known = keys.first(where: { $0.key == key && $0.name == name && $0.role == found.role })
    {
      return known
    }
    let added = AllowedKey(
      name: found.name ?? name, role: found.role, key: key, addedAt: now)
    // The holder chooses the name only if the invitation has none.
    if found.name == nil, keys.contains(where: { $0.name == name }) {
      throw KeyError(
        .refused, "there is a key named '\(name)' already",
        hint: "join under another name with --name; this invitation is still good")
    }
    try add(added)
    if found.uses > 1 { invitations[at].uses -= 1 } else { invitations.remove(at: at) }
    return added
  }

  // MARK: - As a file

  public var text: String {
    var lines = [
      "# Who may connect to this coordinator; changed by 'opcoord key', applied at once.",
      "# key NAME ROLE PUBLIC-KEY ADDED, invitation NAME|* ROLE PUBLIC-KEY EXPIRES USES; "
        + "times in ms",
    ]
    lines += keys.map {
      "key \($0.name) \($0.role.rawValue) \($0.key.text) \($0.addedAt.milliseconds)"
    }
    lines += invitations.map {
      "invitation \($0.name ?? Self.unnamed) \($0.role.rawValue) \($0.key.text) "
        + "\($0.expiresAt.milliseconds)" + ($0.uses > 1 ? " \($0.uses)" : "")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  public init(parsing text: String, _ path: String) throws(KeyError) {
    var names: Set<String> = []
    var known: Set<PublicKey> = []
    for (number, words) in KeyLines.words(of: text) {
      let uses = words.count == 6 && words[0] == "invitation" ? UInt32(words[5]) : 1
      guard words.count == 5 || words.count == 6, let uses,
        words.count == 5 || (2...Limits.invitationUses).contains(uses),
        let role = Role(rawValue: String(words[2])),
        let key = PublicKey(String(words[3])), let milliseconds = Int64(words[4])
      else { throw KeyLines.malformed(path, number, "not understood") }
      let name = String(words[1])
      let time = WallTime(milliseconds: milliseconds)
      switch words[0] {
      case "key" where words.count == 5 && name.isValidName && keys.count < Limits.allowedKeys:
        guard names.insert(name).inserted, known.insert(key).inserted else {
          throw KeyLines.malformed(path, number, "this name or key is there twice")
        }
        keys.append(AllowedKey(name: name, role: role, key: key, addedAt: time))
      case "invitation" where invitations.count < Limits.openInvitations:
        invitations.append(
          Invitation(
            name: name == Self.unnamed ? nil : name, role: role, key: key, expiresAt: time,
            uses: uses))
      default: throw KeyLines.malformed(path, number, "not understood, or too many")
      }
    }
  }
}

/// Replaces control characters: names come from outside (G38).
private func printable(_ text: String) -> String {
  String(
    text.unicodeScalars.prefix(Limits.nameBytes).map {
      $0.properties.generalCategory == .control ? "?" : Character($0)
    })
}
