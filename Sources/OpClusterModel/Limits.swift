// Every bound in one place. A number here is what a peer may send, what a
// buffer may hold, or how long something may take. Tests stand at each limit and one past it.

public enum Limits {
  // Submissions
  /// Operations in one submission, array elements counted one by one.
  public static let operationsPerGraph = 4_000_000
  /// Operation templates (manifest operations) in one submission.
  public static let templatesPerGraph = 200_000
  /// Dependencies between templates in one submission.
  public static let groupEdgesPerGraph = 2_000_000
  /// Dependencies between single operations in one submission (the top two bits of an index
  /// carry the policy).
  public static let elementEdgesPerGraph = 16_000_000
  /// Queues declared by one submission.
  public static let queuesPerGraph = 256
  /// Parts of one graph with a failure policy of their own.
  public static let failureScopesPerGraph = 4_096
  /// Opaque bytes of one template (a command with its environment).
  public static let payloadBytes = 256 * 1024
  /// Opaque bytes of one array element (its item).
  public static let elementArgumentBytes = 64 * 1024
  public static let submissionKeyBytes = 128
  public static let nameBytes = 128
  public static let labelBytes = 256
  public static let reasonBytes = 1024
  public static let labelsPerThing = 64
  public static let secretsPerGraph = 256
  /// Of all together: they are kept as long as the graph can be done again.
  public static let secretBytesPerGraph = 64 * 1024
  public static let customResources = 16

  // Operations
  /// How far away the moment may be before which an operation does not start (S150): ten years.
  public static let longestDelay = Span.seconds(10 * 366 * 86_400)
  /// Outputs (`OP_OUTPUT`) of one operation; more is a failure of the operation.
  public static let outputBytes = 64 * 1024
  /// A field of a typed output that commands can read by itself; longer ones are in the value only.
  public static let outputFieldBytes = 4 * 1024
  /// End of stderr that travels with a failed attempt.
  public static let diagnosticBytes = 4 * 1024
  /// Losses of its worker after which an operation ends as lost (S12, G17).
  public static let lossesBeforeGivingUp: UInt32 = 5
  /// An operation with more dependencies than this is never dispatched ahead of time (S151).
  public static let dependenciesForLocalUnblocking = 64
  /// Processes and threads that one operation may have at once, where the worker's machine can
  /// bound them (F15); a worker may be told otherwise.
  public static let processesPerOperation = 4_096
  /// Gpus that one worker gives to operations, each with a name.
  public static let gpusPerWorker = 1_024
  /// Inputs from dependencies that travel with one dispatch.
  public static let inputBytes = 1024 * 1024

  /// Entries of a command's scratch folder that the worker's loop itself removes after it; a folder
  /// with more is left to another thread.
  public static let entriesRemovedAtOnce = 1_000

  /// Different words of refusals that the coordinator's log tells of workers in ten minutes.
  public static let refusedWorkersTold = 100

  /// Attempts that KILL does not end, as a worker names them in a report; of more it tells the
  /// first.
  public static let unkillableTold = 64

  // Conversations
  /// One message on the worker and client sockets.
  public static let messageBytes = 16 * 1024 * 1024
  /// One message a peer may send that has not said hello.
  public static let helloBytes = 1024 * 1024
  /// Entries (dispatches, reports, events) in one message; a turn with more sends several.
  public static let entriesPerMessage = 65_536
  /// Rows of one reply; a client asks for the next page.
  public static let rowsPerReply = 1_000
  /// Rows of the reply to whoever asked for so many; 0: as many as there may be.
  public static func rowsPerReply(asked: UInt32) -> Int {
    asked == 0 ? rowsPerReply : min(Int(asked), rowsPerReply)
  }
  /// Events a subscriber may have outstanding before it must grant more credit.
  public static let eventCredit: UInt32 = 65_536
  /// A subscriber grants anew when it has read so many, or a quarter of its credit…
  public static let eventsPerGrant: UInt32 = 1_024
  /// …since all subscribers together have about so many events on their way to them: where they
  /// are many, each has a share of it, but never less than `leastEventShare` (G29).
  public static let eventsOnTheirWay: UInt32 = 1_048_576
  public static let leastEventShare = 2 * eventsPerGrant
  /// Bytes of what one subscription selects…
  public static let subscriptionBytes = 1024 * 1024
  /// …all of one principal, each subscription counting `CoordinatorLimits.subscriptionBytesEach`
  /// besides…
  public static let subscriptionBytesPerPrincipal = 8 * 1024 * 1024
  /// …and all together (G29); the first small one of each always fits.
  public static let subscriptionBytesTogether = 64 * 1024 * 1024
  /// What all subscriptions together keep of what their selections mean in single graphs; each has
  /// a share, but never less than `leastScopeShare`, and looks up again what it let go of.
  public static let scopeBytesTogether = 32 * 1024 * 1024
  public static let leastScopeShare = 1024
  /// Separate parts of one graph that a subscription may select.
  public static let partsPerScope = 262_144
  /// Messages kept for one peer that does not read, before it is put out (G27, G28)…
  public static let messagesPerSlowPeer = 1_024
  /// …and their bytes; one message always fits.
  public static let bytesPerSlowPeer = 64 * 1024 * 1024
  /// Bytes of orders that one message to a worker aims at; more goes in several, in order.
  public static let orderBytesPerMessage = 4 * 1024 * 1024
  /// Connections of one socket that the coordinator keeps in mind, greeted or not.
  public static let peersPerSocket = 16_384
  /// The longest that a refusal may ask for before the next try.
  public static let longestRetryAfter = Span.seconds(3600)
  /// Frames taken from the sockets in one turn, half of them from each…
  public static let framesPerTurn = 256
  /// …and their bytes; the frame that goes beyond is the last. A turn is one row of the journal.
  public static let frameBytesPerTurn = 16 * 1024 * 1024
  /// Received messages of one principal that wait for their turn…
  public static let waitingFramesPerPrincipal = 4_096
  /// …their bytes…
  public static let waitingBytesPerPrincipal = 32 * 1024 * 1024
  /// …and those of all together; beyond any of these: busy. One message always fits.
  public static let waitingBytes = 64 * 1024 * 1024
  public static let workers = 4_096
  public static let clients = 4_096
  public static let queues = 100_000
  public static let requestsInFlightPerClient = 256
  /// Bytes of requests that a client has on their way; a larger one goes alone.
  public static let requestBytesInFlight = 32 * 1024 * 1024

  /// Workers of one user on a machine that make up their names.
  public static let workersPerMachine = 64
  /// Accounts that a worker remembers of those that it has looked up to run operations as.
  public static let accountsRemembered = 1_024
  /// Accounts with lower numbers belong to the system: no submitter is one, whatever his key is
  /// called (`UID_MIN` of login.defs).
  public static let lowestSubmitterUser: UInt32 = 1_000

  /// Workers that could not start an operation, after which it is the operation's own fault.
  public static let workersThatAgree = 3
  /// What a worker can have started without saying so soon that it could not.
  public static let startIsCertain = Span.seconds(1)
  /// Operations of a stage that a worker could not start, while nobody knows whether others can,
  /// after which it is given those alone that others could not start…
  public static let unsettledStarts = 8
  /// …and that are remembered.
  public static let unableOperationsKept = 64
  /// A worker that could not start what others could gets nothing of that stage for so long, twice
  /// as long after each further one…
  public static let firstRest = Span.seconds(1)
  /// …up to this…
  public static let longestRest = Span.seconds(600)
  /// …and the log tells of it at so many. Others do not wait for it any more.
  public static let restsBeforeSetAside: UInt32 = 3
  /// Between two rests it has so long for the one operation that it is given.
  public static let longestTry = Span.seconds(30)
  /// Stages of which a worker could not start operations, in a row, after which it is set aside: it
  /// gets nothing at all for as long.
  public static let stagesBeforeRest = 3
  /// Stages that are remembered of a worker for that.
  public static let troubledStagesKept = 64

  /// Workers that are down, as far as they are listed; the first ones lost go first…
  public static let lostWorkersListed = 1_000
  /// …and each after so long.
  public static let lostWorkerLife = Span.seconds(7 * 86_400)
  /// Workers that failed an operation, and that its further attempts keep away from; of more, those
  /// that failed it last.
  public static let workersAvoided = 16
  /// Operations that wait for another worker than those that failed them, while there is room at
  /// these; a further one takes any.
  public static let operationsAvoiding = 1_000

  /// Words of a worker about attempts that were never given to it, after which it is put out.
  public static let liesPerWorker = 16

  /// What a connection over TCP may have sent to the coordinator that was not heard yet, before it
  /// is cut: twice what a worker that obeys has on its way, four times what a client has. A message
  /// that never ends grows in libzmq until then (A4, G33).
  public static let unheardBytes = 4 * requestBytesInFlight
  /// Bytes of one piece of a log.
  public static let logChunkBytes = 64 * 1024

  /// Runs of element numbers in one selection…
  public static let indexRunsPerSelection = 10_000
  /// …and different steps beyond 1 among them: each costs a look at every element.
  public static let indexStepsPerSelection = 16
  /// Operations that one steering request may name one by one.
  public static let operationsPerTarget = 100_000
  /// Ended graphs that one request removes.
  public static let graphsPerRemoval = 1_000
  /// Blocks of one block operation.
  public static let blocksPerOperation = 10_000

  /// Delayed operations that are let go in one turn; the rest follows in the next (S150).
  public static let releasesPerTurn = 65_536

  // Keys
  /// A public key.
  public static let publicKeyBytes = 32
  /// A submission's key with the name of who submitted in front (G19).
  public static let ownedSubmissionKeyBytes = submissionKeyBytes + 1 + nameBytes
  /// Keys that one coordinator lets in.
  public static let allowedKeys = 10_000
  /// Invitations that are open, or expired lately.
  public static let openInvitations = 1_000
  /// One file of keys; the longest list fits.
  public static let keyFileBytes = 4 * 1024 * 1024
  /// The record of the daemons that `opbatch up` has left in the background.
  public static let daemonRecordBytes = 16 * 1024
  /// A file that holds the token of an invitation, and what is read of one from standard input.
  public static let joinFileBytes = 4 * 1024
  // What waits inside the coordinator (G27)
  /// Turns decided and not yet durable, and the bytes of what they want to say; beyond either
  /// nobody is listened to until the disk has caught up.
  public static let heldTurns = 65_536
  public static let heldBytes = 32 * 1024 * 1024
  /// Questions to the history that wait, and what they carry along, all of them and those of one
  /// principal; beyond any of these: busy, but for who has none waiting, up to twice
  /// the bytes of all.
  public static let historyQuestions = 4_096
  public static let historyQuestionBytes = 16 * 1024 * 1024
  public static let historyQuestionsPerPrincipal = 1_024
  public static let historyQuestionBytesPerPrincipal = 4 * 1024 * 1024
  /// Pieces of logs asked of workers and not answered; beyond it: busy.
  public static let logQuestions = 4_096

  // What one principal may take of the coordinator, unless configured otherwise (G29)
  public static let requestsPerSecond = 20_000
  public static let requestBytesPerSecond = 128 * 1024 * 1024
  /// Operations of its graphs that have not ended.
  public static let pendingOperations = 16_000_000
  /// Bytes of graphs that have not ended, beyond `pendingBytesPerOperation` for each of their
  /// operations: of one principal…
  public static let pendingBytesPerPrincipal = 32 * 1024 * 1024
  /// …and of all together; the memory that long commands and arguments take (G29). The first
  /// graph of each always fits.
  public static let pendingBytes = 64 * 1024 * 1024
  public static let pendingBytesPerOperation = 1024
  /// Queues that came with its graphs that have not ended.
  public static let queuesPerPrincipal = 25_000
  /// Bytes of outputs that graphs which have not ended keep for those who read them, beyond
  /// `keptOutputBytesPerOperation` for each of their operations: of one principal…
  public static let keptOutputBytesPerPrincipal = 32 * 1024 * 1024
  /// …and of all together; an output beyond either is not kept, and who would read it fails.
  public static let keptOutputBytes = 64 * 1024 * 1024
  public static let keptOutputBytesPerOperation = 512
  public static let connectionsPerPrincipal = 2_048
  /// Seconds of its rates that a principal may use at once after a pause.
  public static let burstSeconds = 2
  /// Requests refused as too many in a row; who goes on in spite of it is put out…
  public static let refusalsInARow = 1_024
  /// …and, where its program or key is known, not let in again for so long.
  public static let banishment = Span.seconds(5)
  /// Of the loop's time, in hundredths, that a principal may take while others who take less are
  /// there.
  public static let sharePercent: Int64 = 5

  // Numbers
  /// No length of time is longer; what is said to be longer is taken as this: a hundred years.
  public static let longestSpanNanoseconds: Int64 = 100 * 366 * 86_400 * 1_000_000_000
  /// No moment of a monotonic clock is further from its zero: a hundred and forty years.
  public static let furthestInstantNanoseconds: Int64 = 1 << 62
  /// The last moment that a date of four digits can name: the end of 9999, in milliseconds.
  public static let latestWallMilliseconds: Int64 = 253_402_300_799_999
  /// The largest exit status and the largest number of a signal that a system reports.
  public static let exitStatus: Int32 = 255
  public static let signal: Int32 = 127
  /// What a measurement can come to: bytes of memory or of a log, microseconds of processor time.
  public static let measuredAmount: UInt64 = 1 << 60
  /// The largest amount of a resource that a demand or a worker may name, in its smallest unit.
  public static let resourceAmount: Int64 = 1 << 60

  // Worker
  /// Bytes of reports that the coordinator has not acknowledged; beyond it nothing new is started.
  public static let unacknowledgedBytes = 64 * 1024 * 1024

  /// What logs of ended attempts may take of a worker's disk where nobody says it, if that is not
  /// more than a tenth of the disk.
  public static let logBytesPerWorker: Int64 = 10 * 1024 * 1024 * 1024

  // Dispatch
  /// Unstarted operations a worker may hold beyond what it can run at once.
  public static let prefetchPerWorker = 4_096
  /// What goes first is handed over beside what a worker has fetched ahead, up to so many in all.
  public static let heldPerWorker: UInt32 = 16_384
  /// Bytes of what a worker holds unstarted (arguments, inputs, templates told along); beyond it
  /// nothing more is handed to it until some has started. One attempt always fits.
  public static let heldBytesPerWorker = 64 * 1024 * 1024

  // Memory of what was
  /// Lives of the coordinator remembered, so that whoever was told something in one of them is
  /// known to be right or of another history.
  public static let rememberedLives = 4_096
  /// Ended graphs whose outcomes may still be cited by a new submission (S27).
  public static let endedGraphsRemembered = 10_000
  /// Bytes of their outputs; beyond it those of the oldest are let go.
  public static let rememberedOutputBytes = 48 * 1024 * 1024
  /// A submission's key is remembered so long from the end of its graph (G19)…
  public static let submissionKeyLife = Span.seconds(7 * 86_400)
  /// …but of graphs that have ended not more than these of one principal…
  public static let submissionKeysPerPrincipal = 250_000
  /// …and of all together; the first ended go first.
  public static let submissionKeysRemembered = 1_000_000
  /// Keys whose time is over that are let go of in one turn, at least.
  public static let keysForgottenAtOnce = 64
  /// Keys in one fact of a snapshot.
  public static let keysPerFact = 4_096
}

/// The times that conversations and leases go by; configurable, these are the defaults (G, HB…).
public struct Timing: Hashable, Sendable {
  /// Each side speaks at least this often (`HB`).
  public var heartbeat: Span = .seconds(1)
  /// A worker not heard of for so long gets no new work (`SUSPECT`).
  public var suspect: Span = .seconds(5)
  /// A worker not heard of for so long is lost (`LOST`, the lease).
  public var lost: Span = .seconds(15)
  /// An exclusive operation is killed by its worker's guard so long after the coordinator last
  /// heard of the worker (`FENCE`, G16).
  public var fence: Span = .seconds(10)
  /// After its start the coordinator waits so long for the workers it knows (`RESYNC`).
  public var resync: Span = .seconds(30)
  /// TERM to KILL, where the operation does not say otherwise (`GRACE`).
  public var grace: Span = .seconds(10)
  /// How long a worker keeps working without a coordinator (`ORPHAN`).
  public var orphan: Span = .seconds(24 * 3600)
  public init() {}

  /// What the guard may take from waking up to the last process being gone.
  public static let fenceMargin: Span = .seconds(2)

  /// Whether exclusive operations are taken at all: not with a `fence` of zero.
  public var allowsExclusive: Bool { fence > .zero }

  /// Whether an exclusive operation is surely dead at its old worker before it begins at another,
  /// with clocks that differ by a hundredth: FENCE + 2 s < 0.99 LOST, and as much for RESYNC (G16).
  public var fencesInTime: Bool {
    fence + Timing.fenceMargin < min(lost, resync) / 100 * 99
  }
}
