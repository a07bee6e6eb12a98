// `opbatch demo`: a real map and reduce on a cluster of its own, from start to a printed result.

import ArgumentParser
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Uses no configured cluster unless there is one: then the demo runs there, and its files must be
/// readable by those workers. Takes some seconds and leaves nothing behind without `--keep`.
struct Demo: Command {
  static let configuration = CommandConfiguration(
    abstract: "See it work: a real graph on a cluster of its own.",
    discussion: """
      Counts the words of the licences on this machine: starts a coordinator and three workers, \
      submits a graph (an array, a merge, a report), shows it run, prints the result and ends the \
      cluster. One operation fails on purpose and \
      is retried; another fails and is allowed to.
      """)

  @Flag(help: "Leave the cluster running in the background, and the files in place.")
  var keep = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  // Ctrl-C has to end the own cluster and remove the folder.
  static var handlesInterrupts: Bool { true }
  // Enough to see that several machines would share the work.
  private static let workers = 3

  /// Makes a folder of its own in the temporary folder and removes it at the end, whatever
  /// happened, unless `--keep`.
  func perform(_ console: Console) async throws -> ExitStatus {
    let folder = try Self.makeFolder()
    // Also after an error; a file that cannot be removed is left to the system's cleaning.
    defer { if !keep { try? FileManager.default.removeItem(atPath: folder) } }
    let files = try DemoFiles.collect(into: folder)
    let session = try await openDemoSession(console)
    do {
      let status = try await run(files, folder, session, console)
      await session.end()
      if status == .success, console.format == .table {
        sayWhatNext(folder, staysUp: session.embedded == nil, console)
      }
      return status
    } catch {
      await session.end()
      throw error
    }
  }

  /// With `--keep`, starts the cluster of `up`, so that the printed advice can be tried on it.
  private func openDemoSession(_ console: Console) async throws -> Session {
    guard keep, try ClusterAddress.find(flag: global.coordinator, keys: global.keys) == nil else {
      return try await openSession(workers: Self.workers, console)
    }
    let cluster = try await BackgroundCluster.start(workers: Self.workers)
    console.say("started a cluster in the background (1 coordinator, \(Self.workers) workers)")
    return Session(
      connection: try await ClusterConnection.connect(to: cluster.address), embedded: nil)
  }

  /// Compiles the manifest as `submit` would. No special path: the demo shows what users get.
  private func run(
    _ files: DemoFiles, _ folder: String, _ session: Session, _ console: Console
  ) async throws -> ExitStatus {
    console.say(
      "counting the words of \(shownCount(files.paths.count, "text")), "
        + "\(shownSize(files.bytes)) in all")
    let source = ManifestSource(path: "demo.yaml", parameters: [])
    var submission = try source.compile(
      DemoFiles.manifest, baseFolder: folder, workingFolder: folder, console
    ).submission
    try Submit.prepare(&submission, name: nil, key: nil)
    // From the submission on: starting the cluster is not what is shown.
    let start = ContinuousClock.now
    let graph = try await GraphRun.submit(submission, session.connection).graph
    let run = GraphRun(session: session, console: console, timeout: global.timeout?.duration)
    let status = try await run.untilEnd(
      of: graph, showsProgress: true, onInterrupt: keep ? .detach : .cancel)
    guard status == .success else { return status }
    let time = (ContinuousClock.now - start) / .milliseconds(1)
    // The result is read before the session ends, since the own cluster's workers keep the logs.
    let result = try await DemoResult(graph, reader(session.connection))
    try result.show(files, milliseconds: Int64(time), console)
    return status
  }

  /// Commands that can be typed as they stand: other ones when the cluster stays.
  private func sayWhatNext(_ folder: String, staysUp: Bool, _ console: Console) {
    console.say("")
    console.say("Next:")
    let commands =
      staysUp
      ? [
        ("opbatch show last/count/3", "the operation that failed once, in full"),
        ("opbatch graph last", "the graph as a picture"),
        ("opbatch init array > graph.yaml", "a manifest of your own to begin with"),
      ]
      : [
        ("opbatch up", "a cluster that stays in the background"),
        ("opbatch init array > graph.yaml", "a manifest to begin with"),
        ("opbatch submit graph.yaml --watch", "run it"),
      ]
    let width = commands.reduce(0) { max($0, $1.0.count) }
    for (command, meaning) in commands {
      let blanks = String(repeating: " ", count: width - command.count + 3)
      console.say("  " + console.errorStyle.paint(command, .strong) + blanks + meaning)
    }
    if keep { console.say("The files are in \(folder); 'opbatch down' ends the cluster.") }
  }

  /// A name that cannot be guessed, and an error if it exists: the temporary folder is everybody's.
  private static func makeFolder() throws(Failure) -> String {
    let name = "opbatch-demo-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    let path = FileManager.default.temporaryDirectory.path + "/" + name
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw Failure(.inputOutput, code: "cannot_write", "cannot make the folder \(path): \(error)")
    }
    return path
  }
}
