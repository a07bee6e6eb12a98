// The command `opweb`: serves the dashboard of a cluster to browsers. Reads flags and variables,
// connects, serves until it is told to stop.

import ArgumentParser
import Glibc
import OpClusterClient
import OpClusterDaemon
import OpClusterDashboard
import OpClusterFolders
import OpClusterHTTP
import OpClusterModel
import OpClusterSystem

@main
struct Opweb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opweb",
    abstract: "Serve the dashboard of a cluster to browsers.",
    discussion: """
      Prints the link to open on standard output when it serves: the token in it lets in whoever \
      has it, so it is as secret as your key. What the dashboard may do is what its key may do; \
      with the key of an observer, or with --read-only, it only looks.
      It serves on this machine. From another one: ssh -L 7480:127.0.0.1:7480 HOST. To a network \
      it serves with a certificate, or behind a server that has one.
      Exit codes: 0 stopped, 64 a wrong option, 69 no coordinator, 74 machine error, 77 key \
      refused, 78 bad configuration.
      """,
    version: Build.name)

  @Option(
    help: ArgumentHelp("Where browsers connect. [OPWEB_LISTEN]", valueName: "host:port"))
  var listen: String?
  @Option(
    help: ArgumentHelp(
      "Where the coordinator is; else as opbatch finds it. [OPBATCH_COORDINATOR]",
      valueName: "address"))
  var coordinator: String?
  @Option(help: ArgumentHelp("Folder of its key. [OPBATCH_KEYS]", valueName: "folder"))
  var keys: String?
  @Option(
    help: ArgumentHelp(
      "A file with the token of the link, 16 letters or more; else a new one is made at each "
        + "start. [OPWEB_TOKEN_FILE]", valueName: "file"))
  var tokenFile: String?
  @Option(
    help: ArgumentHelp("A certificate with its chain, PEM. [OPWEB_CERTIFICATE]", valueName: "file"))
  var certificate: String?
  @Option(
    help: ArgumentHelp(
      "The key of the certificate, PEM. [OPWEB_CERTIFICATE_KEY]", valueName: "file"))
  var certificateKey: String?
  @Flag(help: "A server before it speaks TLS to browsers.") var behindProxy = false
  @Flag(help: "Show no buttons, whatever the key may do.") var readOnly = false
  @Flag(help: "Open the link in this desktop's browser.") var open = false

  /// Never returns normally: the task ends the process.
  func run() throws {
    OwnProcess.keepSecretsOutOfDumps()
    signal(SIGPIPE, SIG_IGN)
    let settings = try settings()
    // Before the first thread: threads inherit the mask of signals.
    let signals: SignalWatch
    do throws(ClientError) {
      signals = try SignalWatch()
    } catch {
      fail(error.description, status: 74)
    }
    Task { await serve(settings, signals) }
    while true { pause() }
  }

  private func serve(_ settings: DashboardSettings, _ signals: SignalWatch) async {
    let connection = await connect()
    do throws(HTTPServerError) {
      let dashboard = try await Dashboard(settings, connection)
      StandardStream.output.write("opweb serves \(dashboard.link)")
      if open { openBrowser(dashboard.link) }
      for await _ in signals.signals { break }
      await dashboard.stop()
      await connection.close()
      Glibc.exit(0)
    } catch {
      fail(error.description, status: 74)
    }
  }

  private func connect() async -> ClusterConnection {
    do throws(ClientError) {
      guard let address = try ClusterAddress.find(flag: coordinator, keys: keys) else {
        fail(
          "no coordinator is configured, and none of yours is running on this machine; start one "
            + "with 'opbatch up', or name one with --coordinator or OPBATCH_COORDINATOR",
          status: 69)
      }
      return try await ClusterConnection.connect(to: address.text, keys: keys)
    } catch {
      fail(error.description, status: error.status)
    }
  }

  private func settings() throws -> DashboardSettings {
    let text = listen ?? variable("OPWEB_LISTEN") ?? "127.0.0.1:7480"
    guard let address = HTTPAddress(text) else {
      throw ValidationError("--listen: '\(text)' is not HOST:PORT with a numeric host")
    }
    var settings = DashboardSettings(
      address: address, token: try token(), isBehindProxy: behindProxy, isReadOnly: readOnly)
    let chain = certificate ?? variable("OPWEB_CERTIFICATE")
    let key = certificateKey ?? variable("OPWEB_CERTIFICATE_KEY")
    guard (chain == nil) == (key == nil) else {
      throw ValidationError("--certificate and --certificate-key belong together")
    }
    if let chain, let key {
      settings.certificate = (file(chain, isSecret: false), file(key, isSecret: true))
    }
    if let objection = settings.objection { fail(objection, status: 78) }
    return settings
  }

  /// The one in the file that is named; nil: none is.
  private func token() throws -> String? {
    guard let path = tokenFile ?? variable("OPWEB_TOKEN_FILE") else { return nil }
    let token = file(path, isSecret: true).filter { !$0.isWhitespace }
    guard token.utf8.count >= 16, token.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
      fail("the token in \(path) has fewer than 16 letters, or others than ASCII's", status: 78)
    }
    return token
  }

  private func file(_ path: String, isSecret: Bool) -> String {
    do throws(FolderError) {
      guard
        let bytes = try OwnFiles.contents(ofTrusted: path, limit: 1 << 20, isSecret: isSecret)
      else { fail("there is no file \(path)", status: 78) }
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      fail(error.description, status: 78)
    }
  }

  private func variable(_ name: String) -> String? { OwnProcess.filledVariable(name) }

  /// Where a desktop is; elsewhere the link is there to copy. Others see the arguments of programs:
  /// the browser gets a file that only we can read, which leads to the link.
  private func openBrowser(_ link: String) {
    guard variable("DISPLAY") != nil || variable("WAYLAND_DISPLAY") != nil,
      let folder = variable("XDG_RUNTIME_DIR")
    else { return }
    let page = PrivateFolder("\(folder)/opweb")
    do throws(FolderError) {
      try page.make()
      try page.replace("open.html", with: Array(Dashboard.leadingPage(to: link).utf8))
    } catch {
      return
    }
    // It may be the browser itself, and goes on without us.
    _ = try? ShortProgram.leave(
      "/usr/bin/env", ["/usr/bin/env", "xdg-open", page.file("open.html")], input: [],
      log: "/dev/null")
  }
}

extension ClientError {
  /// Of the process.
  fileprivate var status: Int32 {
    switch kind {
    case .unreachable, .connectionLost, .timedOut, .cancelled: 69
    case .keyRefused, .wrongServerKey, .foreignServer: 77
    case .versionMismatch, .protocolViolation: 76
    case .badAddress, .badConfiguration, .refused: 78
    }
  }
}

private func fail(_ message: String, status: Int32) -> Never {
  StandardStream.error.write("opweb: \(message)")
  Glibc.exit(status)
}
