// The coordinator as a program sees it: made from settings, run on the thread that calls `run`,
// stopped from any other. Opens the journal, starts the threads, and hands over to the loop.

public import Logging
public import OpClusterJournal
public import OpClusterModel
import OpClusterScheduling
public import OpClusterZeroMQ

/// What can be told once a coordinator serves.
public struct CoordinatorReady: Sendable {
  /// The real addresses, with the ports that were found for port 0.
  public let clientEndpoint: Endpoint
  public let workerEndpoint: Endpoint
  public let epoch: Epoch
  public let stateFolder: String

  /// `opcoord ready clients=… workers=… epoch=N state=…`
  public var line: String {
    "opcoord ready clients=\(clientEndpoint) workers=\(workerEndpoint) epoch=\(epoch.number) "
      + "state=\(stateFolder)"
  }
}

/// A journal and what it held when it was opened.
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
  /// Opens a journal and says what it holds, to the second argument first, before anything is
  /// written. Throws a `JournalError`, or what that one throws.
  public typealias OpenJournal =
    @Sendable (
      JournalObserver, (Recovered) throws -> Void
    ) throws -> OpenedJournal

  public let settings: CoordinatorSettings
  private let logger: Logger
  private let openJournal: OpenJournal
  private let notices: Mailbox<Notice>

  /// - Parameter openJournal: nil: SQLite in the settings' state folder.
  /// - Throws: when the machine has no descriptor left.
  public init(
    _ settings: CoordinatorSettings, logger: Logger = Logger(label: "opcoord"),
    openJournal: OpenJournal? = nil
  ) throws(SocketError) {
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

  /// Serves until it is told to stop or cannot go on; owns the calling thread meanwhile.
  ///
  /// - Parameters:
  ///   - handlesSignals: Take SIGTERM and SIGINT as orders to stop. Only where the coordinator is
  ///     the whole process, and before its first other thread.
  ///   - lifeline: A descriptor; the coordinator stops when its other end closes.
  ///   - service: Whom to tell that it serves, and that its loop turns.
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
      return loop.run(onReady: onReady)
    } catch {
      return .failed(error)
    }
  }

  /// Stops serving, makes everything accepted durable, returns from `run`. From any thread.
  public func stop() { _ = notices.post(.stop) }

  /// The state is made of what the journal holds before anything is written: a journal that means
  /// nothing stays as it is (G6).
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
    do throws(SocketError) {
      return try StopSignals()
    } catch {
      throw .socket(error)
    }
  }
}

/// Orders to stop that come as signals. Made before the first other thread; the loop reads it.
final class StopSignals {
  private let signals: SignalDescriptor

  init() throws(SocketError) {
    signals = try SignalDescriptor(Kernel.stopSignals + [Kernel.brokenPipe])
  }

  /// Readable while there is something.
  var descriptor: Int32 { signals.descriptor }

  /// The next order; a broken pipe is none, since the write that broke it says so, too.
  func next() -> DeliveredSignal? {
    while let signal = signals.next() {
      if signal.number != Kernel.brokenPipe { return signal }
    }
    return nil
  }
}

/// What other threads tell the loop.
enum Notice: Sendable {
  case durable(UInt64)
  case failed(JournalError)
  case snapshot(UInt64)
  /// The disk is full, the journal has given its reserve up (G8).
  case reserve
  case history(HistoryAnswer)
  case enrolled(Enrolment)
  case stop
}
