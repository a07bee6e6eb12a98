// All limits in one place: the sizes of messages and buffers, and the durations of steps. Tests
// check each limit and one beyond it.

public enum Limits {
  // Submissions
  /// Operations in one submission, array elements counted one by one.
  public static let operationsPerGraph = 4_000_000
  /// Operations of all living graphs together, ended ones of these included: counts of them have 32
  /// bits, in queues and in answers.
  public static let livingOperations = 4_000_000_000
  /// Operation templates (manifest operations) in one submission.
  public static let templatesPerGraph = 200_000
  /// Dependencies between templates in one submission.
  public static let groupEdgesPerGraph = 2_000_000
  /// Dependencies between operations; the top two bits of an index carry the policy.
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
  /// All secret values of a graph together. They are kept as long as the graph can be run again.
  public static let secretBytesPerGraph = 64 * 1024
  public static let customResources = 16

  // One-liners (`opbatch map`)
  /// Jobs of one graph, and the bytes of their arguments; what follows is another graph.
  public static let oneLinersPerGraph = 10_000
  public static let oneLinerBytesPerGraph = 4 * 1024 * 1024
  /// Jobs that were read and whose output is not printed yet; beyond it nothing is read.
  public static let oneLinersUnderWay = 20_000
  /// Jobs at once on one worker if as many as possible are asked for.
  public static let oneLinersAtOncePerWorker = 250

  // Operations
  /// The longest delay of an operation's start (S150): ten years.
  public static let longestDelay = Span.seconds(10 * 366 * 86_400)
  /// Outputs (`OP_OUTPUT`) of one operation; more fails the operation.
  public static let outputBytes = 64 * 1024
  /// Bytes of one content in the stores of workers: 64 TiB.
  public static let contentBytes: Int64 = 1 << 46
  /// Contents that one output may name.
  public static let contentsPerOutput = 1_000
  /// Files of dependencies that an operation declares to read, and files that it declares to leave.
  public static let inputFilesPerOperation = 1_000
  public static let outputFilesPerOperation = 100
  /// A path in an output's folder: its bytes, and the names in it.
  public static let relativePathBytes = 1_024
  /// Bytes of the path of an interpreter, or of its virtual environment: the kernel's own limit.
  public static let interpreterPathBytes = 4_095
  /// Jobs of a batch system that one allocation may have at a time.
  public static let allocatedJobs = 500
  /// A file of an allocation with its settings or its status, and a log of it that is shown.
  public static let allocationFileBytes = 1024 * 1024
  public static let allocationLogBytes = 16 * 1024 * 1024
  /// Graphs at which one look at what waits for room looks.
  public static let graphsLookedAt = 200
  /// Templates that a child process of an interpreter remembers.
  public static let templatesPerInterpreter = 1_024
  public static let pathDepth = 32
  /// What names the submitter's files of one operation, as bytes.
  public static let ownFilesBytes = 256 * 1024
  /// Contents that submitters have left, or are about to, for submissions that have not come.
  public static let placedContents = 1_000_000
  /// Contents that one client may leave at a worker at a time.
  public static let writeGrantsPerClient = 100_000
  /// Holders of one content that placement looks at.
  public static let holdersCompared = 32
  /// Dependencies by which a reusable operation is told from others; with more it runs.
  public static let reuseDependencies = 16_384
  /// How often one operation runs again because what it left is lost, without anybody having made
  /// use of that (S153); and how often without anything of its graph having ended meanwhile.
  public static let recomputations: UInt8 = 5
  public static let recomputationsInAll: UInt8 = 50
  /// Operations of which a turn sees whether what they need can be made again.
  public static let lineagesPerTurn = 256
  /// Outcomes that later operations may reuse, and the bytes of their outputs; the oldest go first.
  public static let reusableOutcomes = 65_536
  /// Graphs of which one turn cancels operations for one request.
  public static let graphsCancelledPerTurn = 512
  /// Operations that it cancels then, as far as they change one by one.
  public static let operationsCancelledPerTurn = 4_096
  /// Graphs that it looks at for that.
  public static let graphsSoughtPerTurn = 8_192
  /// Graphs that one turn suspends or resumes for one request.
  public static let graphsSuspendedPerTurn = 8_192
  /// What one turn does for the ends of operations: ends, edges of theirs (`EndSteps`).
  public static let endStepsPerTurn: UInt32 = 8_192
  /// Requests at once that need several such turns; each holds what it has still to reach.
  public static let requestsInParts = 16
  /// Those of one key that may change its own graphs alone.
  public static let requestsInPartsPerKey = 4
  /// Questions at once of what would not be done again; each holds a graph.
  public static let forecasts = 4
  /// Operations of such a graph, so that the answer is one message,
  public static let forecastOperations = 1_000_000
  /// and those that a turn looks at.
  public static let forecastOperationsPerTurn = 1_024
  public static let reusableOutputBytes = 64 * 1024 * 1024
  /// Stores in which what an operation leaves may lie.
  public static let replicas: UInt8 = 8
  /// Contents that a turn looks at for copies, and copies that are under way at a time.
  public static let replicationsPerTurn = 256
  public static let copiesUnderWay = 4_096
  /// Holders of contents that lack copies, and stores that do not take them, that a turn looks at.
  public static let replicationLooksPerTurn = 4_096
  /// Workers that drain and stay for one content that no other worker has.
  public static let workersStayingForContent = 3
  /// A local cluster that is not ready after this time is given up. Many processors' worth of other
  /// work slow a start a hundredfold, and a daemon that has ended is noticed at once.
  public static let localStart = Duration.seconds(60)
  /// A copy that has not arrived after this time, and that of its bytes at this rate, is made at
  /// another worker.
  public static let copyPatience = Span.seconds(600)
  public static let leastBytesPerSecondOfCopy: Int64 = 1 << 20
  /// Contents on their way to workers that cannot fetch them, at a time; beyond that, who waits for
  /// one fails there (S154).
  public static let deliveries = 65_536
  /// Workers through which one such content is tried.
  public static let deliveryTries = 3
  /// Pairs of a reader and a holder that it does not reach, which are remembered.
  public static let unreachedPairs = 65_536
  /// Stores to which a worker delivers at a time.
  public static let deliveriesAtOnce = 4
  /// Contents of ended graphs that are still being copied.
  public static let lastingCopies = 65_536
  /// Contents that are being copied for clients which do not reach who has them.
  public static let broughtContents = 1_024
  /// Contents of one store. What may leave leaves for new ones.
  public static let contentsPerStore = 900_000
  /// Contents of one worker that the coordinator knows; further ones are fetched by nobody. More
  /// than a store has, since it hears of what came before it hears of what left.
  public static let contentsPerWorker = 1_000_000
  /// Holders of a content that its reader is told.
  public static let holdersTold = 4
  /// Holders of a content that a worker names which cannot connect to them.
  public static let holdersReported = 16
  /// Bytes of a content in one message between stores.
  public static let contentPieceBytes = 256 * 1024
  /// Bytes of a content that are compared with its digest while others wait: some hundredths of a
  /// second.
  public static let contentBytesCheckedAtOnce: Int64 = 16 * 1024 * 1024
  /// Bytes of a content that its reader takes on their way, and those of all contents of one
  /// holder.
  public static let contentCredit: Int64 = 8 * 1024 * 1024
  /// A content of so many bytes is large: of one holder so few workers begin to read it within some
  /// time that each is a holder itself soon, and the others are told of it. These are remembered.
  public static let largeContentBytes: Int64 = 16 * 1024 * 1024
  public static let readersOfLargeContent = 3
  public static let timeOfFewReaders = Span.seconds(60)
  public static let readersToBeTold = 65_536
  /// Transfers that a holder has in hand, of one reader and of all.
  public static let transfersPerReader = 128
  public static let transfers = 1_024
  /// Grants that a holder knows; it takes no more.
  public static let contentGrants = 4_000_000
  /// A field of a typed output for commands; longer fields are only in the value.
  public static let outputFieldBytes = 4 * 1024
  /// The end of stderr that a failed attempt reports.
  public static let diagnosticBytes = 4 * 1024
  /// Losses of workers after which an operation ends as lost (S12, G17).
  public static let lossesBeforeGivingUp: UInt32 = 5
  /// An operation with more dependencies than this, those that have ended included, is never
  /// dispatched ahead of time, and neither are the dependents of one that has more of them (S151).
  public static let dependenciesForLocalUnblocking = 64
  /// Operations of one worker that are remembered because their dependents did not go ahead with
  /// them for want of room (S151).
  public static let aheadStopsPerWorker = 64
  /// Default processes and threads of one operation, if the machine can limit them (F15).
  public static let processesPerOperation = 4_096
  /// Gpus that one worker gives to operations.
  public static let gpusPerWorker = 1_024
  /// Inputs of dependencies in one dispatch.
  public static let inputBytes = 1024 * 1024

  /// Entries of a scratch folder that the worker's loop removes; another thread removes more.
  public static let entriesRemovedAtOnce = 1_000

  /// Threads of a worker that make inputs readable, and those that keep outputs.
  public static let inputThreads = 4
  public static let outputThreads = 2

  /// Distinct refusals of workers that the coordinator's log shows in ten minutes.
  public static let refusedWorkersTold = 100

  /// Attempts that survive KILL and that a worker names in a report; it names the first ones.
  public static let unkillableTold = 64

  // Conversations
  /// One message on the worker and client sockets.
  public static let messageBytes = 16 * 1024 * 1024
  /// One message of a peer that has not said hello.
  public static let helloBytes = 1024 * 1024
  /// Entries (dispatches, reports, events) in one message; a turn with more sends several.
  public static let entriesPerMessage = 65_536
  /// Pools of workers that are followed; of more, those that were not asked for are made anew.
  public static let workerPools = 64
  /// Workers in all of them together.
  public static let pooledWorkers = 262_144
  /// Operations that one reply explains.
  public static let explanationsPerReply = 100
  /// Rows of one reply; a client asks for the next page.
  public static let rowsPerReply = 1_000
  /// Rows of a reply for a client that asked for `asked` rows; 0 means the maximum.
  public static func rowsPerReply(asked: UInt32) -> Int {
    asked == 0 ? rowsPerReply : min(Int(asked), rowsPerReply)
  }
  /// Events that a subscriber may have outstanding before it must grant more credit.
  public static let eventCredit: UInt32 = 65_536
  /// Events after which a subscriber grants again; or a quarter of its credit, if that is less.
  public static let eventsPerGrant: UInt32 = 1_024
  /// Events on their way to all subscribers together. Each of many subscribers gets a share of it,
  /// at least `leastEventShare` (G29).
  public static let eventsOnTheirWay: UInt32 = 1_048_576
  public static let leastEventShare = 2 * eventsPerGrant
  /// Bytes of one subscription's selection.
  public static let subscriptionBytes = 1024 * 1024
  /// Bytes of one principal's selections, with `CoordinatorLimits.subscriptionBytesEach` each.
  public static let subscriptionBytesPerPrincipal = 8 * 1024 * 1024
  /// Bytes of all selections together (G29); a principal's first small one always fits.
  public static let subscriptionBytesTogether = 64 * 1024 * 1024
  /// Bytes that all subscriptions together cache about their selections in single graphs. Each gets
  /// a share, at least `leastScopeShare`, and looks dropped entries up again.
  public static let scopeBytesTogether = 32 * 1024 * 1024
  public static let leastScopeShare = 1024
  /// Separate parts of one graph in a subscription.
  public static let partsPerScope = 262_144
  /// Messages kept for one slow peer before it is evicted (G27, G28).
  public static let messagesPerSlowPeer = 1_024
  /// Bytes kept for one slow peer; one message always fits.
  public static let bytesPerSlowPeer = 64 * 1024 * 1024
  /// The target size of one message of orders to a worker; more orders go in several messages.
  public static let orderBytesPerMessage = 4 * 1024 * 1024
  /// Connections of one socket that the coordinator tracks, greeted or not.
  public static let peersPerSocket = 16_384
  /// The longest wait that a refusal may ask for.
  public static let longestRetryAfter = Span.seconds(3600)
  /// Frames taken from the sockets in one turn, half of them from each.
  public static let framesPerTurn = 256
  /// Bytes of the frames of one turn (a row of the journal); the excess frame is the last.
  public static let frameBytesPerTurn = 16 * 1024 * 1024
  /// Received messages of one principal that wait for their turn.
  public static let waitingFramesPerPrincipal = 4_096
  /// Bytes of the waiting messages of one principal.
  public static let waitingBytesPerPrincipal = 32 * 1024 * 1024
  /// Bytes of all waiting messages; beyond any of the three: busy. One message always fits.
  public static let waitingBytes = 64 * 1024 * 1024
  /// Workers with a conversation. Each is one connection of `peersPerSocket`, which leaves room for
  /// those that come back before their former connection is given up.
  public static let workers = 10_000
  /// Machines behind one relay.
  public static let machinesPerRelay = 1_024
  /// Ended attempts of which a relay knows the machine; for older ones it asks all machines.
  public static let endedAttemptsPerRelay = 65_536
  public static let clients = 4_096
  public static let queues = 100_000
  public static let requestsInFlightPerClient = 256
  /// Bytes of a client's requests on their way; a larger request goes alone.
  public static let requestBytesInFlight = 32 * 1024 * 1024

  /// Workers of one user on a machine that generate their names.
  public static let workersPerMachine = 64
  /// Looked-up accounts that a worker caches to run operations as them.
  public static let accountsRemembered = 1_024
  /// Accounts with lower numbers belong to the system and never run operations for a submitter,
  /// whatever the key's name (`UID_MIN` of login.defs).
  public static let lowestSubmitterUser: UInt32 = 1_000

  /// Workers that could not start an operation, after which the operation counts as at fault.
  public static let workersThatAgree = 3
  /// The time after which a submitter without a worker to leave files with asks again.
  public static let storeWait = Span.seconds(2)
  /// The time for which it counts as waiting after it has asked.
  public static let storesAreWanted = Span.seconds(30)
  /// An operation counts as started after this time: a failed start is reported sooner.
  public static let startIsCertain = Span.seconds(1)
  /// Operations of a stage that a worker could not start while nobody knows whether others can.
  /// After these the worker gets only operations that others could not start.
  public static let unsettledStarts = 8
  /// Operations that are remembered for this purpose.
  public static let unableOperationsKept = 64
  /// The first rest of a worker that could not start what others could: it gets no operations of
  /// that stage. Each further rest is twice as long.
  public static let firstRest = Span.seconds(1)
  /// The longest rest.
  public static let longestRest = Span.seconds(600)
  /// Rests after which the log reports the worker, and others no longer wait for it.
  public static let restsBeforeSetAside: UInt32 = 3
  /// The time that a worker has between two rests for the one operation that it gets.
  public static let longestTry = Span.seconds(30)
  /// Consecutive stages that a worker could not start, after which it gets no work for a rest.
  public static let stagesBeforeRest = 3
  /// Stages that are remembered per worker for this purpose.
  public static let troubledStagesKept = 64

  /// Workers that are down and still listed; the earliest lost are dropped first.
  public static let lostWorkersListed = 1_000
  /// The time after which a worker that is down is dropped from the list.
  public static let lostWorkerLife = Span.seconds(7 * 86_400)
  /// The latest workers that failed an operation; its further attempts avoid them.
  public static let workersAvoided = 16
  /// Operations that wait for a worker that has not failed them, while those that did have room; a
  /// further operation takes any worker.
  public static let operationsAvoiding = 1_000
  /// Operations that wait for a worker which may take them, for which one is looked for in a turn.
  public static let doubtfulPerTurn = 16

  /// Messages of a worker about attempts that it was never given, after which it is evicted.
  public static let liesPerWorker = 16

  /// Unread bytes of a TCP connection to the coordinator, to a store or from one, after which it is
  /// cut: twice the bytes that an obedient worker has on their way, four times those of a client.
  /// Until then libzmq buffers a message without end (A4, G33).
  public static let unheardBytes = 4 * requestBytesInFlight
  /// Bytes of one piece of a log.
  public static let logChunkBytes = 64 * 1024

  /// Runs of element numbers in one selection.
  public static let indexRunsPerSelection = 10_000
  /// Distinct steps above 1 in one selection: each costs a check of every element.
  public static let indexStepsPerSelection = 16
  /// Operations named one by one in one steering request.
  public static let operationsPerTarget = 100_000
  /// Ended graphs that one request removes.
  public static let graphsPerRemoval = 1_000
  /// Blocks of one block operation.
  public static let blocksPerOperation = 10_000

  /// Delayed operations released in one turn; the rest follows in the next turn (S150).
  public static let releasesPerTurn = 65_536
  /// Operations handed over or passed in one turn, with up to a portion more and what goes ahead
  /// with it; the rest follows in the next turn, so that others get a turn in between.
  public static let assignmentsPerTurn = 16_384

  // Refusals
  /// Operations that the text of a refusal names; it says how many more there are.
  public static let operationsNamedPerRefusal = 12
  /// Operations that a refusal carries: the first of a longer path.
  public static let operationsPerRefusal = 100

  // Keys
  /// A public key.
  public static let publicKeyBytes = 32
  /// A submission's key, prefixed by the submitter's name (G19).
  public static let ownedSubmissionKeyBytes = submissionKeyBytes + 1 + nameBytes
  /// Keys that one coordinator accepts.
  public static let allowedKeys = 10_000
  /// Invitations that are open or expired lately.
  public static let openInvitations = 1_000
  /// Keys for which one invitation may be good.
  public static let invitationUses: UInt32 = 10_000
  /// One file of keys; the longest list fits.
  public static let keyFileBytes = 4 * 1024 * 1024
  /// The record of the daemons of `opbatch up`.
  public static let daemonRecordBytes = 16 * 1024
  /// The file of an invitation's token, also when read from standard input.
  public static let joinFileBytes = 4 * 1024
  // Waiting work inside the coordinator (G27)
  /// Turns that are decided and not durable, and the bytes of their output. Beyond either, no
  /// message is read until the disk has caught up.
  public static let unreleasedTurns = 65_536
  public static let unreleasedBytes = 32 * 1024 * 1024
  /// Waiting questions to the history and their bytes, in all and per principal; beyond any of
  /// these limits the reply is busy. A principal without a waiting question may use up to twice the
  /// bytes of all.
  public static let historyQuestions = 4_096
  public static let historyQuestionBytes = 16 * 1024 * 1024
  public static let historyQuestionsPerPrincipal = 1_024
  public static let historyQuestionBytesPerPrincipal = 4 * 1024 * 1024
  /// Bytes of pieces of logs that wait for the socket to the coordinator.
  public static let logBytesOnTheWay = 64 * 1024 * 1024
  /// Unanswered requests to workers for pieces of logs; beyond it the reply is busy.
  public static let logQuestions = 4_096

  // Default quotas of one principal at the coordinator (G29)
  public static let requestsPerSecond = 20_000
  public static let requestBytesPerSecond = 128 * 1024 * 1024
  /// Unended operations of its graphs.
  public static let pendingOperations = 16_000_000
  /// Bytes of one principal's unended graphs, beyond `pendingBytesPerOperation` per operation.
  public static let pendingBytesPerPrincipal = 32 * 1024 * 1024
  /// Bytes of all unended graphs (G29). A principal's first graph always fits.
  public static let pendingBytes = 64 * 1024 * 1024
  public static let pendingBytesPerOperation = 1024
  /// Queues of its unended graphs.
  public static let queuesPerPrincipal = 25_000
  /// Bytes of outputs that one principal's unended graphs keep for their readers, beyond
  /// `keptOutputBytesPerOperation` per operation.
  public static let keptOutputBytesPerPrincipal = 32 * 1024 * 1024
  /// Bytes of all kept outputs. Others are not kept, and an operation that needs one fails.
  public static let keptOutputBytes = 64 * 1024 * 1024
  public static let keptOutputBytesPerOperation = 512
  public static let connectionsPerPrincipal = 2_048
  /// Seconds of its rates that a principal may use at once after a pause.
  public static let burstSeconds = 2
  /// Consecutive requests refused as too many, after which a peer is evicted.
  public static let refusalsInARow = 1_024
  /// The time for which an evicted peer is not let in again, if its program or key is known.
  public static let banishment = Span.seconds(5)
  /// The share of the loop's time, in percent, that a principal may take while others that take
  /// less are present.
  public static let sharePercent: Int64 = 5

  // Numbers
  /// The longest length of time, a hundred years; longer ones are clamped to it.
  public static let longestSpanNanoseconds: Int64 = 100 * 366 * 86_400 * 1_000_000_000
  /// The furthest moment of a monotonic clock from its zero: a hundred and forty years.
  public static let furthestInstantNanoseconds: Int64 = 1 << 62
  /// The last moment with a four-digit year, the end of 9999, in milliseconds.
  public static let latestWallMilliseconds: Int64 = 253_402_300_799_999
  /// The largest exit status and signal number that a system reports.
  public static let exitStatus: Int32 = 255
  public static let signal: Int32 = 127
  /// The largest measurement: bytes of memory or of a log, microseconds of processor time.
  public static let measuredAmount: UInt64 = 1 << 60
  /// The largest amount of a resource in a demand or a worker, in its smallest unit.
  public static let resourceAmount: Int64 = 1 << 60

  // Worker
  /// Bytes of unacknowledged reports; beyond it the worker starts nothing new.
  public static let unacknowledgedBytes = 64 * 1024 * 1024

  /// The default limit of a worker's logs of ended attempts; a tenth of the disk if that is less.
  public static let logBytesPerWorker: Int64 = 10 * 1024 * 1024 * 1024

  /// The default limit of a worker's store; a quarter of the disk if that is less.
  public static let storeBytes: Int64 = 50 * 1024 * 1024 * 1024

  /// Bytes of large values, in memory and in files, that a program without workers keeps after
  /// their graphs have ended.
  public static let releasedValueBytes = 1 << 30
  public static let releasedFileBytes = 8 << 30

  // Dispatch
  /// Unstarted operations that may be assigned to a worker beyond its present capacity.
  public static let prefetchPerWorker = 4_096
  /// Maximum of assigned operations of a worker when urgent ones are handed over in addition.
  public static let assignedPerWorker: UInt32 = 16_384
  /// Bytes of unstarted operations at a worker (arguments, inputs, announced templates); beyond it
  /// the worker gets no more until some have started. One attempt always fits.
  public static let assignedBytesPerWorker = 64 * 1024 * 1024

  // Memory of the past
  /// Remembered lives of the coordinator: they tell whether a peer belongs to this history.
  public static let rememberedLives = 4_096
  /// Ended graphs whose outcomes a new submission may still cite (S27).
  public static let endedGraphsRemembered = 10_000
  /// Bytes of their outputs; beyond it the oldest are dropped.
  public static let rememberedOutputBytes = 48 * 1024 * 1024
  /// The time for which a submission's key is remembered after the end of its graph (G19).
  public static let submissionKeyLife = Span.seconds(7 * 86_400)
  /// Remembered keys of ended graphs of one principal.
  public static let submissionKeysPerPrincipal = 250_000
  /// Remembered keys of all principals; the first ended are dropped first.
  public static let submissionKeysRemembered = 1_000_000
  /// The minimum number of expired keys that one turn drops.
  public static let keysForgottenAtOnce = 64
  /// Keys in one fact of a snapshot.
  public static let keysPerFact = 4_096

  // Graphs of other systems
  /// Bytes of all files of an import together, and of all texts that its macros become.
  public static let importBytes = 256 * 1024 * 1024
  /// Files of an import.
  public static let importFiles = 20_000
  /// How deep files include each other, and macros name each other.
  public static let importDepth = 32
  /// Operations of an import; an array is one.
  public static let importOperations = 200_000
  /// Dependencies of an import.
  public static let importEdges = 2_000_000
  /// Bytes of a text after its macros are expanded.
  public static let importTextBytes = 256 * 1024
  /// Remarks about what does not map that are kept; further ones are counted.
  public static let importRemarks = 1_000
}

/// The times of conversations and leases. Configurable; these are the defaults (G, HB…).
public struct Timing: Hashable, Sendable {
  /// Each side speaks at least this often (`HB`).
  public var heartbeat: Span = .seconds(1)
  /// A worker not heard of for so long gets no new work (`SUSPECT`).
  public var suspect: Span = .seconds(5)
  /// A worker not heard of for so long is lost (`LOST`, the lease).
  public var lost: Span = .seconds(15)
  /// The guard kills exclusive operations this long after the worker was last heard (`FENCE`, G16).
  public var fence: Span = .seconds(10)
  /// The time for which a started coordinator waits for the workers that it knows (`RESYNC`).
  public var resync: Span = .seconds(30)
  /// The default time from TERM to KILL (`GRACE`).
  public var grace: Span = .seconds(10)
  /// How long a worker continues without a coordinator (`ORPHAN`).
  public var orphan: Span = .seconds(24 * 3600)
  public init() {}

  /// The time that the guard may need from waking up until the last process is gone.
  public static let fenceMargin: Span = .seconds(2)

  /// Whether exclusive operations are accepted: only with a `fence` above zero.
  public var allowsExclusive: Bool { fence > .zero }

  /// Whether an exclusive operation is certainly dead at its old worker before it begins at
  /// another, with clocks that differ by a hundredth: FENCE + 2 s < 0.99 LOST, and the same for
  /// RESYNC (G16).
  public var fencesInTime: Bool {
    fence + Timing.fenceMargin < min(lost, resync) / 100 * 99
  }
}
