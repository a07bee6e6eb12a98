// What a row of the fault table is: its promise, what is injected, and the run that shows whether
// the promise holds. Values; the lists are in the files of the sections, the command runs them.

import Glibc
import RealCluster

/// One fault to survive (Faults.md).
struct FaultRow: Sendable {
  /// `F1`
  var number: String
  var name: String
  /// The guarantees that the row shows, by number.
  var promise: String
  var injection: String
  /// What this machine must have for it.
  var needs: [Need] = []
  /// Whether a short form belongs to the test command.
  var isShort = false
  var run: @Sendable (Trial) async throws -> Void

  /// Those in which somebody means ill; `deploy/attacks` runs them.
  static let attacks: [FaultRow] = [
    numberAttack, costAttack, observerAttack, workerAttack, localUserAttack, nameAttack,
  ]

  static let all: [FaultRow] =
    attacks + processRows + standstillRows + diskRows + storageRows + networkRows + fileRows
    + transferRows
    + clockRows
    + hostileRows
    + boundRows + unitRows
}

/// Something that not every machine has.
enum Need: Sendable {
  /// Namespaces and mounts; root, in a mount namespace of the command's own.
  case ownNamespaces
  /// A C compiler, for the disk that fails on command.
  case compiler
  case loopDevice
  /// A tree of cgroups that can bound the number of processes.
  case processLimits
  /// To hold a thread of another process.
  case tracing
  /// To start a program as somebody else.
  case otherUsers

  /// Why it is missing; nil if it is there.
  var absence: String? {
    switch self {
    case .ownNamespaces:
      Surroundings.hasOwnMounts
        ? nil : "needs root and mount namespaces (deploy/faults makes them)"
    case .compiler: Surroundings.compiler == nil ? "needs clang or cc in PATH" : nil
    case .loopDevice: Surroundings.hasLoopDevices ? nil : "this kernel has no loop devices"
    case .processLimits:
      Fold.place == nil ? "needs root and a pids controller of cgroups" : nil
    case .tracing: geteuid() == 0 ? nil : "needs root, to hold a thread of a worker"
    case .otherUsers:
      geteuid() == 0 && Surroundings.program("setpriv") != nil
        ? nil : "needs root and setpriv, to be two users"
    }
  }
}

/// How much of a row is run.
struct Scale: Sendable {
  /// A few seconds a row, for the test command.
  var isShort: Bool
  /// Of the full counts, 0…1.
  var part: Double

  /// A count for the full run, and one for the short one.
  func count(_ full: Int, short: Int) -> Int {
    isShort ? short : max(short, Int(Double(full) * part))
  }

  /// How long something may take, in seconds: what is promised, or more of it, since the test
  /// command runs beside other work.
  func time(_ promised: Double) -> Double { isShort ? promised * 5 : promised }

  /// The load of the table, or a small one.
  var load: LoadShape {
    isShort
      ? LoadShape(graphs: 8, operationsPerGraph: 20, longest: 0.2)
      : LoadShape(graphs: max(5, Int(50 * part)), operationsPerGraph: 40, longest: 2)
  }

  /// The cluster's times: those of the table, or a tenth.
  var timing: Times {
    isShort
      ? Times(heartbeat: 0.2, suspect: 0.6, lost: 1.5, resync: 5, grace: 1)
      : Times(heartbeat: 1, suspect: 5, lost: 15, resync: 30, grace: 10)
  }
}

/// Seconds.
struct Times: Sendable {
  var heartbeat: Double
  var suspect: Double
  var lost: Double
  var resync: Double
  var grace: Double

  var flags: [String] {
    [
      "--heartbeat", "\(heartbeat)", "--suspect", "\(suspect)", "--lost", "\(lost)", "--resync",
      "\(resync)", "--grace", "\(grace)",
    ]
  }
}
