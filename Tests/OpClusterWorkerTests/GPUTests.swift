// Gpus by name: what is found, what people write, and what real operations that run side by side
// are told.

import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

@Suite struct GPUSettingTests {
  @Test func whatPeopleWrite() {
    #expect(GPUSetting("auto") == .found && GPUSetting("unmanaged") == .unmanaged)
    #expect(GPUSetting("0") == .count(0) && GPUSetting("4") == .count(4))
    #expect(GPUSetting("0,2,3") == .list(["0", "2", "3"]) && GPUSetting("2,") == .list(["2"]))
    #expect(GPUSetting("GPU-8932f937-d72c,MIG-a/7/0") == .list(["GPU-8932f937-d72c", "MIG-a/7/0"]))
    for wrong in ["", ",", "0,,1", "0,0", "a,b", "0.5", "-1", "1e2", "all", "0, 1", "GPU x,"] {
      #expect(GPUSetting(wrong) == nil, "\(wrong)")
    }
  }

  @Test func asManyAsThereMayBe() throws {
    let most = Limits.gpusPerWorker
    #expect(GPUSetting("\(most)") == .count(most) && GPUSetting("\(most + 1)") == nil)
    let names = (0..<most).map { "\($0)" }
    #expect(GPUSetting(names.joined(separator: ",")) == .list(names))
    #expect(GPUSetting((names + ["\(most)"]).joined(separator: ",")) == nil)
    #expect(GPUSetting.present(visible: nil, devices: (0...most).map { "nvidia\($0)" }) == names)
    func objection(_ gpus: Int64, _ names: [String]? = nil) throws -> String? {
      var configuration = WorkerConfiguration(coordinator: try Endpoint("ipc:///tmp/x"))
      configuration.name = "w"
      configuration.capacity.gpus = ResourceAmount(gpus)
      configuration.gpuNames = names
      do throws(WorkerError) { try configuration.check() } catch { return error.description }
      return nil
    }
    #expect(try objection(Int64(most)) == nil && objection(2, ["0", "7"]) == nil)
    #expect(try objection(Int64(most) + 1)?.contains("more than 1024 gpus") == true)
    #expect(try objection(2, ["0"]) != nil && objection(2, ["0", "0"]) != nil)
  }

  @Test func whatIsFound() {
    let devices = ["null", "nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia10"]
    #expect(GPUSetting.present(visible: nil, devices: devices) == ["0", "1", "2"])
    #expect(GPUSetting.present(visible: "3,GPU-1f", devices: devices) == ["3", "GPU-1f"])
    // What CUDA takes for the end of the list.
    #expect(GPUSetting.present(visible: "3,-1,4", devices: devices) == ["3"])
    #expect(GPUSetting.present(visible: "", devices: devices) == [])
    #expect(GPUSetting.present(visible: "NoDevFiles", devices: devices) == [])
    #expect(GPUSetting.present(visible: "1,1", devices: devices) == [])
  }

  @Test func names() {
    #expect(GPUSetting.found.names(found: []) == nil)
    #expect(GPUSetting.found.names(found: ["3"]) == ["3"])
    #expect(GPUSetting.unmanaged.names(found: ["3"]) == nil)
    #expect(GPUSetting.count(0).names(found: ["3"]) == [])
    #expect(GPUSetting.count(2).names(found: ["3", "5", "6"]) == ["3", "5"])
    #expect(GPUSetting.count(2).names(found: ["3"]) == ["0", "1"])
    let shares = (0..<3).map { GPUSetting.share(of: ["a", "b", "c", "d"], worker: $0, among: 3) }
    #expect(shares == [["a"], ["b"], ["c", "d"]])
    #expect(GPUSetting("\(GPUSetting.text(of: ["7"]))") == .list(["7"]))
    #expect(GPUSetting(GPUSetting.text(of: [])) == .count(0))
  }
}

extension WorkerTests {
  private static func template(
    at position: UInt32, gpus: Int64, _ specification: CommandSpecification
  ) -> TemplateAnnouncement {
    var template = FakeCoordinator.command(
      at: position, firstIndex: position * 10, isArray: true, specification)
    template.demand = Resources(
      cpus: .zero, gpus: ResourceAmount(tenThousandths: gpus))
    return template
  }

  private static func output(_ index: UInt32, of coordinator: FakeCoordinator) throws -> String {
    let chunk = try coordinator.log(FakeCoordinator.attempt(index), .standardOutput)
    return String(decoding: chunk.bytes, as: UTF8.self)
  }

  // Real operations side by side. Each makes a folder that bears the gpu's name, which nobody
  // can who has the same one at the same time.
  @Test func gpusOfOperationsThatOverlap() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) {
      $0.capacity.gpus = ResourceAmount(2)
      $0.gpuNames = ["3", "5"]
    }
    let folder = worker.folder
    let specification = FakeCoordinator.shell(
      """
      mkdir \(folder)/gpu.$OP_GPUS || exit 9
      while ! test -e \(folder)/go; do sleep 0.02; done
      test "$OP_GPUS" = "$CUDA_VISIBLE_DEVICES" || exit 8
      rmdir \(folder)/gpu.$OP_GPUS
      """)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [Self.template(at: 0, gpus: 10_000, specification)]
      $0.dispatches = (0..<9).map {
        Dispatch(attempt: FakeCoordinator.attempt($0), template: 0)
      }
    }
    try coordinator.until("two that run") {
      Folders.size(of: "\(folder)/gpu.3") != nil && Folders.size(of: "\(folder)/gpu.5") != nil
    }
    #expect(!coordinator.hasStarted(FakeCoordinator.attempt(2)))
    touch("\(folder)/go")
    for index in 0..<UInt32(9) {
      try coordinator.until("the end of \(index)") {
        coordinator.result(FakeCoordinator.attempt(index)) != nil
      }
      let result = try #require(coordinator.result(FakeCoordinator.attempt(index)))
      #expect(result.isSuccess, "\(result)")
    }
  }

  // Several, a part of one, and none: those are hidden from it.
  @Test func whatOperationsAreToldOfGPUs() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) { $0.capacity.gpus = ResourceAmount(3) }
    let say = FakeCoordinator.shell(#"echo "${OP_GPUS-unset} ${CUDA_VISIBLE_DEVICES-unset}""#)
    for (position, (gpus, words)) in [
      (Int64(20_000), "0,1 0,1\n"), (5_000, "0 0\n"), (0, "unset \n"),
    ].enumerated() {
      let result = try coordinator.run(Self.template(at: UInt32(position), gpus: gpus, say))
      #expect(result.isSuccess, "\(result)")
      #expect(try Self.output(UInt32(position) * 10, of: coordinator) == words)
    }
    #expect(try worker.end(coordinator) == .stopped)
  }

  // Where a worker gives nobody any, it says nothing of them.
  @Test func whatIsToldWhereThereAreNone() throws {
    for names in [nil, [String]()] {
      let coordinator = try FakeCoordinator()
      let worker = try TestWorker(coordinator.endpoint) { $0.gpuNames = names }
      let say = FakeCoordinator.shell(#"echo "${OP_GPUS-unset} ${CUDA_VISIBLE_DEVICES-unset}""#)
      #expect(try coordinator.run(Self.template(at: 0, gpus: 0, say)).isSuccess)
      let words = names == nil ? "unset unset\n" : "unset \n"
      #expect(try Self.output(0, of: coordinator) == words)
      #expect(try worker.end(coordinator) == .stopped)
    }
  }
}
