// `run --call`: runs one call of an operation type; its output becomes ours. The input travels as
// JSON text, and the worker decodes it: only it knows the type. `CommandRun` is the counterpart for
// commands, whose output is a stream.

import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// The call from `--call` and `--input`. Pure but for reading the input. The version is exact:
/// workers that have another do not serve the call (S128).
struct CallRequest: Equatable {
  var type: OperationType
  /// JSON; empty for none.
  var input: [UInt8]

  /// Parses `NAME` or `NAME@VERSION`. A name has 1 to 128 bytes; a version is 1 or more, and 1 if
  /// none is given.
  static func type(_ text: String) throws(Failure) -> OperationType {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    // A name with a further `@` is no name.
    guard parts.count <= 2, (1...Limits.nameBytes).contains(parts[0].utf8.count) else {
      throw .usage(
        "'\(safe(text))' does not name an operation type", hint: "write NAME or NAME@VERSION")
    }
    var type = OperationType(name: String(parts[0]))
    if parts.count == 2 {
      guard let version = UInt32(parts[1]), version > 0 else {
        throw .usage(
          "'\(safe(String(parts[1])))' is not a version", hint: "a whole number, 1 or more")
      }
      type.version = version
    }
    return type
  }

  /// Reads JSON itself, `@FILE`, or `-` for stdin; checks it before anything is sent. Throws what
  /// is wrong with its place. The limit is that of one argument, since the input is the payload of
  /// one template.
  static func input(_ text: String?) throws(Failure) -> [UInt8] {
    guard let text else { return [] }
    var name = "--input"
    var bytes = Array(text.utf8)
    if text == "-" || text.hasPrefix("@") {
      name = text == "-" ? "stdin" : String(text.dropFirst())
      let content =
        text == "-"
        ? Descriptor.input.readAll(limit: Limits.payloadBytes)
        : Descriptor.contents(of: name, limit: Limits.payloadBytes)
      switch content {
      case .success(let read): bytes = read
      case .failure(let failure):
        throw Failure(
          failure.isAbsence ? .badInput : .inputOutput, code: "cannot_read",
          "cannot read \(safe(name)): "
            + (failure.isTooLarge ? "more than \(Limits.payloadBytes / 1024) KiB" : failure.text))
      }
    }
    guard bytes.count <= Limits.payloadBytes else {
      throw Failure(
        .badInput, code: "bad_input",
        "the input has more than \(Limits.payloadBytes / 1024) KiB",
        hint: "give the name of a file that the worker can read")
    }
    do throws(JSONMistake) {
      try JSONSyntax.check(bytes)
    } catch {
      throw Failure(
        .badInput, code: "bad_input",
        "\(safe(name)) is not JSON: \(error.expected) is expected \(place(error.offset, bytes))",
        hint: text == name || name != "--input" ? "" : "a text needs double quotes: '\"text\"'")
    }
    return bytes
  }

  /// Returns `at its end` or `at line 2, column 5`. Columns count characters, not bytes, as editors
  /// do.
  private static func place(_ offset: Int, _ bytes: [UInt8]) -> String {
    guard offset < bytes.count else { return "at its end" }
    let before = bytes[..<offset]
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
    return "at line \(line), column \(column)"
  }

  /// A graph of one operation, called after the type. The resources are those of `JobOptions`.
  func submission() -> GraphSubmission {
    var template = OperationTemplate(name: "run", work: .call(type))
    template.payload = input
    var submission = GraphSubmission(name: type.name)
    submission.templates = [template]
    submission.queues = [.named("default")]
    return submission
  }
}

/// Runs one call on the cluster. The two tasks of `untilEnd` share nothing but the connection.
struct CallRun {
  let session: Session
  let console: Console
  let timeout: Duration?

  /// Prints the value on success and nothing else on stdout, so that it can be piped on. Always
  /// ends in one line end.
  func run(_ request: CallRequest, _ submission: GraphSubmission) async throws -> ExitStatus {
    try await checkType(request.type)
    let graph = try await GraphRun.submit(submission, session.connection).graph
    let status = try await untilEnd(of: graph)
    guard status == .success else { return status }
    let request = ClientRequest.operations(.graph(graph), after: nil, limit: 1)
    guard case .operations(let rows, _) = try await session.connection.request(request),
      let row = rows.first
    else { throw Failure.unexpectedReply("operations") }
    let result = row.result ?? .success
    var output = result.returnedDocument
    if let value = result.storedValue {
      output = [UInt8](try await session.connection.data(of: value))
    }
    if output.last != UInt8(ascii: "\n") { output.append(UInt8(ascii: "\n")) }
    try console.write(bytes: console.outputIsTerminal ? Array(safeLog(output[...]).utf8) : output)
    return status
  }

  /// The second task says why nothing begins, and never ends the group by itself.
  private func untilEnd(of graph: GraphID) async throws -> ExitStatus {
    let run = GraphRun(session: session, console: console, timeout: timeout)
    let notice = WaitingNotice(session.connection, console)
    return try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await notice.watch(graph)
        return nil
      }
      group.addTask {
        try await run.untilEnd(of: graph, showsProgress: false, onInterrupt: .cancel)
      }
      while let status = try await group.next() { if let status { return status } }
      return .success
    }
  }

  /// Checks that a worker offers the type. On a cluster of our own a missing type is an error;
  /// elsewhere it is a warning, since a worker that offers it may still connect (S61).
  private func checkType(_ type: OperationType) async throws {
    let workers = try await Reader(connection: session.connection, timeout: nil).workers()
      .filter { $0.state != .down }
    let offered = workers.flatMap(\.types)
    guard !workers.isEmpty, !offered.contains(where: { type.isServed(by: $0) }) else { return }
    let shown = type.version == 1 ? type.name : "\(type.name)@\(type.version)"
    // The same name with another version is the usual mistake.
    let versions = offered.filter { $0.name == type.name }.map { "\($0.version)" }
    let near = nearest(type.name, among: offered.map(\.name))
    let hint =
      versions.isEmpty
      ? near.map { "did you mean '\($0)'?" } ?? "'opbatch worker ls' shows the types"
      : "there is version " + Set(versions).sorted().joined(separator: ", ")
    guard session.embedded != nil else {
      console.warn("no worker has the type '\(safe(shown))' now; it waits for one that has")
      return console.hint(hint)
    }
    throw Failure(
      .refused, code: "unknown_type", "no worker has the type '\(safe(shown))'", hint: hint)
  }
}
