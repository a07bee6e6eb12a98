// What Prometheus' client libraries say of every process, under the same names.

import Glibc

extension [MetricFamily] {
  /// The figures of this process. Reads three files of the kernel.
  public static func ofThisProcess() -> [MetricFamily] {
    var families: [MetricFamily] = []
    if let pages = words(of: "/proc/self/statm").dropFirst().first.flatMap({ UInt64($0) }) {
      let pageBytes = UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
      let (bytes, overflow) = pages.multipliedReportingOverflow(by: pageBytes)
      if !overflow {
        families.append(
          MetricFamily(
            "process_resident_memory_bytes", .gauge, "Resident memory of the process.", bytes))
      }
    }
    // The name of the program may contain spaces: the fields are counted from behind it.
    let status = text(of: "/proc/self/stat").split(separator: ")").last ?? ""
    let fields = status.split(separator: " ").map { UInt64($0) }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    if fields.count > 19, let user = fields[11], let system = fields[12], ticks > 0 {
      families.append(
        MetricFamily(
          "process_cpu_seconds", .counter, "Processor time of the process.",
          (Double(user) + Double(system)) / ticks))
    }
    var usage = rlimit()
    if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usage) == 0,
      let most = Int64(exactly: usage.rlim_cur)
    {
      families.append(
        MetricFamily("process_max_fds", .gauge, "Descriptors that the process may open.", most))
    }
    return families
  }

  /// The size of the disk that has this path, and what is free of it.
  public static func ofDisk(at path: String, _ name: String) -> [MetricFamily] {
    var disk = statvfs()
    guard unsafe statvfs(path, &disk) == 0 else { return [] }
    let size = Double(disk.f_frsize)
    return [
      MetricFamily(
        name, .gauge, "The disk with its folder: its size, and what is free of it.", by: "kind",
        [("size", size * Double(disk.f_blocks)), ("free", size * Double(disk.f_bavail))])
    ]
  }

  private static func words(of path: String) -> [Substring] { text(of: path).split(separator: " ") }

  /// Empty if it cannot be read.
  private static func text(of path: String) -> String {
    guard let file = unsafe fopen(path, "re") else { return "" }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
