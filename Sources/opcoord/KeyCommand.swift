// `opcoord keygen` and `opcoord key`: the keys that the coordinator admits. The commands change the
// list in the key folder, also while the coordinator runs; it notices changes by itself, where the
// kernel tells of them at once (G37). The list is locked while it is changed. Nothing here prints a
// secret half.

import ArgumentParser
import Glibc
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

/// The folder, by flag, environment, file or default.
struct KeyOptions: ParsableArguments {
  @Option(help: "Folder of the keys. [OPCOORD_KEYS]") var keys: String?

  /// A flag that was not given leaves the setting to its other sources.
  func configuration(_ others: [Setting: String?] = [:]) -> Configuration {
    do throws(ConfigurationProblem) {
      var flags = others.compactMapValues { $0 }
      flags[.keys] = keys
      return try Configuration(flags: flags)
    } catch {
      fail(error.text, status: 78)
    }
  }

  var folder: KeyFolder { KeyFolder(configuration()[.keys]) }
}

/// Runs work on keys; its errors end the process with their status.
private func working<Value>(_ body: () throws(KeyError) -> Value) -> Value {
  do throws(KeyError) {
    return try body()
  } catch {
    fail(error.description, status: error.status)
  }
}

/// For people: when a key was added.
private var wallTime: WallTime { WallTime(milliseconds: WallClock.now()) }

/// The coordinator's pair; ends the process if there is none. Found, not made: only `keygen` and
/// `serve` make one, since a second pair would lock everybody out.
private func server(_ folder: KeyFolder) -> KeyPair {
  guard let pair = working({ () throws(KeyError) in try folder.server() }) else {
    fail("there is no server.key in \(folder.path); make one: opcoord keygen", status: 78)
  }
  return pair
}

/// A role as an argument. Refused by ArgumentParser, with the four words, before the key is looked
/// at.
struct RoleName: ExpressibleByArgument {
  let role: Role

  init(_ role: Role) { self.role = role }

  init?(argument: String) {
    guard let role = Role(rawValue: argument) else { return nil }
    self.role = role
  }

  static var allValueStrings: [String] { Role.allCases.map(\.rawValue) }
  var defaultValueDescription: String { role.rawValue }
}

struct KeyGeneration: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Make the coordinator's keys, as its first start does; print the public one.",
    discussion: "Keys that are there already stay as they are.")
  @OptionGroup var options: KeyOptions

  func run() throws {
    let folder = options.folder
    // The same call as at a start of `serve`, so that the two cannot make different keys.
    let keys = working { () throws(KeyError) in try folder.prepareServer(at: wallTime) }
    let what = keys.areNew ? "made keys in" : "there are keys already in"
    // On stderr, so that stdout is the key alone.
    StandardStream.error.write("opcoord: \(what) \(folder.path)")
    StandardStream.output.write(keys.pair.publicKey.text)
  }
}

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Look after the keys that the coordinator lets in.",
    subcommands: [List.self, Show.self, Add.self, Remove.self, Invite.self])

  /// Reads the list without its lock: it is replaced as a whole.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "ls", abstract: "All keys and open invitations.")
    enum Output: String, ExpressibleByArgument, CaseIterable { case table, json, name }
    @OptionGroup var options: KeyOptions
    @Option(name: .shortAndLong, help: "table, json or name.") var output = Output.table

    func run() throws {
      let folder = options.folder
      let list = working { () throws(KeyError) in try folder.allowed() }
      switch output {
      case .name: for key in list.keys { StandardStream.output.write(key.name) }
      case .json: StandardStream.output.write(json(list))
      case .table: table(list)
      }
    }

    /// Names are ASCII, so that bytes are columns. Invitations come behind the keys and show when
    /// they end.
    private func table(_ list: AllowList) {
      let rows =
        [["NAME", "ROLE", "SINCE", "KEY"]]
        + list.keys.map {
          [$0.name, $0.role.rawValue, UTCTime($0.addedAt).text, $0.key.text]
        }
        + list.invitations.map {
          [
            $0.name ?? AllowList.unnamed, $0.role.rawValue, "invited",
            "until " + UTCTime($0.expiresAt).text
              + ($0.uses > 1 ? ", for \($0.uses) keys" : ""),
          ]
        }
      let widths = (0..<3).map { column in rows.map { $0[column].utf8.count }.max() ?? 0 }
      for row in rows {
        let cells = zip(row, widths).map { text, width in
          text + String(repeating: " ", count: width - text.utf8.count)
        }
        StandardStream.output.write((cells + [row[3]]).joined(separator: "  "))
      }
    }

    /// Written by hand, as in `ConfigCommand`.
    private func json(_ list: AllowList) -> String {
      let quote = StandardErrorLog.quote
      let keys = list.keys.map {
        "{\"name\":\(quote($0.name)),\"role\":\(quote($0.role.rawValue)),"
          + "\"key\":\(quote($0.key.text)),\"added_at\":\(quote(UTCTime($0.addedAt).text))}"
      }
      let invitations = list.invitations.map {
        "{" + ($0.name.map { "\"name\":\(quote($0))," } ?? "")
          + "\"role\":\(quote($0.role.rawValue)),"
          + "\"uses\":\($0.uses),"
          + "\"expires_at\":\(quote(UTCTime($0.expiresAt).text))}"
      }
      return "{\"schema\":\"opcoord/v1\",\"keys\":[\(keys.joined(separator: ","))],"
        + "\"invitations\":[\(invitations.joined(separator: ","))]}"
    }
  }

  /// The coordinator's key is what `opbatch key new --server` takes.
  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "The public key of the coordinator, or of one that it lets in.")
    @Argument(help: "A name of the list.") var name: String?
    @OptionGroup var options: KeyOptions

    func run() throws {
      let folder = options.folder
      guard let name else {
        return StandardStream.output.write(server(folder).publicKey.text)
      }
      let list = working { () throws(KeyError) in try folder.allowed() }
      guard let found = list.keys.first(where: { $0.name == name }) else {
        fail("there is no key of this name; 'opcoord key ls' shows all of them", status: 4)
      }
      StandardStream.output.write(found.key.text)
    }
  }

  /// A name or a key that is in the list already is refused: its role is changed by removing and
  /// adding it.
  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Let a key in.",
      discussion: "A key is 40 characters of Z85: put it between single quotes, after --.")
    @Argument(help: "A name for it; a worker's key serves under this name.") var name: String
    @Argument(help: "worker, submitter, observer or admin.") var role: RoleName
    @Argument(help: "The public key, as 'opbatch key show' prints it.") var key: String
    @OptionGroup var options: KeyOptions

    func run() throws {
      guard let key = PublicKey(key) else {
        fail("this is not a public key; 'opbatch key show' prints one", status: 64)
      }
      let added = AllowedKey(name: name, role: role.role, key: key, addedAt: wallTime)
      let folder = options.folder
      working { () throws(KeyError) in
        try folder.changeAllowed { list throws(KeyError) in try list.add(added) }
      }
      StandardStream.error.write("opcoord: '\(name)' may connect as \(role.role.rawValue)")
    }
  }

  /// Living sessions of the key end within five seconds (G37).
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rm",
      abstract: "Keep a key out, and end its connections; also withdraws invitations.")
    @Argument(help: "A name of the list; '*' for all invitations without a name.")
    var name: String
    @OptionGroup var options: KeyOptions

    func run() throws {
      let folder = options.folder
      let removed = working { () throws(KeyError) in
        try folder.changeAllowed { list throws(KeyError) in try list.remove(named: name) }
      }
      if let key = removed.key {
        StandardStream.error.write(
          "opcoord: the key '\(key.name)' (\(key.role.rawValue)) is removed")
      }
      if removed.invitations > 0 {
        StandardStream.error.write("opcoord: invitations withdrawn: \(removed.invitations)")
      }
    }
  }
}
