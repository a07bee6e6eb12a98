// The settings of a coordinator: addresses, times, limits. Made by the command or a test, never
// changed afterwards. Values only.

public import OpClusterHTTP
public import OpClusterModel
public import OpClusterZeroMQ

/// The settings of one coordinator. All except the addresses and the folder have defaults.
public struct CoordinatorSettings: Sendable {
  /// The address for clients.
  public var clientEndpoint: Endpoint
  /// The address for workers; a separate socket, so that neither side can starve the other (F40).
  public var workerEndpoint: Endpoint
  /// The journal's folder, absolute; shown to people.
  public var stateFolder: String
  /// The keys for TCP; nil: it serves only over `ipc` and `inproc`.
  public var keys: CoordinatorKeys?
  public var timing = Timing()
  /// Where figures for monitoring are served; nil: nowhere.
  public var metrics: HTTPAddress?
  /// The graphs that a submitter's key may change.
  public var steering = Steering.own
  /// Admits everybody: the proof at the start must detect it (G35).
  var admitsAll = false
  /// How long a connection may be silent, and how many silent ones one host may have; less in
  /// tests.
  var greetingPatience = CoordinatorLimits.greetingPatience
  var silentConnectionsPerHost = CoordinatorLimits.silentConnectionsPerHost
  /// A slower disk counts as slow: messages that need not wait for it do not; less in tests.
  var diskPatience = CoordinatorLimits.diskPatience
  /// The time that a turn spends on questions that look at much and find little; less in tests.
  var searchTime = CoordinatorLimits.searchTime
  /// The limit of unheard bytes that a connection may have sent; less in tests (A4).
  var unheardBytes = Limits.unheardBytes
  /// The time for which an evicted peer is not let in again; more in tests.
  var banishment = Limits.banishment

  // The journal:
  /// The number of turns until a snapshot; fewer if `snapshotBytes` are reached first.
  public var snapshotTurns = builtIn.turns
  /// The bytes of turns until a snapshot, or twice the last snapshot if that is more.
  public var snapshotBytes = builtIn.bytes
  /// The retained rows (one per turn) and bytes of the event log.
  public var streamRows = 20_000_000
  public var streamBytes = builtIn.eventBytes
  /// The retained rows and bytes of the history of attempts.
  public var chapterRows = 50_000_000
  public var chapterBytes = 16 << 30
  /// Submissions are refused while the disk has less free space; half as much is reserved in a file
  /// for operations that already run (G8).
  public var diskReserveBytes = UInt64(builtIn.diskReserve)

  // Patience:
  /// The time for a worker to send a piece of a log.
  public var logPatience = Span.seconds(10)
  /// The time that a subscriber may leave events waiting before it is put out (G28):
  public var subscriberPatience = Span.seconds(30)
  /// provided that this number of events waits.
  public var subscriberBacklog: UInt64 = 100_000

  /// The quotas of one principal (G29).
  public var quotas = Quotas()
  /// The available memory; nil: unlimited.
  public var memory: MemoryBound?

  public init(clientEndpoint: Endpoint, workerEndpoint: Endpoint, stateFolder: String) {
    self.clientEndpoint = clientEndpoint
    self.workerEndpoint = workerEndpoint
    self.stateFolder = stateFolder
  }

  /// The built-in limits of the journal, for display.
  public static let builtIn = (
    turns: 50_000, bytes: 64 << 20, eventBytes: 2 << 30, diskReserve: 64 << 20
  )

  /// TCP requires keys (G35).
  var keyProblem: String? {
    let overTCP = [clientEndpoint, workerEndpoint].first { $0.transport == .tcp }
    guard let overTCP, keys == nil else { return nil }
    return "\(overTCP) cannot be served without keys"
  }

  /// The problem of the times; nil if they are consistent.
  public var problem: String? {
    let times = [
      ("heartbeat", timing.heartbeat), ("suspect", timing.suspect), ("lost", timing.lost),
      ("resync", timing.resync), ("grace", timing.grace), ("orphan", timing.orphan),
      ("fence", timing.fence),
    ]
    for (name, time) in times where time < .zero || time > .seconds(366 * 24 * 3600) {
      return "\(name) must be between 0 and a year"
    }
    if timing.heartbeat < .milliseconds(10) { return "heartbeat must be at least 0.01 s" }
    if timing.suspect < timing.heartbeat { return "suspect must not be shorter than heartbeat" }
    if timing.lost <= timing.suspect { return "lost must be longer than suspect" }
    guard timing.allowsExclusive, !timing.fencesInTime else { return nil }
    return "fence + 2 must be below 0.99 times lost and resync, so that an exclusive operation is "
      + "dead at one worker before it begins at another; or set fence to 0 to take none"
  }
}

/// Limits of the body in addition to `Limits`.
enum CoordinatorLimits {
  /// Shared queues that have figures of their own for monitoring, and the queues that are looked at
  /// to find them.
  static let queuesInMetrics = 100
  static let queuesLookedAtForMetrics = 1_000
  /// Simultaneous subscriptions of one client.
  static let subscriptionsPerClient = 64
  /// Of these, subscriptions to the client's own graphs: each remembers all living ones.
  static let ownSubscriptionsPerClient = 4
  /// The approximate bytes of a subscription besides its selection; and the size up to which the
  /// first subscription of a principal is accepted under any load.
  static let subscriptionBytesEach = 512
  static let smallSubscriptionBytes = 4 * 1024
  /// The bytes of graph scopes in one slice of the event log, before the slice ends.
  static let scopeBytesPerSlice = 4 * 1024 * 1024
  /// The rows and bytes of the event log in one slice of a backlog.
  static let sliceRows = 256
  static let sliceBytes = 256 * 1024
  /// The event runs and events in one row of the event log.
  static let runsPerRow = 65_536
  static let eventsPerRow: UInt64 = 1_000_000
  /// The members of a graph that share a chapter of history.
  static let membersPerChapter: UInt32 = 4_096
  /// The ended graphs whose submissions the reader keeps decoded.
  static let outlinesKept = 4
  /// The bytes that a question to the history may read before the next question's turn, and the
  /// weight of one look-up in addition to its bytes.
  static let historyStepBytes = 256 * 1024
  static let historyLookupBytes = 1_024
  /// The questions of one principal that are answered in turns; its others wait behind them.
  static let historyQuestionsAtOnce = 4
  /// The pause between two checks of a few rows of the history, and the pause between the last rows
  /// and the first.
  static let lookPause = Span.milliseconds(50)
  static let inspectionRest = Span.seconds(3_600)
  /// The characters of a history problem in answers; the log has all of it.
  static let problemLength = 200
  /// The time that a turn spends on hearing clients, unless one message takes longer; and the most
  /// of it, where the rest of a turn takes as long.
  static let hearingTime = Span(nanoseconds: 250_000)
  static let longestHearing = Span.milliseconds(1)
  /// The time that it spends on questions that look at much and find little, unless one step takes
  /// longer; the looks of a step; and the unfinished questions that one principal may have.
  static let searchTime = Span.milliseconds(2)
  static let looksAtOnce = 1_024
  static let unfinishedSearches = 16
  /// The same of all together; each keeps its question, and what it found.
  static let allUnfinishedSearches = 128
  /// A disk without a confirmation for this time is slow, and waiting clients are told.
  static let diskPatience = Span.seconds(1)
  /// The most graphs in a question that is answered while the disk is slow.
  static let graphsAnsweredEarly = 64
  /// The frames of a client that was put out, or sends no hello, until its connection is cut.
  static let framesInVain = 64
  /// The time that a connection may be without a message:
  static let greetingPatience = Span.seconds(30)
  /// and the number of such connections from one address, or one process of this machine.
  static let silentConnectionsPerHost = 4_096
  /// The pause between two checks of unheard bytes: one system call per connection, so that ten
  /// thousand cost less than a hundredth of a processor.
  static let trafficLookPause = Span.milliseconds(500)
  /// The pause before another attempt to send to a peer that cannot receive.
  static let retryPause = Span.milliseconds(5)
  /// The largest message, in bytes, that the loop decodes itself: some 700 templates, two
  /// milliseconds. Larger ones are decoded by a thread of their own.
  static let framesHeardAtOnce = 64 << 10
  /// The most operations with edges whose plan the loop makes itself: a table of edges costs 20 ns
  /// for each of them, however small the message is.
  static let operationsPlannedAtOnce = 1 << 16
  /// The most stages of a living graph whose structure the loop tells itself; of larger ones the
  /// history's thread does.
  static let stagesToldAtOnce = 1_000
  /// The minimal pause between two ticks, whatever the scheduler requests.
  static let tickPause = Span.milliseconds(5)
  /// The pause between probes of an idle client, which find out whether it is still there.
  static let probePause = Span.seconds(30)
  /// The messages that may wait for the loop's thread; the journal's queue is smaller.
  static let notices = 1 << 18

  /// The constants of `FairRequestQueue`, which its formula names; the share is
  /// `Limits.sharePercent`.
  enum FairQueue {
    /// The largest small frame.
    static let smallFrameBytes = 16 << 10
    /// The largest request that gives something back.
    static let givingBackBytes = 64
    /// A principal with more waiting frames asks for more than it is given.
    static let manyWaiting = 16
    /// The weight of large frames, and of principals with many waiting frames, in the comparison of
    /// use: nobody else is heard during a large frame, and without the weight a principal that asks
    /// without end would have as much as any other.
    static let heavyWeight = 2.0
    /// The time in which use fades linearly to zero.
    static let fadingSeconds = 2.0
    /// The debt that holds nobody back, for either size.
    static let burst = Span.milliseconds(20)
    /// The largest debt of a principal without a lighter one beside it.
    static let mostAlone = Span.milliseconds(40)
    /// The largest debt for more than one frame: a principal that was the lightest for a while,
    /// beside heavy ones, is not held back for long when a lighter one arrives.
    static let mostTogether = Span.milliseconds(100)
    /// The time since its last hearing in which a principal counts as present. Only idle time of
    /// the loop counts: nobody can be heard during a long turn, which would make all others absent.
    static let presence = Span.milliseconds(100)
    /// The pause between two searches for the lightest principal.
    static let comparisonPause = Span.milliseconds(1)
    /// The expected time of a question before the first one was answered.
    static let firstQuestion = Span(nanoseconds: 500_000)
  }
}
