// The start of a process by `ProcessHost`: opens its streams, takes a group, calls the shim. Loop
// thread.

import CProcess
import Glibc

extension ProcessHost {
  /// Starts a process and returns when it has executed; on an error nothing has started. The thread
  /// waits for the kernel's execve, about half a millisecond; with a reaper half a minute at most.
  ///
  /// - Parameter token: Names the process until it is collected; the two largest numbers are
  ///   reserved.
  public func start(
    _ specification: ProcessSpecification, token: UInt64
  ) throws(SpawnError) -> ProcessReference {
    guard token < Self.channelToken else { throw .unusable(reason: "this token is reserved") }
    guard running[token] == nil else { throw .tokenInUse(token) }
    let lease = specification.isExclusive ? lease : nil
    guard lease?.settles() ?? true else { throw .leaseOver }
    let mark = fence.value(token: token, isExclusive: specification.isExclusive)
    // Search the executable with the rights of the account that runs it.
    let executable = try withRights(of: specification.account) { () throws(SpawnError) in
      try ExecutableSearch.path(
        of: specification.arguments.first ?? "", environment: specification.environment)
    }
    var call = try StartCall(specification, executable, mark: mark, lease: lease)
    let streams = try withRights(of: specification.account) { () throws(SpawnError) in
      try openStreams(specification)
    }
    let expiries = lease?.expiries ?? 0
    // Count the tree before it can live: the guard must know of it even if this process dies.
    lease?.count(1)
    ChildClaims.beginStart()
    var (result, group) = attempt(&call, specification, streams)
    if result.step == OP_STEP_GROUP {
      // Somebody removed the folder: try again in a fresh one.
      (result, group) = attempt(&call, specification, streams)
    }
    let hasStarted = result.step == OP_STEP_NONE
    ChildClaims.endStart(hasStarted ? result.process : nil, as: .operation)
    guard hasStarted else {
      lease?.count(-1)
      let executable = call.executable
      throw try withRights(of: specification.account) { () throws(SpawnError) in
        SpawnError(
          step: result.step, error: result.error, executable: executable,
          workingDirectory: specification.workingDirectory)
      }
    }
    return keep(
      result, token: token, mark: mark, group: group, streams: streams.files, lease: lease,
      expiries: expiries)
  }

  /// Tries once, in a group if there is one. A failed try leaves nothing behind.
  private func attempt(
    _ call: inout StartCall, _ specification: ProcessSpecification,
    _ streams: borrowing ProcessStreams
  ) -> (op_spawn_result, ProcessGroup?) {
    let group =
      specification.wantsGroup
      ? groups?.take(
        isExclusive: specification.isExclusive, memory: specification.memoryLimit,
        processes: specification.processLimit)
      : nil
    var result = op_spawn_result()
    call.run(streams, group, of: self, &result)
    guard let group, result.step != OP_STEP_NONE else { return (result, group) }
    if result.step == OP_STEP_GROUP {
      groups?.remove(group)
    } else {
      groups?.give(group)
    }
    guard result.step == OP_STEP_CLONE, Self.deniesGroups(result.error) else {
      return (result, nil)
    }
    // The kernel, a sandbox or the hierarchy does not allow birth in a group: start without one.
    call.run(streams, nil, of: self, &result)
    return (result, nil)
  }

  private func openStreams(
    _ specification: ProcessSpecification
  ) throws(SpawnError) -> ProcessStreams {
    try ProcessStreams(specification, nullDevice: nullDevice.number) {
      (file) throws(SpawnError) in
      if file.isUsedAgain, let open = idleOutputs.removeValue(forKey: file.path), open.isStillThere
      {
        return open
      }
      return try file.openForWriting()
    }
  }

  private func keep(
    _ result: op_spawn_result, token: UInt64, mark: String, group: ProcessGroup?,
    streams: [OutputStream], lease: ExclusiveLease?, expiries: UInt64
  ) -> ProcessReference {
    let reference = ProcessReference(token: token, process: result.leader)
    let descriptor = Descriptor(result.descriptor)
    // Fails only for lack of memory; the timer then finds the end of the process.
    _ = poller.watch(descriptor, token: token)
    running[token] = RunningProcess(
      reference: reference, child: result.process,
      mark: "\(ProcessFence.variable)=\(mark)", group: group, streams: streams,
      peakAtStart: Self.ownPeak(), lease: lease, expiries: expiries, descriptor: descriptor)
    tokens[result.process] = token
    if settling.isEmpty { adjustTicker(ticked: false) }
    return reference
  }

  private static func deniesGroups(_ error: Int32) -> Bool {
    [ENOSYS, EACCES, EPERM, EBUSY, EOPNOTSUPP, EINVAL, ENOENT, ENODEV].contains(error)
  }

  /// The peak resident memory of this process in bytes.
  private static func ownPeak() -> UInt64 {
    var usage = rusage()
    _ = unsafe getrusage(RUSAGE_SELF.rawValue, &usage)
    return UInt64(max(usage.ru_maxrss, 0)) * 1_024
  }
}

/// A start in the form of the system call.
private struct StartCall {
  let executable: String
  private let specification: ProcessSpecification
  private var arguments = CStringList()
  private var environment = CStringList()
  private let lease: ExclusiveLease?

  init(
    _ specification: ProcessSpecification, _ executable: String, mark: String,
    lease: ExclusiveLease?
  ) throws(SpawnError) {
    self.specification = specification
    self.executable = executable
    self.lease = lease
    let words = specification.arguments
    guard !(specification.workingDirectory?.utf8.contains(0) ?? false),
      !executable.utf8.contains(0)
    else { throw Self.nul("a path") }
    for word in words {
      guard arguments.append(word) else { throw Self.nul("an argument") }
    }
    // The mark comes first, where it is found soonest.
    guard environment.append(name: ProcessFence.variable, value: mark) else {
      throw Self.nul("the mark")
    }
    for (name, value) in specification.environment {
      guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")), name != ProcessFence.variable
      else {
        throw .unusable(reason: "the environment may not set \(quoted(name)); rename the variable")
      }
      guard environment.append(name: name, value: value) else { throw Self.nul("a variable") }
    }
  }

  /// Starts the process. Without a group a reaper keeps the tree together, except in another
  /// program.
  mutating func run(
    _ streams: borrowing ProcessStreams, _ group: ProcessGroup?, of host: ProcessHost,
    _ result: inout op_spawn_result
  ) {
    let specification = specification
    let executable = executable
    let limits = specification.kernelLimits
    var request = unsafe op_spawn_request()
    unsafe request.input = streams.inputNumber
    unsafe request.output = streams.outputNumber
    unsafe request.error = streams.errorNumber
    let memberships =
      group?.memberships(limitsMemory: specification.memoryLimit != nil) ?? []
    unsafe request.group = group?.birthplace ?? -1
    unsafe request.membership_count = memberships.count
    unsafe request.lease = lease?.page
    unsafe request.death_signal = host.diesWithThread ? SIGKILL : 0
    unsafe request.reaped = host.endsTrees && host.adoptsOrphans && group == nil
    unsafe request.hold = host.hold
    unsafe request.nice = specification.nice
    unsafe request.policy = specification.scheduling.policy
    unsafe request.limit_count = limits.count
    unsafe executable.withCString { path in
      unsafe Self.withOptionalCString(specification.workingDirectory) { directory in
        unsafe Self.withOptionalAccount(specification.account) { account in
          unsafe limits.withUnsafeBufferPointer { limits in
            unsafe memberships.withUnsafeBufferPointer { memberships in
              unsafe arguments.withPointers { arguments in
                unsafe environment.withPointers { environment in
                  unsafe request.executable = path
                  unsafe request.directory = directory
                  unsafe request.account = account
                  unsafe request.limits = limits.baseAddress
                  unsafe request.memberships = memberships.baseAddress
                  unsafe request.arguments = arguments
                  unsafe request.environment = environment
                  _ = unsafe op_spawn(&request, &result)
                }
              }
            }
          }
        }
      }
    }
  }

  private static func withOptionalAccount(
    _ account: LocalAccount?, _ body: (UnsafePointer<op_account>?) -> Void
  ) {
    if let account { unsafe account.withPointer { unsafe body($0) } } else { body(nil) }
  }

  private static func withOptionalCString(
    _ text: String?, _ body: (UnsafePointer<CChar>?) -> Void
  ) {
    if let text { unsafe text.withCString { unsafe body($0) } } else { body(nil) }
  }

  private static func nul(_ what: String) -> SpawnError {
    .unusable(reason: "\(what) holds a NUL byte, which no process can be given; pass it in a file")
  }
}
