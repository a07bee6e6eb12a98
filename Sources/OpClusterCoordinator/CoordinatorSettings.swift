// What a coordinator is told at its start: addresses, times, bounds. Made by the command or a test,
// never changed afterwards. Values only.

public import OpClusterModel
public import OpClusterZeroMQ

/// The settings of one coordinator. Everything but the addresses and the folder has a default.
public struct CoordinatorSettings: Sendable {
  /// Where clients connect to.
  public var clientEndpoint: Endpoint
  /// Where workers connect to; another socket, so that neither side can starve the other (F40).
  public var workerEndpoint: Endpoint
  /// The journal's folder, absolute; shown to people.
  public var stateFolder: String
  /// For TCP; nil: it serves over `ipc` and `inproc` only.
  public var keys: CoordinatorKeys?
  public var timing = Timing()
  /// Whose graphs a submitter's key may change.
  public var steering = Steering.own
  /// Lets everybody in: the proof at the start must find out (G35).
  var admitsAll = false
  /// How long a connection may say nothing, and how many such one host may have; less in tests.
  var greetingPatience = CoordinatorLimits.greetingPatience
  var silentConnectionsPerHost = CoordinatorLimits.silentConnectionsPerHost
  /// A disk that takes longer is slow: what need not wait for it does not; less in tests.
  var diskPatience = CoordinatorLimits.diskPatience
  /// What a connection may have sent that nobody could hear; less in tests (A4).
  var unheardBytes = Limits.unheardBytes

  // The journal
  /// Turns after which a snapshot is taken; fewer if `snapshotBytes` are reached first.
  public var snapshotTurns = builtIn.turns
  /// Bytes of turns after which a snapshot is taken, or twice the last snapshot if that is more.
  public var snapshotBytes = builtIn.bytes
  /// Rows (one a turn) and bytes of the event log that are kept.
  public var streamRows = 20_000_000
  public var streamBytes = builtIn.eventBytes
  /// Rows and bytes of the history of attempts that are kept.
  public var chapterRows = 50_000_000
  public var chapterBytes = 16 << 30
  /// Submissions are refused while the disk has less than this; half as much is kept beside it, in
  /// a file, for what runs already (G8).
  public var diskReserveBytes = UInt64(builtIn.diskReserve)

  // Patience
  /// How long a worker may take to send a piece of a log.
  public var logPatience = Span.seconds(10)
  /// How long a subscriber may leave events waiting before it is put out (G28)…
  public var subscriberPatience = Span.seconds(30)
  /// …provided that so many are waiting.
  public var subscriberBacklog: UInt64 = 100_000

  /// What one principal may take (G29).
  public var quotas = Quotas()
  /// How much memory there is; nil: as much as it takes.
  public var memory: MemoryBound?

  public init(clientEndpoint: Endpoint, workerEndpoint: Endpoint, stateFolder: String) {
    self.clientEndpoint = clientEndpoint
    self.workerEndpoint = workerEndpoint
    self.stateFolder = stateFolder
  }

  /// The built-in bounds of the journal, for whoever shows them.
  public static let builtIn = (
    turns: 50_000, bytes: 64 << 20, eventBytes: 2 << 30, diskReserve: 64 << 20
  )

  /// Over TCP there is no way without keys (G35).
  var keyProblem: String? {
    let overTCP = [clientEndpoint, workerEndpoint].first { $0.transport == .tcp }
    guard let overTCP, keys == nil else { return nil }
    return "\(overTCP) cannot be served without keys"
  }

  /// What is wrong with the times; nil when they can be lived by.
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

/// Bounds of this body beside `Limits`.
enum CoordinatorLimits {
  /// Subscriptions of one client at once.
  static let subscriptionsPerClient = 64
  /// Of these, such as follow the client's own graphs: each remembers all that live.
  static let ownSubscriptionsPerClient = 4
  /// What a subscription takes beside what it selects, about; and up to how much the first one of a
  /// principal is taken however full it is.
  static let subscriptionBytesEach = 512
  static let smallSubscriptionBytes = 4 * 1024
  /// What is found out about graphs in one slice of the event log, before it ends.
  static let scopeBytesPerSlice = 4 * 1024 * 1024
  /// Rows and bytes of the event log in one slice of a backlog.
  static let sliceRows = 256
  static let sliceBytes = 256 * 1024
  /// Event runs and events in one row of the event log.
  static let runsPerRow = 65_536
  static let eventsPerRow: UInt64 = 1_000_000
  /// Members of a graph whose history shares a chapter.
  static let membersPerChapter: UInt32 = 4_096
  /// Ended graphs whose submission the reader keeps decoded.
  static let outlinesKept = 4
  /// What a question to the history may read before the next one's turn, and what looking one thing
  /// up counts beside its bytes.
  static let historyStepBytes = 256 * 1024
  static let historyLookupBytes = 1_024
  /// Questions of one principal that are answered by turns; its others wait behind them.
  static let historyQuestionsAtOnce = 4
  /// Between two looks at a few rows of the history, and between the last of them and the first
  /// ones again.
  static let lookPause = Span.milliseconds(50)
  static let inspectionRest = Span.seconds(3_600)
  /// Characters of what is wrong with the history, for whoever asks; the log has all of it.
  static let problemLength = 200
  /// Explanations in one reply.
  static let explanations = 100
  /// Time that a turn spends on hearing clients, unless one message takes longer.
  static let hearingTime = Span(nanoseconds: 250_000)
  /// A disk that has not confirmed something for so long is slow, and waiting clients are told.
  static let diskPatience = Span.seconds(1)
  /// Graphs that a question may mean to be answered while the disk is slow.
  static let graphsAnsweredEarly = 64
  /// Frames of a client that was put out, or does not say hello, after which its connection is cut.
  static let framesInVain = 64
  /// How long a connection may be there without a message…
  static let greetingPatience = Span.seconds(30)
  /// …and how many such may come from one address, or one process of this machine.
  static let silentConnectionsPerHost = 4_096
  /// Between two looks at what connections have sent and nobody could hear: one system call for
  /// each, so that ten thousand cost less than a hundredth of a processor.
  static let trafficLookPause = Span.milliseconds(500)
  /// A peer that cannot take is asked again after this.
  static let retryPause = Span.milliseconds(5)
  /// No two ticks are nearer to each other than this, whatever the scheduler wishes.
  static let tickPause = Span.milliseconds(5)
  /// An idle client is spoken to this often, to find out whether it is still there.
  static let probePause = Span.seconds(30)
  /// Messages waiting for the loop's thread; the journal's queue is smaller.
  static let notices = 1 << 18

  /// The constants of `FairRequestQueue`, whose formula names them; `Limits.sharePercent` is the
  /// share.
  enum FairQueue {
    /// The largest small frame.
    static let smallFrameBytes = 16 << 10
    /// A request that gives back is no larger.
    static let givingBackBytes = 64
    /// Who has more frames waiting than this asks for more than it is given.
    static let manyWaiting = 16
    /// What large frames take, and what who has many waiting takes, counts so many times when it
    /// is told who is the lightest: nobody else is heard while the loop is at a large frame, and
    /// who asks without end would have as much as anybody else.
    static let heavyWeight = 2.0
    /// What has been used is forgotten in a straight line, within so many seconds.
    static let fadingSeconds = 2.0
    /// What may be used at once, of either size.
    static let burst = Span.milliseconds(20)
    /// What is owed at most by who had nobody lighter beside it.
    static let mostAlone = Span.milliseconds(40)
    /// What is owed at most for more than one frame: who was the lightest for a while, beside
    /// others that used much, is not held back for long when somebody lighter comes.
    static let mostTogether = Span.milliseconds(100)
    /// Who was heard within this time is one of those who share. Only time in which the loop had
    /// nothing to do counts: nobody can be heard in a long turn of somebody else, which would make
    /// all others absent.
    static let presence = Span.milliseconds(100)
    /// Who is the lightest is looked up again after this.
    static let comparisonPause = Span.milliseconds(1)
    /// What a question is expected to take before one was answered.
    static let firstQuestion = Span(nanoseconds: 500_000)
  }
}
