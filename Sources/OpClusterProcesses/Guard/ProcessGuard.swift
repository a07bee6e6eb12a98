// Starts and watches the guard, a process that outlives the worker just long enough to kill the
// worker's processes (G25). The worker starts it first of all, on its loop thread.

import CProcess
import Glibc

/// The guard of one run of a worker. It is a forked copy of the worker that runs a few lines of C
/// and holds none of the worker's descriptors. It wakes up when the worker has ended, by any cause,
/// and when the lease of exclusive operations may have run out (G16). A guard ends only with its
/// worker, by SIGKILL, or for lack of memory.
public final class ProcessGuard {
  /// The process number, for people and logs.
  public let process: Int32
  private let watch: Descriptor

  /// Readable when the guard has died; start another one then. Owned by this object.
  public var descriptor: Int32 { watch.number }

  private init(process: Int32, watch: consuming Descriptor) {
    self.process = process
    self.watch = watch
  }

  /// Starts a guard for everything that the host starts. Best before the first thread, while the
  /// copy is small; allowed at any time.
  ///
  /// - Throws: `SpawnError.refused` if the machine has no room for it.
  public static func start(for host: ProcessHost) throws(SpawnError) -> ProcessGuard {
    let own = op_process_descriptor(getpid())
    guard own >= 0 else { throw .refused(step: "watch the worker", error: -own) }
    let worker = Descriptor(own)
    var result = op_spawn_result()
    ChildClaims.beginStart()
    let error = Self.fork(worker.number, for: host, &result)
    ChildClaims.endStart(error == 0 ? result.process : nil, as: .guardian)
    guard error == 0 else { throw .refused(step: "start the guard", error: error) }
    return ProcessGuard(process: result.process, watch: Descriptor(result.descriptor))
  }

  private static func fork(
    _ worker: Int32, for host: ProcessHost, _ result: inout op_spawn_result
  ) -> Int32 {
    let exclusive = "/" + ProcessGroups.exclusiveName
    let paths = host.groups?.legacyPaths ?? []
    var (group, entries) = (CStringList(), CStringList())
    var (legacy, exclusiveLegacy) = (CStringList(), CStringList())
    let path = host.groups?.path
    var texts = path.map { [$0, $0 + exclusive] } ?? []
    for text in texts { _ = group.append(text) }
    for path in paths {
      _ = legacy.append(path)
      _ = exclusiveLegacy.append(path + exclusive)
    }
    texts = [host.fence.sessionEntry, host.fence.exclusiveEntry]
    for text in texts { _ = entries.append(text) }
    var request = unsafe op_guard_request()
    unsafe request.worker = worker
    unsafe request.lease = host.lease?.page
    return unsafe group.withConstantPointers { group in
      unsafe legacy.withConstantPointers { legacy in
        unsafe exclusiveLegacy.withConstantPointers { exclusiveLegacy in
          unsafe entries.withConstantPointers { entries in
            unsafe request.group = group[0]
            unsafe request.exclusive_group = path == nil ? nil : group[1]
            unsafe request.legacy = legacy
            unsafe request.exclusive_legacy = exclusiveLegacy
            unsafe request.entry = entries[0]
            unsafe request.exclusive_entry = entries[1]
            return unsafe op_guard_start(&request, &result)
          }
        }
      }
    }
  }

  /// Whether the guard is running.
  public var isAlive: Bool {
    var request = pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&request, 1, 0) == 0
  }
}
