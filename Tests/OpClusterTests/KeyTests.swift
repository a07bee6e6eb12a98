// Keys with real daemons and commands over TCP: one machine needs no step, another needs one line,
// and whoever is not let in is told why and what to do (G35, G36, G37, G39, F46, F47, F59).

import Citations
import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterZeroMQ
import RealCluster
import StoppingRelay
import Testing

@Suite struct KeyTests {
  private static func with(_ body: (KeySite) async throws -> Void) async throws {
    try await KeySite.with(body)
  }

  /// The same user on one machine: three commands and nothing else.
  @Test func oneMachine() async throws {
    try await Self.with { site in
      let worker = try site.start(
        "opworker", home: "main",
        [
          "serve", "--allow-root", "--coordinator", site.workers, "--name", "w1",
          "--until-stdin-closes",
        ])
      let result = try await site.opbatch("main", "run", "--", "/bin/echo", "hello")
      #expect(result.status == 0, "\(result.error) \(worker.error)")
      #expect(result.output.contains("hello"))
      // Nor need they be told where it is, while it serves.
      let named = try await site.run("opbatch", home: "main", ["config", "show", "--origin"])
      #expect(named.output.contains("opcoord serve of this user"), "\(named.output)")
      let found = try await site.run("opbatch", home: "main", ["ls", "-o", "name"])
      #expect(found.status == 0, "\(found.error)")
      let stranger = try await site.run("opbatch", home: "nobody", ["ls"])
      #expect(stranger.status == 69, "\(stranger.error)")
      let listed = try await site.opcoord("key", "ls", "-o", "name")
      #expect(listed.output == "local")
    }
  }

  /// A coordinator on a starved machine may need longer for a handshake than libzmq gives one.
  @Test func aHandshakeThatComesToNothing() async throws {
    try await Self.with { site in
      let relay = try StoppingRelay.start(to: Endpoint(site.clients), silent: 1)
      let variables = ["OPBATCH_COORDINATOR=\(relay.address)"]
      let asked = try await site.run("opbatch", home: "main", ["ping"], variables: variables)
      #expect(asked.status == 0, "\(asked.error)")
    }
  }

  /// Each its own message and 77, or 69 where nobody is.
  @Test(.checks("F47")) func whoIsNotLetIn() async throws {
    try await Self.with { site in
      let server = try await site.opcoord("key", "show").output
      // No key at all.
      let none = try await site.opbatch("nobody", "ping")
      #expect(none.status == 78)
      #expect(none.error.contains("opcoord key invite"))
      // A key that was never added.
      let made = try await site.opbatch("anna", "key", "new", "anna", "--server", server)
      #expect(made.status == 0)
      #expect(made.error.contains("opcoord key add anna submitter -- '"))
      let unknown = try await site.opbatch("anna", "ping")
      #expect(unknown.status == 77)
      #expect(unknown.error.contains("does not let in the key 'anna'"))
      #expect(unknown.time < .seconds(60))
      // Added: at once.
      let key =
        made.output.split(separator: "\n")
        .first { $0.hasPrefix("public") }?.split(separator: " ").last.map(String.init) ?? ""
      #expect(try await site.opcoord("key", "add", "anna", "observer", "--", key).status == 0)
      try await eventually("anna is let in") { try await site.opbatch("anna", "ping").status == 0 }
      // Not the role for it.
      let role = try await site.opbatch("anna", "queue", "create", "q")
      #expect(role.status == 77)
      #expect(role.error.contains("has the role observer and may not submit or change anything"))
      // Removed.
      #expect(try await site.opcoord("key", "rm", "anna").status == 0)
      try await eventually("anna is kept out") {
        try await site.opbatch("anna", "ping").status == 77
      }
      // A coordinator with another key.
      let foreign = try await site.opbatch("bert", "key", "new", "bert", "--server", key)
      #expect(foreign.status == 0)
      let wrong = try await site.opbatch("bert", "ping")
      #expect(wrong.status == 77)
      #expect(wrong.error.contains("it has another key"))
      #expect(wrong.time < .seconds(60))
      // A program finds out as quickly, and can tell the cases apart.
      for (home, kind) in [("anna", ClientError.Kind.keyRefused), ("bert", .wrongServerKey)] {
        let start = ContinuousClock.now
        let error = await #expect(throws: ClientError.self) {
          _ = try await ClusterConnection.connect(
            to: site.clients, deadline: .seconds(600), keys: site.keys(of: home))
        }
        #expect(error?.kind == kind)
        #expect(error?.hint.isEmpty == false)
        #expect(ContinuousClock.now - start < .seconds(60))
      }
      // Nobody there.
      let away = try await site.run(
        "opbatch", home: "main", ["ping", "--coordinator", "tcp://127.0.0.1:1"])
      #expect(away.status == 69)
      #expect(away.time < .seconds(60))
    }
  }

  /// The exact path, and no start.
  @Test(.checks("G39", "F59")) func unsafeFiles() async throws {
    try await Self.with { site in
      let own = "\(site.keys(of: "main"))/own.key"
      #expect(unsafe chmod(own, 0o644) == 0)
      let client = try await site.opbatch("main", "ping")
      #expect(client.status == 78)
      #expect(client.error.contains("\(own) has mode 0644"))
      let worker = try await site.run(
        "opworker", home: "main", ["serve", "--allow-root", "--coordinator", site.workers])
      #expect(worker.status == 78)
      #expect(worker.error.contains(own))
      let server = "\(site.keys(of: "main"))/server.key"
      #expect(unsafe chmod(server, 0o640) == 0)
      let second = try await site.run(
        "opcoord", home: "main",
        [
          "serve", "--allow-root", "--client", "tcp://127.0.0.1:*", "--state",
          "\(site.folder)/other",
        ])
      #expect(second.status == 78)
      #expect(second.error.contains("\(server) has mode 0640"))
    }
  }

  /// A second machine: one line for a worker, one for a user; each is good once.
  @Test func invitations() async throws {
    try await Self.with { site in
      func invite(_ arguments: String...) async throws -> String {
        let result = try await site.run(
          "opcoord", home: "main",
          ["key", "invite"] + arguments
            + ["--client", site.clients, "--worker", site.workers])
        #expect(result.status == 0, "\(result.error)")
        return result.output.split(separator: "\n").last.map(String.init) ?? ""
      }
      let line = try await invite("--role", "worker", "--name", "far")
      let all = line.split(separator: " ").map(String.init)
      let token = try #require(all.count > 1 ? all[1] : nil)
      #expect(line == "echo \(token) | opworker serve --coordinator \(site.workers) --join -")
      #expect(token.hasPrefix("opjoin_"))
      let words = ["serve", "--coordinator", site.workers, "--join", token, "--allow-root"]
      // A program that it is not for does not use it up.
      let client = try await site.run("opbatch", home: "lost", ["key", "join", token])
      #expect(client.status == 64 && client.error.contains("is for a worker, and still good"))
      let worker = try site.start("opworker", home: "far", words)
      try await eventually("the worker serves", details: { worker.error }) {
        worker.output.contains("serving")
      }
      #expect(worker.error.contains("joined as 'far'"))
      // The token is in no argument of it any more.
      let arguments = FileManager.default.contents(atPath: "/proc/\(worker.process)/cmdline")
      let shown = String(decoding: arguments ?? Data(), as: UTF8.self)
      #expect(shown.contains("serve") && !shown.contains("opjoin_"))
      let spent = try await site.run("opworker", home: "thief", words)
      #expect(spent.status == 77)
      #expect(spent.error.contains("used before"))
      // At the clients' address the same key is refused in words that a worker cannot read.
      let astray = try site.start(
        "opworker", home: "far",
        ["serve", "--allow-root", "--coordinator", site.clients, "--name", "far-2"])
      try await eventually("the worker says where it is", details: { astray.error }) {
        astray.error.contains("no coordinator, or not its address for workers")
      }
      astray.signal(SIGKILL)
      // And a client at the workers' address. A name that nobody knows is said, too.
      let swapped = try await site.run(
        "opbatch", home: "main", ["--coordinator", site.workers, "ls"])
      #expect(swapped.status != 0 && swapped.error.contains("not its address for clients"))
      let unknown = try site.start(
        "opworker", home: "far",
        ["serve", "--allow-root", "--coordinator", "tcp://nobody.invalid:7421", "--name", "far-3"])
      try await eventually("the worker says that it knows no such name", details: { unknown.error })
      {
        unknown.error.contains("'nobody.invalid' of the coordinator cannot be looked up")
          && unknown.error.contains("nothing is heard from tcp://nobody.invalid:7421")
      }
      unknown.signal(SIGKILL)
      // Colons of an address are none before a port.
      let six = try await invite("--role", "worker", "--host", "::1")
      #expect(six.contains(" opworker serve --coordinator tcp://[::1]:"), "\(six)")
      // Who asks for one that is of use here alone hears so.
      let near = try await site.run(
        "opcoord", home: "main",
        ["key", "invite", "--client", site.clients, "--worker", site.workers])
      #expect(near.error.contains("which this machine alone can reach"), "\(near.error)")
      let user = try await invite("--role", "submitter")
      let other = try #require(user.split(separator: " ").dropFirst().first.map(String.init))
      #expect(user == "echo \(other) | opbatch key join -")
      let foreign = try await site.run(
        "opworker", home: "lost", words.map { $0 == token ? other : $0 })
      #expect(foreign.status == 64 && foreign.error.contains("for the role submitter"))
      let joined = try await site.run("opbatch", home: "uta", ["key", "join", other])
      #expect(joined.status == 0, "\(joined.error)")
      // The account of a worker submits, too.
      let third = try await invite("--role", "submitter", "--name", "fern")
      let own = try #require(third.split(separator: " ").dropFirst().first.map(String.init))
      let beside = try await site.run("opbatch", home: "far", ["key", "join", own])
      #expect(beside.status == 0, "\(beside.error)")
      let submitted = try await site.run(
        "opbatch", home: "far", ["run", "--", "/bin/echo", "ours"])
      #expect(submitted.status == 0 && submitted.output.contains("ours"), "\(submitted.error)")
      // The key knows where its coordinator is.
      let result = try await site.run("opbatch", home: "uta", ["run", "--", "/bin/echo", "there"])
      #expect(result.status == 0, "\(result.error)")
      #expect(result.output.contains("there"))
      try await unusableKeys(of: "uta", site)
      // G37: a worker that serves is told, and goes.
      #expect(try await site.opcoord("key", "rm", "far").status == 0)
      #expect(try await worker.ended(within: .seconds(240)) == 77)
      #expect(worker.error.contains("was removed"))
    }
  }

  /// Nothing runs elsewhere because the key of the cluster cannot be used; everybody is told of it.
  private func unusableKeys(of home: String, _ site: KeySite) async throws {
    let folder = site.keys(of: home)
    let file = "\(folder)/own.key"
    let key = try #require(FileManager.default.contents(atPath: file))
    func expectNamed(_ path: String) async throws {
      for words in [["run", "--", "/bin/echo", "here"], ["ls"], ["doctor"], ["config", "show"]] {
        let said = try await site.run("opbatch", home: home, words)
        // The status of `run` is that of its command, or says that there was none.
        #expect(said.status == (words[0] == "run" ? 125 : 78), "\(words): \(said.error)")
        #expect((said.output + said.error).contains(path), "\(words): \(said.error)")
        #expect(!said.output.contains("here"))
      }
    }
    #expect(unsafe chmod(file, 0o644) == 0)
    try await expectNamed(file)
    #expect(unsafe (chmod(file, 0o600), chmod(folder, 0o755)) == (0, 0))
    try await expectNamed(folder)
    #expect(unsafe chmod(folder, 0o700) == 0)
    try Data("no key\n".utf8).write(to: URL(filePath: file))
    #expect(unsafe chmod(file, 0o600) == 0)
    try await expectNamed(file)
    try key.write(to: URL(filePath: file))
    #expect(unsafe chmod(file, 0o600) == 0)
    let again = try await site.run("opbatch", home: home, ["run", "--", "/bin/echo", "there"])
    #expect(again.status == 0 && again.output.contains("there"), "\(again.error)")
  }

  /// A token in a file or on standard input, where nobody else can read it: the lines as they are
  /// printed, run by a shell.
  @Test func invitationsThatDoNotShow() async throws {
    try await Self.with { site in
      func invite(_ role: String) async throws -> (line: String, token: String) {
        let result = try await site.run(
          "opcoord", home: "main",
          ["key", "invite", "--role", role, "--client", site.clients, "--worker", site.workers])
        let line = result.output.split(separator: "\n").last.map(String.init) ?? ""
        return (line, line.split(separator: " ").dropFirst().first.map(String.init) ?? "")
      }
      let programs = try Cluster.executable("opbatch").split(separator: "/").dropLast()
      let path = "/" + programs.joined(separator: "/")
      func shell(_ line: String, _ home: String) async throws -> ChildProgram {
        try FileManager.default.createDirectory(
          atPath: "\(site.folder)/\(home)", withIntermediateDirectories: true)
        return try ChildProgram(
          "shell-\(home)", "/bin/sh", ["-c", line],
          environment: [
            "PATH=\(path):/usr/bin:/bin", "HOME=\(site.folder)/\(home)", "USER=\(home)",
          ], folder: site.folder, input: "/dev/null")
      }
      let user = try await shell(try await invite("submitter").line, "pia")
      #expect(try await user.ended() == 0, "\(user.error)")
      #expect(user.output.contains("submitter"))
      let worker = try await shell(
        try await invite("worker").line
          + " --allow-root --name pipe --exit-when-unreachable 60", "pipe")
      try await eventually("the worker serves", details: { worker.error }) {
        worker.output.contains("serving")
      }
      worker.signal(SIGKILL)
      // By a file that only we can read.
      let file = "\(site.folder)/token"
      let token = try await invite("submitter").token
      #expect(FileManager.default.createFile(atPath: file, contents: Data("\(token)\n".utf8)))
      #expect(unsafe chmod(file, 0o644) == 0)
      let seen = try await site.run("opbatch", home: "udo", ["key", "join", file])
      #expect(seen.status == 78 && seen.error.contains("chmod 0600 \(file)"), "\(seen.error)")
      #expect(unsafe chmod(file, 0o600) == 0)
      let joined = try await site.run(
        "opbatch", home: "udo", ["key", "join", file, "--name", "udo"])
      #expect(joined.status == 0, "\(joined.error)")
      let none = try await site.run("opbatch", home: "ute", ["key", "join", "\(file).none"])
      #expect(none.status == 64 && none.error.contains("there is no file"), "\(none.error)")
      let fresh = try await invite("worker").token
      #expect(FileManager.default.createFile(atPath: file, contents: Data(fresh.utf8)))
      #expect(unsafe chmod(file, 0o600) == 0)
      let other = try site.start(
        "opworker", home: "file",
        [
          "serve", "--allow-root", "--coordinator", site.workers, "--join-file", file, "--name",
          "file",
        ])
      try await eventually("the worker serves", details: { other.error }) {
        other.output.contains("serving")
      }
      #expect(other.error.contains("joined as 'file'") && !other.error.contains("not used"))
    }
  }

  /// A token that is an argument is overwritten as soon as the program has it.
  @Test(.checks("G39")) func argumentsAreOverwritten() async throws {
    try await Self.with { site in
      // A coordinator that answers nobody: the program waits, and can be looked at.
      let deaf = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(deaf) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe bind(deaf, $0, size) + listen(deaf, 8) + getsockname(deaf, $0, &size)
        }
      }
      #expect(code == 0)
      let port = UInt16(bigEndian: address.sin_port)
      let line = try await site.run(
        "opcoord", home: "main",
        [
          "key", "invite", "--role", "admin", "--client", "tcp://127.0.0.1:\(port)", "--worker",
          site.workers,
        ])
      let token = line.output.split(separator: " ").dropFirst().first.map(String.init) ?? ""
      #expect(token.hasPrefix("opjoin_"))
      for (program, arguments) in [
        ("opbatch", ["key", "join", token]),
        ("opworker", ["serve", "--allow-root", "--coordinator", site.workers, "--join", token]),
        ("opworker", ["serve", "--allow-root", "--coordinator", site.workers, "--join=\(token)"]),
      ] {
        var child = try site.start(program, home: "deaf", arguments)
        try await eventually("the token of \(program) is gone", details: { child.error }) {
          // It waits two seconds for the handshake; a look that comes later needs another one.
          if child.end != nil { child = try site.start(program, home: "deaf", arguments) }
          let bytes = FileManager.default.contents(atPath: "/proc/\(child.process)/cmdline")
          let shown = String(decoding: bytes ?? Data(), as: UTF8.self)
          return shown.contains("join") && !shown.contains(token) && shown.contains("xxxx")
        }
        child.signal(SIGKILL)
      }
    }
  }

  /// Without HOME, as in some containers, files are where the account has its home, not wherever
  /// the program happens to be started.
  @Test func placesWithoutHome() async throws {
    let folder = "/tmp/okt-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = try ChildProgram(
      "opcoord", Cluster.executable("opcoord"), ["config", "show"],
      environment: ["PATH=/usr/bin:/bin"], folder: folder)
    #expect(try await program.ended() == 0)
    let places = program.output.split(separator: "\n").map { $0.split(separator: " ") }
      .filter { $0.count > 1 && ["state", "keys"].contains($0[0]) }
    #expect(places.count == 2 && places.allSatisfy { $0[1].hasPrefix("/") }, "\(program.output)")
  }
}
