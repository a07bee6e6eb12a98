// Foundation's own OperationQueue through the cases of ConformanceCases.md that one process can run
// (levels L and LK), and what the README says of it: the table there is the expectation here.
// OpCluster runs the same cases in OpClusterConformanceTests.

import Citations
import Foundation
import Testing

/// One case: what it is called, and a run that collects the claims that do not hold.
struct FoundationCase: CustomTestStringConvertible, Sendable {
  let number: Int
  let title: String
  let run: @Sendable (Findings) -> Void

  init(_ number: Int, _ title: String, run: @escaping @Sendable (Findings) -> Void) {
    self.number = number
    self.title = title
    self.run = run
  }

  var testDescription: String { "C\(number), \(title)" }

  static let all = lives + dependencies + orders + limits + barriers
  /// These end or block the process that runs them, wholly or in part.
  static let fatal: Set<Int> = [4, 5, 18, 39]
  /// Level K, but one process can tell.
  static let beyond: Set<Int> = [41, 49]
}

@Suite(.serialized) struct FoundationCases {
  /// ConformanceCases.md's cases of level L or LK.
  private static let level: Set<Int> = [
    1, 4, 5, 10, 13, 14, 17, 18, 20, 21, 22, 23, 24, 25, 29, 30, 32, 33, 34, 38, 39, 43, 44, 45, 47,
    52,
  ]

  /// There is nothing of this kind to imitate here.
  @Test(.checks("S127")) func foundationHasNoInvocationOperation() {
    for name in ["NSInvocationOperation", "Foundation.NSInvocationOperation"] {
      #expect(NSClassFromString(name) == nil)
    }
    #expect(NSClassFromString("Foundation.OperationQueue") != nil)
  }

  @Test func everyCaseOfTheLevelIsRun() {
    let numbers = FoundationCase.all.map(\.number)
    #expect(Set(numbers).count == numbers.count)
    #expect(Set(numbers).union(FoundationCase.fatal) == Self.level.union(FoundationCase.beyond))
  }

  @Test(arguments: FoundationCase.all) func caseIsAsTheReadmeSays(_ one: FoundationCase)
    async throws
  {
    let findings = Findings()
    // On a thread of its own: it waits, and Swift's threads must not.
    await withCheckedContinuation { continuation in
      Thread {
        one.run(findings)
        continuation.resume()
      }.start()
    }
    // What agrees here may still differ in the part that ends a process.
    let differs = try Readme.differing().contains(one.number)
    if FoundationCase.fatal.contains(one.number) {
      #expect(findings.broken.isEmpty)
    } else {
      #expect(differs != findings.broken.isEmpty, "not as the table says: \(findings.broken)")
    }
  }

  @Test func theReadmeNamesEveryCaseOnce() throws {
    let (differing, agreeing) = (try Readme.differing(), try Readme.agreeing())
    #expect(differing.isDisjoint(with: agreeing))
    #expect(differing.union(agreeing) == Self.level.union(FoundationCase.beyond))
    #expect(FoundationCase.fatal.isSubset(of: differing))
  }

  // C4, C5, C39: what is an error here ends the process there.

  @Test func addingWhatHasFinishedEndsTheProcess() async {
    await #expect(processExitsWith: .failure) { FoundationCases.addWhatHasFinished() }
  }

  static func addWhatHasFinished() {
    let (queue, operation) = (OperationQueue(), Operation())
    queue.addOperations([operation], waitUntilFinished: true)
    queue.addOperation(operation)
  }

  @Test func addingTwiceEndsTheProcess() async {
    await #expect(processExitsWith: .failure) {
      let (queue, operation) = (OperationQueue(), Operation())
      queue.isSuspended = true
      queue.addOperation(operation)
      OperationQueue().addOperation(operation)
    }
  }

  @Test func aNegativeLimitEndsTheProcess() async {
    await #expect(processExitsWith: .failure) { OperationQueue().maxConcurrentOperationCount = -5 }
  }

  // A watchdog ends the process that waits for itself.
  @Test(.checks("C18")) func dependingOnItselfHangs() async {
    await #expect(processExitsWith: .exitCode(3)) {
      Thread {
        Thread.sleep(forTimeInterval: 5)
        exit(3)
      }.start()
      let operation = Operation()
      operation.addDependency(operation)
      exit(0)
    }
  }
}
