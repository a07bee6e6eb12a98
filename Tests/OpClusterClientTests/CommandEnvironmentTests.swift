// What a command's environment may not hold is refused where a program submits it, with the words
// of `opbatch check` (G38).

import OpCluster
import OpClusterModel
import Testing

@Suite struct CommandEnvironmentTests {
  private static func refusal(_ variables: [String: String]) async throws -> ClusterError? {
    let queue = ClusterOperationQueue(name: "environment")
    var command = ClusterCommand(["/bin/true"])
    command.environment = variables
    do throws(ClusterError) {
      try await queue.addOperation(ClusterOperation(command))
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_", "GLIBC_TUNABLES"])
  func theLoaderIsNotSteered(name: String) async throws {
    let error = try await Self.refusal([name: "/x.so", "A": "b"])
    #expect(error?.code == .badRequest)
    #expect(
      error?.message == "'\(name)' may not be set, since it steers the loader of every program")
    #expect(error?.hint.contains("run: \"\(name)=… program\"") == true)
  }

  @Test func otherRules() async throws {
    #expect(try await Self.refusal(["OPCLUSTER_FENCE": "x"])?.message.contains("own") == true)
    #expect(
      try await Self.refusal(["PATH": "/bin:bin"])?.message
        == "'PATH' may hold absolute folders only, not 'bin'")
    #expect(try await Self.refusal(["PATH": "/bin", "LDX": "1", "MY_LD_": "2"]) == nil)
  }

  // Of a block as well.
  @Test func blocks() async throws {
    let queue = ClusterOperationQueue(name: "environment")
    let operation = ClusterOperation.blocks()
    var command = ClusterCommand(["/bin/true"])
    command.environment = ["LD_PRELOAD": "/x.so"]
    try operation.addBlock(command)
    await #expect(throws: ClusterError.self) { try await queue.addOperation(operation) }
  }

  // The rule itself: what is not known yet is the worker's to judge.
  @Test func unknownValues() {
    #expect(CommandVariables.objection(to: "PATH", nil) == nil)
    #expect(CommandVariables.objection(to: "LD_PRELOAD", nil) != nil)
    #expect(CommandVariables.objection(to: "PATH", "") != nil)
  }
}
