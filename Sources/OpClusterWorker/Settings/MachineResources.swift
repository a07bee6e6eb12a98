// The machine's resources for operations: processors, memory, labels. Read once at the start, on
// the starting thread.

import Glibc
import OpClusterAttempts
public import OpClusterModel
import OpClusterSystem

/// The default resources of a worker.
public enum MachineResources {
  /// All processors and gpus that this process may use, and nine tenths of the memory. In a job of
  /// Slurm: of what Slurm granted.
  public static var capacity: Resources {
    Resources(
      cpus: processors, memoryBytes: memoryBytes / 10 * 9,
      gpus: ResourceAmount(Int64(gpus.count)))
  }

  private static var grant: SlurmGrant? { SlurmGrant { OwnProcess.variable($0) } }

  /// The names of the gpus found.
  public static var gpus: [String] {
    // Others' gpus may be visible to a job that asked for none.
    if let grant, !grant.hasGPUs, OwnProcess.variable(GPUVariables.cuda) == nil { return [] }
    return GPUSetting.present(
      visible: OwnProcess.variable(GPUVariables.cuda), devices: Folders.names(in: "/dev"))
  }

  /// The processors by the affinity mask, by the cgroup's quota or by Slurm's grant, whichever is
  /// least.
  public static var processors: ResourceAmount {
    let status = Folders.text(of: "/proc/self/status") ?? ""
    let mask = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") } ?? ""
    let allowed = mask.drop { $0 != ":" }.reduce(0) { $0 + (Self.bits[$1] ?? 0) }
    let count = allowed > 0 ? allowed : Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let visible = ResourceAmount(Int64(max(1, count)))
    let all = min(visible, grant?.cpus ?? visible)
    guard let quota = quota else { return all }
    return min(all, max(ResourceAmount(tenThousandths: 1), quota))
  }

  /// The bits set in a digit of the affinity mask.
  private static let bits: [Character: Int] = Dictionary(
    uniqueKeysWithValues: "0123456789abcdef".enumerated().map { ($1, $0.nonzeroBitCount) })

  /// The memory of the machine in bytes, or the limit of the cgroup or Slurm's grant if that is
  /// less.
  public static var memoryBytes: Int64 {
    let pages = Int64(sysconf(Int32(_SC_PHYS_PAGES)))
    let machine = max(0, pages) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
      .compactMap { Folders.text(of: $0) }
      .compactMap { Int64($0.trimmed) }
    return ([machine] + limits + (grant?.memoryBytes.map { [$0] } ?? [])).min() ?? machine
  }

  private static var quota: ResourceAmount? {
    if let text = Folders.text(of: "/sys/fs/cgroup/cpu.max") {
      let parts = text.trimmed.split(separator: " ")
      guard parts.count == 2, let quota = Int64(parts[0]) else { return nil }
      return amount(quota, Int64(parts[1]))
    }
    let folder = "/sys/fs/cgroup/cpu/cpu.cfs_"
    guard let quota = Folders.text(of: folder + "quota_us").flatMap({ Int64($0.trimmed) }),
      quota > 0
    else { return nil }
    return amount(quota, Folders.text(of: folder + "period_us").flatMap { Int64($0.trimmed) })
  }

  private static func amount(_ quota: Int64, _ period: Int64?) -> ResourceAmount? {
    guard let period, period > 0, quota > 0, quota < Int64.max / 10_000 else { return nil }
    return ResourceAmount(tenThousandths: quota * 10_000 / period)
  }

  /// `host`, `arch` and `os`.
  public static var labels: [Label] {
    [
      Label(key: "host", value: String(host.prefix(Limits.labelBytes))),
      Label(key: "arch", value: architecture), Label(key: "os", value: "linux"),
    ]
  }

  /// The host's name, with `-` in place of characters that names may not have.
  public static var machineName: String {
    let letters = host.prefix(64).map { letter in
      letter.isASCII && (letter.isLetter || letter.isNumber || letter == "." || letter == "-")
        ? letter : "-"
    }
    return letters.isEmpty ? "worker" : String(letters)
  }

  static var host: String {
    let name = Folders.text(of: "/proc/sys/kernel/hostname")?.trimmed ?? ""
    return name.isEmpty ? "localhost" : String(name)
  }

  private static var architecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "aarch64"
    #else
      "other"
    #endif
  }
}

extension String {
  var trimmed: String {
    var text = Substring(self)
    while let last = text.last, last.isWhitespace { text.removeLast() }
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    return String(text)
  }
}
