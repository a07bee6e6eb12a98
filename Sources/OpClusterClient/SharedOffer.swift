// What each of several workers of one machine offers, so that all of them together offer what the
// machine has, and none of it twice. Pure; used where a cluster of one's own is started.

public import OpClusterModel

/// What the workers of one machine offer together.
public struct SharedOffer: Equatable, Sendable {
  /// nil: the machine's, shared out, at least one each.
  public var cpusPerWorker: Int?
  /// nil: those of the machine, or what a single worker is told elsewhere.
  public var gpus: GPUSetting?
  public var resources: [Resources.NamedAmount]

  public init(
    cpusPerWorker: Int? = nil, gpus: GPUSetting? = nil, resources: [Resources.NamedAmount] = []
  ) {
    self.cpusPerWorker = cpusPerWorker
    self.gpus = gpus
    self.resources = resources
  }

  /// Of all memory, the rest being for everything else on the machine: what one worker offers.
  private static let memoryPercent = 90.0

  /// The flags of one of so many workers, counted from 0.
  func flags(
    of worker: Int, among workers: Int, processors: Int, foundGPUs: [String]
  ) -> [String] {
    var flags = ["--cpus", "\(cpusPerWorker ?? max(1, processors / workers))"]
    if workers > 1 { flags += ["--memory", "\(Self.memoryPercent / Double(workers))%"] }
    if gpus != nil || workers > 1 {
      let setting = gpus ?? .found
      let names = setting.names(found: foundGPUs)
      // One by one: what a worker is told elsewhere would count for each of them.
      let share = names.map { GPUSetting.share(of: $0, worker: worker, among: workers) }
      flags += ["--gpus", share.map(GPUSetting.text) ?? "unmanaged"]
    }
    for resource in resources {
      let share = Self.share(of: resource.amount, worker, among: workers)
      if share > .zero { flags += ["--resource", "\(resource.name)=\(Self.text(share))"] }
    }
    return flags
  }

  /// Whole units as evenly as can be; what is less than one is the first worker's.
  private static func share(
    of amount: ResourceAmount, _ worker: Int, among workers: Int
  ) -> ResourceAmount {
    let (units, rest) = amount.tenThousandths.quotientAndRemainder(dividingBy: 10_000)
    let (each, more) = units.quotientAndRemainder(dividingBy: Int64(workers))
    let own = each + (Int64(worker) < more ? 1 : 0)
    return ResourceAmount(tenThousandths: own * 10_000 + (worker == 0 ? rest : 0))
  }

  /// At most four digits after the point.
  private static func text(_ amount: ResourceAmount) -> String {
    let (units, rest) = amount.tenThousandths.quotientAndRemainder(dividingBy: 10_000)
    return rest == 0 ? "\(units)" : "\(units)." + "\(rest + 10_000)".dropFirst()
  }
}
