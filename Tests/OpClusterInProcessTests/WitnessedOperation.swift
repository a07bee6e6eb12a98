// The registered type of this target: it writes down when it runs, and ends as the scenario says.
// Runs on Swift's own threads, many at a time.

import OpClusterOperations
import ScenarioBody
import Synchronization

/// Sees the runs of one scenario. Operations find it by their argument: types know nothing else of
/// the test that they run for.
final class Witness: Sendable {
  private static let all = Mutex<[Witness]>([])

  let scenario: Scenario
  /// The operation of this scenario, as its argument.
  let argument: [UInt8]
  private let key = String(UInt64.random(in: 0 ... .max), radix: 36)
  private let seen = Mutex(ScenarioWitness())

  /// Kept until the process ends; tests make a handful.
  init(of scenario: Scenario) throws {
    self.scenario = scenario
    argument = try OperationArgument.encode(WitnessedOperation(witness: key))
    Self.all.withLock { $0.append(self) }
  }

  static func find(_ key: String) -> Witness? {
    all.withLock { all in all.first { $0.key == key } }
  }

  var moments: [ScenarioReport.Moment] { seen.withLock { $0.moments } }

  /// The answer is the number of the run, from 1.
  func start(_ element: Scenario.Element) -> Int { seen.withLock { $0.start(element) } }
  func end(_ element: Scenario.Element) { seen.withLock { $0.end(element) } }
}

struct WitnessedOperation: RegisteredOperation {
  static let typeName = "test.witnessed"

  /// What it throws in place of an exit status.
  struct Failure: Error {
    let status: Int32
  }

  /// The witness's key.
  var witness: String

  func main(_ context: OperationContext) async throws -> NoOutput {
    guard let witness = Witness.find(witness) else { throw BadArgument("nobody witnesses this") }
    let element = Scenario.Element(name: context.name, index: context.index)
    let number = witness.start(element)
    defer { witness.end(element) }
    guard let operation = witness.scenario[context.name], operation.elements.contains(element)
    else { throw BadArgument("the scenario has no \(element)") }
    // Others may come in between.
    await Task.yield()
    let status = operation.status(ofRun: number)
    if status != 0 { throw Failure(status: status) }
    return NoOutput()
  }
}
