// The small clean environment, the worker's name and the place in the cgroup hierarchy: no process
// is started here (G38).

import Testing

@testable import OpClusterProcesses

@Suite struct EnvironmentTests {
  private func clean(_ given: [(name: String, value: String)]) throws -> [String] {
    try OperationEnvironment.clean(
      given: given, home: "/home/op", user: "op", temporaryFolder: "/scratch/1"
    ).map { "\($0.name)=\($0.value)" }
  }

  @Test("The base is small; given variables override and follow")
  func base() throws {
    let base = ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/op", "LANG=C.UTF-8", "USER=op"]
    #expect(try clean([]) == base + ["TMPDIR=/scratch/1"])
    let given = [("A", "1"), ("TMPDIR", "/t"), ("A", "2"), ("_b9", "")]
    #expect(try clean(given) == base + ["TMPDIR=/t", "A=2", "_b9="])
  }

  @Test("G38: bad names", arguments: ["", "1A", "A-B", "A=B", "A B", "A\0", "É", "a\n"])
  func names(name: String) {
    #expect(throws: OperationEnvironment.Refusal.name(name)) { try clean([(name, "x")]) }
  }

  @Test(
    "G38: what steers the loader or the fence is not the caller's",
    arguments: ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_", "GLIBC_TUNABLES", "OPCLUSTER_FENCE"])
  func reserved(name: String) {
    #expect(throws: OperationEnvironment.Refusal.reserved(name)) { try clean([(name, "x")]) }
  }

  @Test("G38: PATH is absolute", arguments: [".", "", "/bin:", ":/bin", "/bin:.:/usr/bin", "bin"])
  func paths(path: String) {
    #expect(throws: OperationEnvironment.Refusal.self) { try clean([("PATH", path)]) }
  }

  @Test("Limits hold at the limit and one past it")
  func limits() throws {
    let limit = OperationEnvironment.valueLimit
    _ = try clean([("A", String(repeating: "x", count: limit))])
    #expect(throws: OperationEnvironment.Refusal.value(name: "A")) {
      try clean([("A", String(repeating: "x", count: limit + 1))])
    }
    #expect(throws: OperationEnvironment.Refusal.value(name: "A")) { try clean([("A", "a\0b")]) }
    let most = OperationEnvironment.variableLimit
    let variables = (0...most).map { (name: "V\($0)", value: "") }
    _ = try clean(Array(variables.dropLast()))
    #expect(throws: OperationEnvironment.Refusal.tooMany(most + 1)) { try clean(variables) }
  }

  @Test("G38: worker names", arguments: ["../../x", "a/b", "", ".", "..", "a b", "a\0", "$(x)"])
  func workerNames(name: String) {
    #expect(ProcessFence(worker: name) == nil)
  }

  @Test("Each run of a worker has a fence of its own")
  func fence() throws {
    let one = try #require(ProcessFence(worker: "w1.example:5-a_"))
    let two = try #require(ProcessFence(worker: "w1.example:5-a_"))
    #expect(one.session != two.session && one.session.utf8.count == 16)
    #expect(one.value(token: 255).hasSuffix("/00000000000000ff"))
  }

  @Test("The cgroup v2 hierarchy is found wherever it is mounted")
  func hierarchy() {
    let pure = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
    let mixed = """
      31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
      38 31 0:38 / /mnt/with\\040space/v2 rw - cgroup2 cgroup2 rw
      """
    let inside = "40 1 0:22 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
    func home(_ mounts: String, _ memberships: String) -> String? {
      CgroupHierarchy.unified(mounts: mounts, memberships: memberships)?.home
    }
    #expect(home(pure, "0::/system.slice/w.service\n") == "/sys/fs/cgroup/system.slice/w.service")
    #expect(home(mixed, "9:cpu:/x\n0::/\n") == "/mnt/with space/v2")
    #expect(home(inside, "0::/docker/1/a") == "/sys/fs/cgroup/a")
    #expect(home(inside, "0::/docker/1") == "/sys/fs/cgroup")
    #expect(home(inside, "0::/elsewhere") == nil)
    #expect(home("32 31 0:29 / /sys rw - cgroup cgroup rw", "0::/") == nil)
    #expect(home(pure, "9:cpu:/x") == nil)
  }

  @Test("Cgroup v1 hierarchies are found by their controllers")
  func legacyHierarchies() {
    let mounts = """
      31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
      32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
      33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
      34 31 0:31 /docker/1 /sys/fs/cgroup/both rw - cgroup cgroup rw,pids,freezer
      35 31 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
      """
    let memberships = """
      9:name=systemd:/a
      8:pids,freezer:/docker/1/x
      4:memory:/deep/er
      1:cpu,cpuacct:/
      0::/
      """
    #expect(
      CgroupHierarchy.legacy(mounts: mounts, memberships: memberships) == [
        CgroupHierarchy(controllers: [.pids, .freezer], home: "/sys/fs/cgroup/both/x"),
        CgroupHierarchy(controllers: [.memory], home: "/sys/fs/cgroup/memory/deep/er"),
      ])
    #expect(CgroupHierarchy.legacy(mounts: mounts, memberships: "4:memory") == [])
    #expect(CgroupHierarchy.legacy(mounts: "", memberships: memberships) == [])
  }
}
