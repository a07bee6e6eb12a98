// How much of a resource an operation may ask for (S61, G33).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct AmountLimitTests {
  /// `Limits.resourceAmount`: as much may be asked for, and waits for a worker that has it; more is
  /// refused, and less than nothing.
  @Test(arguments: ["cpus", "memory", "gpus", "disk"]) func amounts(of resource: String) {
    for (amount, isTaken) in [
      (Limits.resourceAmount, true), (Limits.resourceAmount + 1, false), (.max, false),
      (-1, false), (.min, false),
    ] {
      var world = World()
      world.join("w1")
      var submission = GraphSubmission(name: "g")
      submission.templates = [noops("large")]
      submission.templates[0].demand = Self.demand(amount, of: resource)
      switch world.ask(.submit(submission)) {
      case .accepted: #expect(isTaken, "\(amount) was taken")
      case .refused(let refusal): #expect(!isTaken && refusal.code == .badRequest)
      case let other: Issue.record("another answer: \(String(describing: other))")
      }
      #expect(world.brokenInvariant == nil)
    }
  }

  private static func demand(_ amount: Int64, of resource: String) -> Resources {
    let tenThousandths = ResourceAmount(tenThousandths: amount)
    return switch resource {
    case "cpus": Resources(cpus: tenThousandths)
    case "memory": Resources(memoryBytes: amount)
    case "gpus": Resources(gpus: tenThousandths)
    default: Resources(custom: [Resources.NamedAmount(name: resource, amount: tenThousandths)])
    }
  }
}
