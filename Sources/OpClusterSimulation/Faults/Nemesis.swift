// Carries out the faults of the simulated world. `Mishaps` says when and how often, as the seed or
// the script decides; here is what each does. A fault that finds nothing to break, such as the
// crash of a coordinator that is down, does nothing and is still counted.

import OpClusterModel
import OpClusterWire

extension World {
  func happen(_ mishap: Mishap) {
    if isHealed { return }
    faults += 1
    // A script may have fewer workers than the seed that it came from.
    let worker = mishap.subject % workers.count
    switch mishap.fault {
    case .coordinatorCrash: crashCoordinator(mishap, "crashes")
    case .coordinatorPause:
      guard coordinator.isUp else { return }
      coordinator.pausedUntil = now + mishap.length
      note(.pause, 0) { "coordinator pauses until \(self.coordinator.pausedUntil.nanoseconds)" }
    case .diskError: failDisk(mishap)
    case .diskFull:
      note(.disk, 1) { "the disk is full" }
      coordinator.disk.fullUntil = now + mishap.length
    case .bitRot: rot(mishap)
    case .workerDeath:
      endWorker(worker, "dies", backAfter: mishap.length)
      var chance = draw(.store, -2, Int(mishap.at.nanoseconds % 1_000_003))
      if chance.percent(plan.lostDiskPercent) { loseStore(worker) }
    case .workerPause:
      guard workers[worker].core != nil else { return }
      workers[worker].pausedUntil = now + mishap.length
      note(.pause, UInt64(worker)) { "w\(worker) pauses" }
    case .workerStop:
      note(.pause, UInt64(worker)) { "w\(worker) is asked to stop" }
      workers[worker].returnsAfter = mishap.length
      give(worker, .stop)
    case .namesake: greetAsNamesake(of: worker)
    case .stranger: greetAsStranger(mishap.subject)
    case .cut, .swizzle: cut(worker, mishap)
    case .connectionBreak:
      guard let connection = workers[worker].connection else { return }
      note(.cut, UInt64(connection)) { "the connection of w\(worker) breaks" }
      breakConnection(
        connection, isSilent: mishap.detail == 1, noticedAfter: mishap.length)
    case .snapshot: takeSnapshot()
    case .backup: takeBackup()
    case .restore: restoreJournal(mishap)
    }
  }

  /// `detail` is a set of bits: 1 cuts what the worker says, 2 what it hears. One direction alone
  /// is the hard case (G16, G22).
  private func cut(_ worker: Int, _ mishap: Mishap) {
    guard let connection = workers[worker].connection else { return }
    let until = now + mishap.length
    note(.cut, UInt64(connection), UInt64(mishap.detail)) {
      "w\(worker) is cut, directions \(mishap.detail)"
    }
    if mishap.detail & 1 != 0 {
      connections[connection].cutUntil[Direction.toCoordinator.rawValue] = until
    }
    if mishap.detail & 2 != 0 {
      connections[connection].cutUntil[Direction.fromCoordinator.rawValue] = until
    }
  }

  // MARK: - The disk

  /// Fails with EIO: this life sends and writes nothing more, and ends (G7).
  private func failDisk(_ mishap: Mishap) {
    guard coordinator.isUp else { return }
    if mutant == .retriedSync {
      // The second sync reports success, although the data of the first are lost.
      return coordinator.disk.loseNextSyncSilently()
    }
    crashCoordinator(mishap, "stops: the disk answers EIO")
  }

  /// Flips one bit of the journal while the coordinator is down: the coordinator must refuse to
  /// start and name the record (G6), until the copy is put in place.
  private func rot(_ mishap: Mishap) {
    guard coordinator.isUp, !coordinator.disk.turns.isEmpty else { return }
    crashCoordinator(mishap, "is stopped, and a bit of its journal rots")
    let copy = coordinator.disk
    guard let rotten = coordinator.disk.rot(mishap.detail) else { return }
    do {
      if mutant != .rotIgnored { try coordinator.disk.verify() }
      fail("G6", "turn \(rotten.number) is rotten and was read")
    } catch {
      if error != .damaged(rotten) { fail("G6", "turn \(rotten.number) is rotten, not \(error)") }
    }
    coordinator.disk = copy
  }

  // MARK: - Uninvited

  /// Lets a second process say hello under the same name: it must be refused while the first is
  /// heard, and replace it afterwards. Here it only says hello and leaves.
  private func greetAsNamesake(of worker: Int) {
    var chance = draw(.birth)
    let session = WorkerSession(chance.next())
    deadSessions.insert(session)
    let hello = WorkerHello(
      build: "simulated", name: workers[worker].name, session: session, capacity: .none)
    note(.crash, UInt64(worker), 1) { "a namesake of w\(worker) greets" }
    greet(Wire.encode(.hello(hello)), from: .stranger(worker))
  }

  /// Uses an unknown protocol version, and must be told so (G32).
  private func greetAsStranger(_ number: Int) {
    var hello = WorkerHello(
      versions: ProtocolVersions(lowest: 90, highest: 99), build: "other", name: "stranger",
      session: WorkerSession(UInt64(number)), capacity: .none)
    if number % 2 == 0 { hello.versions = ProtocolVersions(lowest: 0, highest: 0) }
    note(.crash, 0, 2) { "a stranger greets" }
    greet(Wire.encode(.hello(hello)), from: .stranger(-1))
  }

  private func greet(_ bytes: [UInt8], from owner: Connection.Owner) {
    send(bytes, over: open(owner), .toCoordinator)
  }

  /// Checks the answer to a stranger. Namesakes have a worker's number and are judged elsewhere.
  func takeAsStranger(_ bytes: [UInt8], _ worker: Int) {
    guard worker < 0 else { return }
    do {
      guard case .refused(let refusal) = try Wire.decodeCoordinatorMessage(bytes),
        refusal.code == .versionMismatch
      else { return fail("G32", "a stranger is not told that its version is another") }
    } catch {
      fail("wire", "an answer does not decode: \(error)")
    }
  }
}
