// The root of the command tree and the frame around every command: parses, runs, reports errors,
// ends with the status. Runs on the main thread. A new command is a `Command` in the folder of its
// group and one entry below. No other file calls `exit` or looks at `CommandLine`.

import ArgumentParser
import Glibc
import OpClusterClient
import OpClusterKeys
import OpClusterModel
import OpClusterSystem

struct Opbatch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opbatch",
    abstract: "Runs graphs of operations on a cluster.",
    discussion: """
      A graph is what one submission makes. It holds operations; they go through queues, \
      and workers run them. Start with 'opbatch demo'.
      """,
    // The groups are the headings of the help page; their names are those of the folders here.
    version: "opbatch \(Build.version)",
    groupedSubcommands: [
      CommandGroup(
        name: "Start",
        subcommands: [
          Demo.self, Import.self, Run.self, Map.self, Check.self, Submit.self, Initialize.self,
          Up.self, Down.self, Status.self,
        ]),
      CommandGroup(name: "Follow", subcommands: FollowCommands.all),
      CommandGroup(
        name: "Steer",
        subcommands: [
          Cancel.self, Retry.self, Suspend.self, Resume.self, Hold.self, Release.self,
          SetOperations.self, Remove.self,
        ]),
      CommandGroup(
        name: "Cluster",
        subcommands: [Queue.self, Worker.self, Allocation.self, Key.self, Ping.self, Doctor.self]),
      CommandGroup(
        name: "Misc",
        subcommands: [
          Config.self, Completion.self, Schema.self, Version.self, NotifyInBackground.self,
        ]),
    ])

  /// Commands that have subcommands. `commonOptionsLast` needs them before anything is parsed.
  static let groups = ["queue", "worker", "alloc", "key", "config", "import"]
}

@main
enum Main {
  /// Not async: the runtime's main loop would wait with all signals unblocked, also those that
  /// `SignalWatch` blocks.
  static func main() {
    // The process holds the user's key and the submitted data. First of all, before a secret is
    // read (G39).
    OwnProcess.keepSecretsOutOfDumps()
    OwnProcess.hideArguments(beginningWith: JoinToken.prefix)
    ThisProcess.ignoreBrokenPipes()
    do {
      var command = try Opbatch.parseAsRoot(
        arranged(Array(CommandLine.arguments.dropFirst())))
      // Every command of ours is a `Command`; a test holds that.
      guard let ours = command as? any Command else {
        // ArgumentParser's own commands: help pages, and groups without a subcommand.
        try command.run()
        exit(ExitStatus.success.code)
      }
      start(ours)
    } catch {
      exit(explain(error).code)
    }
    // The main thread has nothing more to do: the task ends the process.
    while true { pause() }
  }

  /// Runs a command on the runtime's threads, then ends the process with its status.
  private static func start(_ command: sending any Command) {
    let input = command.passesInput ? passedInput(command.global) : .success(.nothing)
    // Block signals before the first thread starts: threads inherit the mask.
    let signals = type(of: command).handlesInterrupts ? try? SignalWatch() : nil
    // `exit` ends all other tasks where they are; `perform` has returned by then.
    Task { exit(await run(command, signals, input).code) }
  }

  /// Reads stdin before signals are blocked, so that Ctrl-C ends the process meanwhile.
  private static func passedInput(_ global: GlobalOptions) -> PassedInput.Result {
    let console = Console(global)
    return PassedInput.read { console.say($0) }
  }

  /// Runs a command; turns an error into a message and a status.
  private static func run(
    _ command: any Command, _ signals: SignalWatch?, _ input: PassedInput.Result
  ) async -> ExitStatus {
    let console = Console(command.global, signals: signals, passedInput: input)
    do {
      return try await command.perform(console)
    } catch let error as OutputClosed {
      guard error.code != 0 else { return .success }
      console.report(
        Failure(
          .inputOutput, code: "output_failed",
          "cannot write to stdout: \(ErrorNumber(error.code).text)"))
      return .inputOutput
    } catch {
      let failure = Failure(shown: error)
      console.report(failure)
      return failure.status
    }
  }

  /// Prints ArgumentParser's help and version texts; prints its errors in our form with status 64.
  private static func explain(_ error: any Error) -> ExitStatus {
    guard !Opbatch.exitCode(for: error).isSuccess else {
      let text = arrangedHelp(Opbatch.fullMessage(for: error), width: Descriptor.output.columns)
      _ = Descriptor.output.write(Array((text + "\n").utf8))
      return .success
    }
    let arguments = arranged(Array(CommandLine.arguments.dropFirst()))
    let console = Console(format: UsageError.format(of: arguments), color: .auto)
    console.report(UsageError.failure(error, arguments))
    return .usage
  }
}
