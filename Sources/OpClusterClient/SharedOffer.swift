// Splits the resources of a machine among several workers, so that together they offer all of it
// and nothing twice. Pure; used to start our own clusters.

public import OpClusterModel

/// The resources that the workers of one machine offer together.
public struct SharedOffer: Equatable, Sendable {
  /// CPUs per worker; nil: an equal share of the machine's, at least one.
  public var cpusPerWorker: Int?
  /// The gpus; nil: those of the machine, or a single worker's own configuration.
  public var gpus: GPUSetting?
  public var resources: [Resources.NamedAmount]

  public init(
    cpusPerWorker: Int? = nil, gpus: GPUSetting? = nil, resources: [Resources.NamedAmount] = []
  ) {
    self.cpusPerWorker = cpusPerWorker
    self.gpus = gpus
    self.resources = resources
  }

  /// The percentage of memory that workers offer together; the rest is for everything else on the
  /// machine.
  private static let memoryPercent = 90.0

  /// The flags of one worker, counted from 0.
  func flags(
    of worker: Int, among workers: Int, processors: Int, foundGPUs: [String]
  ) -> [String] {
    var flags = ["--cpus", "\(cpusPerWorker ?? max(1, processors / workers))"]
    if workers > 1 { flags += ["--memory", "\(Self.memoryPercent / Double(workers))%"] }
    if gpus != nil || workers > 1 {
      let setting = gpus ?? .found
      let names = setting.names(found: foundGPUs)
      // Name them one by one: a worker's own configuration would count for each of them.
      let share = names.map { GPUSetting.share(of: $0, worker: worker, among: workers) }
      flags += ["--gpus", share.map(GPUSetting.text) ?? "unmanaged"]
    }
    for resource in resources {
      let share = Self.share(of: resource.amount, worker, among: workers)
      if share > .zero { flags += ["--resource", "\(resource.name)=\(Self.text(share))"] }
    }
    return flags
  }

  /// Splits whole units as evenly as possible; the first worker gets the fraction.
  private static func share(
    of amount: ResourceAmount, _ worker: Int, among workers: Int
  ) -> ResourceAmount {
    let (units, rest) = amount.tenThousandths.quotientAndRemainder(dividingBy: 10_000)
    let (each, more) = units.quotientAndRemainder(dividingBy: Int64(workers))
    let own = each + (Int64(worker) < more ? 1 : 0)
    return ResourceAmount(tenThousandths: own * 10_000 + (worker == 0 ? rest : 0))
  }

  /// Formats with at most four digits after the point.
  private static func text(_ amount: ResourceAmount) -> String {
    let (units, rest) = amount.tenThousandths.quotientAndRemainder(dividingBy: 10_000)
    return rest == 0 ? "\(units)" : "\(units)." + "\(rest + 10_000)".dropFirst()
  }
}
