// Forms of closures that do not compile: what the compiler says of each names what to write
// instead. And those that do, so that no form is forbidden by mistake. Runs the compiler for types.

import FoundationEssentials
import RealCluster
import Testing

@Suite struct CompilerMessages {
  /// A line of a program, and a part of what is said of it.
  private static let wrong: [(line: String, message: String)] = [
    ("_ = ClusterOperation(number)", "ClusterOperation(returning:)"),
    ("_ = ClusterOperation(name: \"n\", number)", "ClusterOperation(returning:)"),
    ("_ = ClusterOperation(block: { print(1) })", "without 'block:'"),
    ("try ClusterOperation.blocks().addBlock { print(1) }", "addExecutionBlock { … }"),
    ("try await queue.addOperation(number)", "ClusterOperation(returning: { … })"),
    ("try await queue.addOperation { let a = 3; return a }", "ClusterOperation(returning: { … })"),
    (
      "try await queue.addOperation { context in let a = 3; return a }",
      "ClusterOperation(returning: { … })"
    ),
    ("try await queue.addBarrier { print(1) }", "addBarrierBlock { … }"),
  ]

  private static let right = [
    "_ = ClusterOperation {}",
    "_ = ClusterOperation { print(1) }",
    "_ = ClusterOperation { let a = 3; print(a) }",
    "_ = ClusterOperation { context in print(context.queueName) }",
    "_ = ClusterOperation { _ in let a = 3; print(a) }",
    "_ = ClusterOperation(name: \"n\") { print(1) }",
    "_ = ClusterOperation(nothing)",
    "_ = ClusterOperation(returning: number)",
    "_ = ClusterOperation(returning: { 3 })",
    "_ = ClusterOperation(returning: { context in context.queueName })",
    "try ClusterOperation {}.addExecutionBlock { print(1) }",
    "try await queue.addOperation { print(1) }",
    "try await queue.addOperation { _ in let a = 3; print(a) }",
    "try await queue.addOperation { let a = 3; print(a) }",
    "try await queue.addOperation(nothing)",
    "try await queue.addBarrierBlock { print(1) }",
  ]

  private static let beginning = """
    import OpCluster
    func number() -> Int { 3 }
    func nothing() {}
    func program(_ queue: ClusterOperationQueue) async throws {

    """

  private static var compiler: String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  @Test("what does not compile says what does", .enabled(if: compiler != nil))
  func messages() async throws {
    let lines = Self.wrong.map(\.line)
    let said = try await Self.compile(lines)
    for (at, expected) in Self.wrong.enumerated() {
      let errors = said.filter {
        $0.contains("program.swift:\(at + 5):") && $0.contains(": error: ")
      }
      #expect(errors.count == 1 && errors[0].contains(expected.message), "\(expected): \(errors)")
    }
    let others = try await Self.compile(Self.right)
    #expect(others.filter { $0.contains("error: ") } == [])
  }

  /// The lines that the compiler says about a program of these lines, the fifth and following.
  private static func compile(_ lines: [String]) async throws -> [String] {
    let folder = "/tmp/oct-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try write(beginning + lines.joined(separator: "\n") + "\n}\n", to: "\(folder)/program.swift")
    let products = try Cluster.executable("opcoord").split(
      separator: "/", omittingEmptySubsequences: false
    ).dropLast().joined(separator: "/")
    let sources =
      #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/") + "/Sources"
    let child = try ChildProgram(
      "swiftc", try #require(compiler),
      [
        "-swift-version", "6", "-typecheck", "-I", "\(products)/Modules",
        "-I", "\(sources)/CSystem", "-I", "\(sources)/CZeroMQ", "-I", "\(sources)/CSQLite",
        "-I", "\(sources)/CCrypto", "-I", "\(sources)/CProcess/include",
        "-Xcc", "-fmodule-map-file=\(products)/CProcess.build/module.modulemap",
        "\(folder)/program.swift",
      ],
      environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" },
      folder: folder)
    try await child.ended()
    return child.error.split(separator: "\n").map(String.init)
  }
}
