// A worker of the simulated world as a value: its machine, its clock, its core and its processes.
// Owned by the world, driven by its shell.

import OpClusterExecution
import OpClusterModel

/// What a machine has on its disk; it outlives the worker's processes.
struct SimulatedStore {
  /// The output file that some operations leave; others leave a value.
  static let fileName = "f"
  var contents: [ContentDigest: StoredContent] = [:]
  /// What has to stay.
  var kept: Set<ContentDigest> = []
  /// What has to stay again, by an order of this conversation that has not come yet. What leaves
  /// before it comes, is reported as lost.
  var retained: [ContentDigest: Conversation] = [:]
  /// What others may read, by reader.
  var grants: [[UInt8]: Set<ContentDigest>] = [:]
  /// What others may leave in it, by their keys.
  var writers: [[UInt8]: Set<ContentDigest>] = [:]
  /// What the worker wants, and from whom.
  var fetches: [ContentDigest: [ContentSource]] = [:]
}

/// A machine with successive worker processes.
struct Worker {
  let name: String
  let machine: Plan.Machine
  /// nil: no worker process runs.
  var core: ExecutionCore?
  var life = 0
  var session = WorkerSession(0)
  var connection: Int?
  /// The newest of its connections over which the coordinator has received anything.
  var newestHeard = 0
  var pausedUntil = Instant.zero
  /// The moment when its clock was right; from then on it drifts with its machine's.
  var bornAt = Instant.zero
  /// How long it stays away after leaving in good order.
  var returnsAfter = Span.seconds(5)
  var plannedTurn: Instant?
  var inbox: [Input] = []
  var turns = 0
  var idleTurns = Idleness()
  var reports = ReportPace(at: .zero)
  /// In the order of their launches.
  var processes: [Process] = []
  /// What its disk has; a new process finds it.
  var store = SimulatedStore()
  /// By the number that the core gives them.
  var templates: [TemplateAnnouncement?] = []
  /// The newest conversation that it was welcomed to.
  var lastConversation: Conversation?
  /// The time of sending of the newest message that renewed its lease.
  var heardWordOf = Instant.zero
  /// The time of handling that message, by its own clock.
  var heardAt = Instant.zero
  /// Whether it asks what still belongs to it: it was told that its conversation is unknown, or its
  /// hello is not answered.
  var isOwnershipInDoubt = false
  /// The next check of its guard.
  var guardLooksAt: Instant?
  /// For mutants: the newest obeyed orders, and the recalls that it answered falsely.
  var obeyed: UInt64 = 0
  var falselyRecalled: [AttemptID] = []

  enum Input {
    case frame(Delivery)
    case broken(Int)
    case ended(AttemptID, AttemptResult)
    case stop
    case gained(StoredContent)
    case lost(ContentDigest)
    case missed(StoredContent, ContentMiss)
    case undelivered(FailedDelivery)
  }
  struct Process {
    var attempt: AttemptID
    /// The session that launched it.
    var session: WorkerSession
    var demand: Resources
    var course: Course
    /// nil: it hangs until it is killed.
    var endsAt: Instant?
    var isAskedToStop = false
    /// Whether its operation must never run twice at once (G16).
    var isExclusive = false
  }
}

extension Worker {
  /// The time that its clock shows at a moment (G31: each machine has its own clock).
  func clock(_ moment: Instant) -> Instant {
    if machine.drift == 0 { return moment }
    let since = (moment - bornAt).nanoseconds
    return moment + Span(nanoseconds: since / 10_000 * Int64(machine.drift))
  }
  /// The moment at which its clock shows a time, or a little later.
  func moment(of shown: Instant) -> Instant {
    if machine.drift == 0 { return shown }
    let since = (shown - bornAt).nanoseconds
    return bornAt + Span(nanoseconds: since / Int64(10_000 + machine.drift) * 10_000 + 20_000)
  }
}
