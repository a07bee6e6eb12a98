// `opbatch key …`: the keys that identify us to the cluster, in a folder that only we can read.
// Nothing here prints a secret half: what is shown is public. `KeyFolder` in OpClusterKeys checks
// owner and mode of the folder, and refuses with 78 (G39). Coordinators have commands of their own
// for their lists, `opcoord key`.

import ArgumentParser
import OpClusterClient
import OpClusterKeys
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem
import OpClusterZeroMQ

struct Key: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make and look at the key that coordinators know you by.",
    subcommands: [KeyNew.self, KeyJoin.self, KeyShow.self, KeyList.self])
}

/// Makes a pair and keeps it with the coordinator's public key. Talks to nobody: the administrator
/// adds the public half by another way.
struct KeyNew: Command {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Make a key, for an administrator to add.",
    discussion: "Where you were given an invitation, 'opbatch key join' does all of it.")
  @Argument(help: "Your name in the cluster.") var name: String
  // A key may begin with a dash.
  @Option(
    parsing: .unconditional, help: "The coordinator's public key, as 'opcoord key show' prints it.")
  var server: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    // Checked here, since a wrong server key would only show as a coordinator that never answers.
    guard let server = PublicKey(server) else {
      throw Failure.usage("--server is not a public key; 'opcoord key show' prints it")
    }
    guard name.isValidName else {
      throw Failure.usage("a name has 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
    }
    let own = OwnKey(name: name, server: server, coordinator: global.coordinator)
    let folder = try ClusterKeys.folder(global.keys)
    do throws(KeyError) { try folder.keep(own) } catch { throw ClientError(error) }
    try show(own, folder, console)
    console.hint(
      "an administrator adds it: opcoord key add \(name) submitter -- '\(own.publicText)'")
    return .success
  }
}

/// Enrols a fresh key by an invitation. An invitation allows enrolling one key and nothing else
/// (G36).
struct KeyJoin: Command {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Make a key by an invitation, and keep it.",
    discussion: """
      An administrator gets the token from 'opcoord key invite --role submitter'. All users of \
      this machine can see the arguments of a command: give a file, or - and the token on stdin.
      """)
  @Argument(
    help: ArgumentHelp(
      "A file with the token of the invitation; - is stdin. The token itself is taken, too.",
      valueName: "file"))
  var token: String
  @Option(help: "Your name in the cluster; default: that of your account.") var name: String?
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let token = try readToken(console)
    // Enrolling here would spend the worker's invitation on a key that cannot serve.
    guard token.role != .worker else {
      throw Failure.usage(
        "this invitation is for a worker, and still good: run the whole line that was made with "
          + "it, opworker serve --coordinator ADDRESS --join -",
        hint: "an administrator gets yours from 'opcoord key invite --role submitter'")
    }
    // The account's name is what an administrator knows somebody by.
    guard let name = name ?? ThisProcess.accountName ?? OwnProcess.filledVariable("USER") else {
      throw Failure.usage("your account has no name", hint: "say your name with --name")
    }
    guard name.isValidName else {
      throw Failure.usage(
        "'\(safe(name))' is no name for the cluster",
        hint: "--name: 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
    }
    let folder = try ClusterKeys.folder(global.keys)
    let own = try await ClusterKeys.join(
      token, name: name, in: folder, coordinator: global.coordinator)
    // The role comes from the invitation, not from a wish.
    console.say("you are '\(own.name)' (\(own.role?.rawValue ?? "no role"))")
    try show(own, folder, console)
    return .success
  }

  /// A file, `-` for stdin, or the token itself. A mistyped token is an error of the command line
  /// (64); a file that cannot be read is one of the key (78).
  private func readToken(_ console: Console) throws -> JoinToken {
    let source = JoinSource(fileTextOrDash: token)
    if source == .standardInput, Descriptor.input.isTerminal {
      console.say("paste the token of the invitation, then press Enter")
    }
    do throws(KeyError) {
      return try source.token { limit in try? Descriptor.input.readLine(limit: limit).get() }
    } catch  where error.kind == .notUnderstood {
      throw Failure.usage(error.message, hint: error.hint)
    } catch {
      throw ClientError(error)
    }
  }
}

/// An error where there is no key, for scripts that need one; `ls` shows nothing then.
struct KeyShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show your key, without its secret.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let folder = try ClusterKeys.folder(global.keys)
    guard let own = try ownKey(folder) else {
      throw ClientError(
        .badConfiguration, "there is no key in \(folder.path)",
        hint: "'opbatch key join FILE' or 'opbatch key new NAME' makes one")
    }
    try show(own, folder, console)
    return .success
  }
}

struct KeyList: Command {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the keys of your folder: yours, if there is one.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let folder = try ClusterKeys.folder(global.keys)
    if let own = try ownKey(folder) { try show(own, folder, console) }
    return .success
  }
}

extension OwnKey {
  fileprivate var publicText: String { pair.publicKey.text }
}

extension Command {
  /// nil: the folder has no key yet, which is no error for a cluster without keys.
  fileprivate func ownKey(_ folder: KeyFolder) throws -> OwnKey? {
    do throws(KeyError) { return try folder.own() } catch { throw ClientError(error) }
  }

  /// The public facts about the key, in the order of their use. Missing ones are left out rather
  /// than shown empty.
  fileprivate func show(_ own: OwnKey, _ folder: KeyFolder, _ console: Console) throws {
    let fields: [(String, String?)] = [
      ("name", own.name), ("role", own.role?.rawValue), ("public", own.publicText),
      ("server", own.server?.text), ("coordinator", own.coordinator), ("folder", folder.path),
    ]
    switch console.format {
    case .name: try console.writeLine(own.name)
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.key("key")
          json.object { json in
            for (name, value) in fields { if let value { json.field(name, value) } }
          }
        })
    case .table:
      for case (let name, let value?) in fields {
        // All names of fields are ASCII and at most 11 long.
        let padding = String(repeating: " ", count: 11 - name.utf8.count)
        try console.writeLine("\(name)\(padding)  \(safe(value))")
      }
    }
  }
}
