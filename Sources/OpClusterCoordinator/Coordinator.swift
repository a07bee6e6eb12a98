// The coordinator for programs: made from settings, run on the thread that calls `run`, stopped
// from any other thread. Opens the journal, starts the threads, and starts the loop.

import Glibc
public import Logging
public import OpClusterHTTP
public import OpClusterJournal
import OpClusterMetrics
public import OpClusterModel
import OpClusterScheduling
public import OpClusterSystem
public import OpClusterZeroMQ

/// The facts about a coordinator that serves.
public struct CoordinatorReady: Sendable {
  /// The real addresses, with the assigned ports in place of port 0.
  public let clientEndpoint: Endpoint
  public let workerEndpoint: Endpoint
  public let epoch: Epoch
  public let stateFolder: String
  /// Where figures are served; nil: nowhere.
  public let metrics: HTTPAddress?

  /// `opcoord ready clients=… workers=… epoch=N state=… [metrics=…]`
  public var line: String {
    "opcoord ready clients=\(clientEndpoint) workers=\(workerEndpoint) epoch=\(epoch.number) "
      + "state=\(stateFolder)" + (metrics.map { " metrics=\($0)" } ?? "")
  }
}

/// A journal, and its content when it was opened.
public struct OpenedJournal: Sendable {
  public let journal: any Journal
  public let recovered: Recovered
  public init(journal: any Journal, recovered: Recovered) {
    self.journal = journal
    self.recovered = recovered
  }
}

/// A coordinator. `Coordinator(settings).run()` on the main thread is a whole program.
public struct Coordinator: Sendable {
  /// Opens a journal and passes its content to the second argument, before anything is written.
  /// Throws a `JournalError`, or the error of that argument.
  public typealias OpenJournal =
    @Sendable (
      JournalObserver, (Recovered) throws -> Void
    ) throws -> OpenedJournal

  public let settings: CoordinatorSettings
  private let logger: Logger
  private let openJournal: OpenJournal
  private let notices: Mailbox<Notice>

  /// - Parameter openJournal: nil: SQLite in the settings' state folder.
  /// - Throws: An error if the machine has no descriptor left.
  public init(
    _ settings: CoordinatorSettings, logger: Logger = Logger(label: "opcoord"),
    openJournal: OpenJournal? = nil
  ) throws(SystemError) {
    self.settings = settings
    self.logger = logger
    notices = try Mailbox(capacity: CoordinatorLimits.notices)
    if let openJournal {
      self.openJournal = openJournal
    } else {
      let folder = settings.stateFolder
      var journalSettings = JournalSettings()
      journalSettings.reserveBytes = settings.diskReserveBytes / 2
      self.openJournal = { [journalSettings] observer, accept in
        let opened = try SQLiteJournal.open(
          folder: folder, settings: journalSettings, observer: observer, accept: accept)
        return OpenedJournal(journal: opened.journal, recovered: opened.recovered)
      }
    }
  }

  /// Serves until it is told to stop or cannot continue; uses the calling thread meanwhile.
  ///
  /// - Parameters:
  ///   - handlesSignals: Treat SIGTERM and SIGINT as orders to stop. Only if the coordinator is the
  ///     whole process, and before the first other thread.
  ///   - lifeline: A descriptor; the coordinator stops when its other end closes.
  ///   - service: The service manager to notify that it serves, and that its loop runs.
  ///   - onReady: Called once, when everything is bound.
  public func run(
    handlesSignals: Bool = false, lifeline: Int32? = nil, service: ServiceAddress? = nil,
    onReady: (CoordinatorReady) -> Void = { _ in }
  ) -> CoordinatorEnd {
    if let problem = settings.problem ?? settings.keyProblem { return .failed(.settings(problem)) }
    let service = service.flatMap(ServiceNotifier.init)
    do throws(CoordinatorError) {
      for endpoint in [settings.clientEndpoint, settings.workerEndpoint] {
        if let problem = endpoint.folderProblem { throw .unsafeFolder(problem) }
      }
      let signals = try handlesSignals ? Self.signals() : nil
      let notices = notices
      let observer = JournalObserver(
        onDurable: { _ = notices.post(.durable($0)) },
        onFailure: { _ = notices.post(.failed($0)) },
        onSnapshot: { _ = notices.post(.snapshot($0)) },
        onReserve: { _ = notices.post(.reserve) })
      service?.status("reading the journal")
      let (opened, scheduler) = try open(observer)
      if opened.recovered.droppedFrames > 0 {
        logger.warning(
          "the journal's last transaction was never committed and is dropped",
          metadata: ["pages": "\(opened.recovered.droppedFrames)"])
      }
      if !opened.recovered.isAtHome {
        logger.notice(
          """
          the journal is not in the file in which it was left: it was copied, restored or cut; \
          whoever knows more than it does is told to begin anew
          """)
      }
      let loop = try CoordinatorLoop(
        settings, logger, scheduler, opened.journal, mayHaveGoneBack: !opened.recovered.isAtHome,
        notices, signals: signals,
        lifeline: lifeline, service: service)
      let metrics = try settings.metrics.map { address throws(CoordinatorError) in
        try Self.serveMetrics(at: address, notices)
      }
      defer { metrics?.stop() }
      return loop.run(metrics: metrics?.address, onReady: onReady)
    } catch {
      return .failed(error)
    }
  }

  private static func serveMetrics(
    at address: HTTPAddress, _ notices: Mailbox<Notice>
  ) throws(CoordinatorError) -> MetricsServer {
    do throws(HTTPServerError) {
      return try MetricsServer(address) {
        MetricsQuestion.ask { notices.post(.metrics($0)) == .posted }
      }
    } catch {
      throw .metrics(error.description)
    }
  }

  /// Stops serving, makes everything accepted durable, returns from `run`. From any thread.
  public func stop() { _ = notices.post(.stop) }

  /// Builds the state from the journal before anything is written: an unreadable journal stays
  /// unchanged (G6).
  private func open(
    _ observer: JournalObserver
  ) throws(CoordinatorError) -> (OpenedJournal, Scheduler) {
    var scheduler: Scheduler?
    do {
      let opened = try openJournal(observer) { recovered in
        scheduler = try Startup.scheduler(from: recovered, timing: settings.timing)
      }
      guard let scheduler else { preconditionFailure("a journal that was not looked at") }
      return (opened, scheduler)
    } catch let error as JournalError {
      throw .journal(error)
    } catch let error as CoordinatorError {
      throw error
    } catch {
      throw .unreadable(record: "the journal", problem: "\(error)")
    }
  }

  private static func signals() throws(CoordinatorError) -> StopSignals {
    do throws(SystemError) {
      return try StopSignals()
    } catch {
      throw .socket(error)
    }
  }
}

/// Orders to stop that arrive as signals. Made before the first other thread; the loop reads them.
final class StopSignals {
  private let signals: SignalDescriptor

  init() throws(SystemError) {
    signals = try SignalDescriptor([SIGTERM, SIGINT, SIGPIPE])
  }

  /// Readable while a signal waits.
  var descriptor: Int32 { signals.descriptor }

  /// The next order. A broken pipe is not one: the failed write reports it as well.
  func next() -> DeliveredSignal? {
    while let signal = signals.next() {
      if signal.number != SIGPIPE { return signal }
    }
    return nil
  }
}

/// A message from another thread to the loop.
enum Notice: Sendable {
  case durable(UInt64)
  case failed(JournalError)
  case snapshot(UInt64)
  /// The disk is full, and the journal has freed its reserve (G8).
  case reserve
  case history(HistoryAnswer)
  /// A large message has been prepared.
  case prepared
  case enrolled(Enrolment)
  case metrics(MetricsQuestion)
  case stop
}
