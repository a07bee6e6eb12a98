// A stand-in for a worker, so that tests can kill one: starts a guard and one operation, says so,
// and then does nothing until it is ended. With `rate` it measures starts instead.
//
//   ProcessStandIn work groups|legacy|walk SHELL-TEXT
//   ProcessStandIn hidden groups|legacy|walk SHELL-TEXT   where clone3(2) is hidden
//   ProcessStandIn forbidden groups|legacy|walk SHELL-TEXT   where it is forbidden
//   ProcessStandIn lease groups|legacy|walk SHELL-TEXT   an exclusive one with a lease of 3 s
//   ProcessStandIn rate groups|legacy|walk|bare COUNT
//   ProcessStandIn remove UID FOLDER   removes the folder as that user; prints the errno
//   ProcessStandIn delegate FOLDER CONTROLLER   in the cgroup v2 folder, which it divides; a `-`
//                                               before the controller: without moving itself

import CallFilter
import Glibc
import OpClusterProcesses

func fail(_ text: String) -> Never {
  print("failed: \(text)")
  exit(1)
}

func cgroups(_ way: String) -> CgroupUse {
  switch way {
  case "groups": .all
  case "legacy": .legacy
  default: .none
  }
}

func host(_ way: String) -> ProcessHost {
  guard let fence = ProcessFence(worker: "stand-in") else { fail("name") }
  do {
    return try ProcessHost(fence: fence, groups: cgroups(way))
  } catch {
    fail("\(error)")
  }
}

/// Starts the operation under a guard and waits to be killed.
func work(_ way: String, _ text: String, isExclusive: Bool = false) -> Never {
  // Who runs the tests with nohup has these ignored, and so would we, for ever.
  for deadly in [SIGHUP, SIGINT, SIGTERM] { signal(deadly, SIG_DFL) }
  let host = host(way)
  do {
    let watcher = try ProcessGuard.start(for: host)
    host.lease?.set(until: ExclusiveLease.clock + 3_000_000_000)
    var specification = ProcessSpecification(
      command: .shell(text, prefix: ["/bin/sh", "-c"]),
      environment: [("PATH", OperationEnvironment.standardPath)])
    specification.isExclusive = isExclusive
    let reference = try host.start(specification, token: 1)
    print("ready \(reference.process) \(watcher.process) \(host.fence.session)")
    fflush(nil)
    while true { pause() }
  } catch {
    fail("\(error)")
  }
}

/// Starts per second of /bin/true, one after the other, each waited for.
func rate(_ way: String, _ count: Int) {
  let started = ContinuousClock.now
  if way == "bare" {
    for _ in 0..<count { bareStart() }
  } else {
    let host = host(way)
    var specification = ProcessSpecification(command: .arguments(["/bin/true"]))
    specification.processLimit = 4_096
    for token in 0..<UInt64(count) {
      do { _ = try host.start(specification, token: token) } catch { fail("\(error)") }
      while host.collectEnded().isEmpty {
        var request = pollfd(fd: host.descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&request, 1, 1_000)
      }
    }
  }
  let seconds = (ContinuousClock.now - started) / .seconds(1)
  print("\(way) \(Int(Double(count) / seconds)) starts/s")
}

/// Enters the folder and makes it bound what is in two folders beneath it. Prints what is on there,
/// and where this process is then.
func delegate(_ home: String, _ controller: String) {
  let folders = ["\(home)/run", "\(home)/run/exclusive"]
  for folder in folders { _ = unsafe mkdir(folder, 0o755) }
  let list = unsafe fopen("\(home)/cgroup.procs", "w")
  guard let list = unsafe list, unsafe fputs("\(getpid())", list) >= 0, unsafe fclose(list) == 0
  else { fail("cannot enter \(home)") }
  let movesSelf = !controller.hasPrefix("-")
  let on = CgroupDelegation.enable(
    [movesSelf ? controller : String(controller.dropFirst())], from: home, movesSelf: movesSelf,
    in: folders)
  var line = [CChar](repeating: 0, count: 4_096)
  guard let own = unsafe fopen("/proc/self/cgroup", "r") else { fail("no cgroups") }
  while unsafe fgets(&line, 4_096, own) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    if text.hasPrefix("0::") {
      print("\(on.joined(separator: ",")) \(text.dropFirst(3))", terminator: "")
    }
  }
}

func remove(_ user: uid_t, _ folder: String) {
  guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else { fail("setuid") }
  print(RootFolder.removeTree(folder))
}

/// What the host is measured against.
func bareStart() {
  var process: pid_t = 0
  let name = unsafe strdup("/bin/true")
  var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [name, nil]
  let error = unsafe posix_spawn(&process, "/bin/true", nil, nil, &arguments, environ)
  unsafe free(name)
  guard error == 0, waitpid(process, nil, 0) == process else { fail("bare start") }
}

// Whoever starts this may have blocked the signals by which it is to be ended.
var none = sigset_t()
_ = unsafe sigemptyset(&none)
_ = unsafe sigprocmask(SIG_SETMASK, &none, nil)
let words = CommandLine.arguments
guard words.count == 4 else { fail("usage: ProcessStandIn work|rate WAY TEXT|COUNT") }
switch words[1] {
case "work": work(words[2], words[3])
case "hidden", "forbidden":
  let error = call_filter_hide_clone3(words[1] == "hidden" ? ENOSYS : EPERM)
  if error != 0 { fail("clone3 answers \(error)") }
  work(words[2], words[3])
case "lease": work(words[2], words[3], isExclusive: true)
case "delegate": delegate(words[2], words[3])
case "remove": remove(uid_t(words[2]) ?? 0, words[3])
case "rate": rate(words[2], Int(words[3]) ?? 0)
default: fail("unknown \(words[1])")
}
