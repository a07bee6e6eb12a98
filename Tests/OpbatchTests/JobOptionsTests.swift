// What one command or call asks for on the command line, and what becomes of our stdin.

import ArgumentParser
import FoundationEssentials
import Glibc
import OpClusterModel
import OpClusterWire
import Testing

@testable import opbatch

@Suite struct JobOptionsTests {
  @Test(
    arguments: [
      ("2", 20_000), ("0.5", 5_000), ("0", 0), ("0.0001", 1), ("1000000", 10_000_000_000),
    ] as [(String, Int64)])
  func amounts(text: String, parts: Int64) {
    #expect(Amount(argument: text)?.value.tenThousandths == parts)
  }

  @Test(arguments: ["", "-1", "1.", ".5", "0.00001", "1000001", "1e3", "x", "９", "99999999999999"])
  func noAmounts(text: String) {
    #expect(Amount(argument: text) == nil)
  }

  @Test(
    arguments: [
      ("4096", 4_096), ("1.5GiB", 3 << 29), ("4G", 4 << 30), ("512MiB", 512 << 20),
      ("2kB", 2_000), ("0.5K", 512),
    ] as [(String, Int64)])
  func sizes(text: String, bytes: Int64) {
    #expect(Size(argument: text)?.bytes == bytes)
  }

  @Test(arguments: ["", "4 G", "4X", "-1", "99999999999T", "1.5.2M", "M"])
  func noSizes(text: String) {
    #expect(Size(argument: text) == nil)
  }

  @Test func everythingThatIsAskedForIsSubmitted() throws {
    let words = [
      "run", "--cpus", "2", "--memory", "1GiB", "--gpus", "1", "--resource", "disk=0.5",
      "--require", "zone=a", "-l", "who=me", "--queue", "io", "--retry", "3", "--", "ls", "-l",
    ]
    let run = try #require(try Opbatch.parseAsRoot(words) as? Run)
    var submission = CommandRun.submission(run.command)
    run.job.apply(to: &submission)
    let template = submission.templates[0]
    #expect(
      template.demand
        == Resources(
          cpus: ResourceAmount(2), memoryBytes: 1 << 30, gpus: ResourceAmount(1),
          custom: [
            Resources.NamedAmount(name: "disk", amount: ResourceAmount(tenThousandths: 5_000))
          ]))
    #expect(template.requirements == [LabelRequirement(key: "zone", values: ["a"])])
    #expect(template.retry.maximum == 3)
    #expect(submission.labels == [Label(key: "who", value: "me")])
    #expect(submission.queues == [.named("io")])
    #expect(run.command == ["ls", "-l"])
  }

  @Test func whatDoesNotGoTogether() {
    let wrong: [[String]] = [
      ["run", "-m", "x", "--memory", "1G"], ["run", "-m", "x", "--workdir", "/"],
      ["run", "--call", "t", "--no-stdin"], ["run", "--retry", "101", "--", "ls"],
      ["run", "--resource", "a=x", "--", "ls"], ["run", "--resource", "cpus=1", "--", "ls"],
      ["run", "--resource", "a=1", "--resource", "a=2", "--", "ls"],
      ["run", "--label", String(repeating: "k", count: Limits.labelBytes + 1) + "=v", "--", "ls"],
      ["up", "--gpus", "0.5"], ["up", "--gpus", "a,b"], ["up", "--resource", "gpus=1"],
      ["submit"], ["submit", "x", "--", "ls"], ["submit", "x", "--cpus", "2"],
      ["submit", "-p", "a=b", "--", "ls"],
      ["run", "--", "ls"].inserting((0...Limits.customResources).map { "--resource=r\($0)=1" }),
      ["run", "--", "ls"].inserting((0...Limits.labelsPerThing).map { "--label=r\($0)=1" }),
    ]
    for words in wrong {
      #expect(throws: (any Error).self, "\(words.prefix(4))") { try Opbatch.parseAsRoot(words) }
    }
    let right: [[String]] = [
      ["run", "--", "ls"].inserting((1...Limits.customResources).map { "--resource=r\($0)=1" }),
      ["run", "--", "ls"].inserting((1...Limits.labelsPerThing).map { "--label=r\($0)=1" }),
      ["run", "--label", String(repeating: "k", count: Limits.labelBytes) + "=v", "--", "ls"],
      ["submit", "--cpus", "2", "--", "ls"], ["submit", "x", "-p", "a=b"],
      ["run", "--call", "t", "--memory", "1G", "-q"], ["run", "--retry", "100", "--", "ls"],
    ]
    for words in right {
      #expect(throws: Never.self, "\(words.prefix(4))") { try Opbatch.parseAsRoot(words) }
    }
  }

  // MARK: - stdin

  /// A file with these bytes as a stream, at a place in it.
  private func passed(_ bytes: [UInt8], at place: Int = 0) throws -> (PassedInput.Result, String) {
    let path = FileManager.default.temporaryDirectory.path + "/passed-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(filePath: path))
    let number = unsafe open(path, O_RDONLY)
    defer {
      close(number)
      unsafe unlink(path)
    }
    lseek(number, place, SEEK_SET)
    return (PassedInput.read(Descriptor(number: number)) { _ in }, path)
  }

  @Test func textIsPassedOn() throws {
    #expect(try passed(Array("a\nb".utf8)).0.get() == .text(CommandText("a\nb")))
    #expect(try passed([]).0.get() == .nothing)
    // What is left of it.
    #expect(try passed(Array("read left".utf8), at: 5).0.get() == .text(CommandText("left")))
    let most = [UInt8](repeating: 0x61, count: Limits.payloadBytes)
    #expect(
      try passed(most).0.get() == .text(CommandText(String(decoding: most, as: UTF8.self))))
  }

  @Test func otherFilesAreOpenedByTheWorker() throws {
    let large = try passed([UInt8](repeating: 0x61, count: Limits.payloadBytes + 1))
    #expect(try large.0.get() == .file(CommandText(large.1)))
    let bytes = try passed([0xFF, 0x00])
    #expect(try bytes.0.get() == .file(CommandText(bytes.1)))
    // The rest of such a file is nothing that a worker could open.
    #expect(throws: Failure.self) { try passed([0x61, 0xFF, 0x00], at: 1).0.get() }
  }

  @Test func pipesArePassedOnOrRefusedWithAWay() throws {
    func piped(_ bytes: [UInt8]) -> PassedInput.Result {
      var ends: [Int32] = [-1, -1]
      guard unsafe pipe(&ends) == 0 else { return .success(.nothing) }
      _ = Descriptor(number: ends[1]).write(bytes)
      close(ends[1])
      defer { close(ends[0]) }
      return PassedInput.read(Descriptor(number: ends[0])) { _ in }
    }
    #expect(try piped(Array("piped".utf8)).get() == .text(CommandText("piped")))
    #expect(try piped([]).get() == .nothing)
    guard case .failure(let failure) = piped([0xFF]) else {
      Issue.record("it was passed on")
      return
    }
    #expect(failure.hint.contains("--no-stdin"))
    let device = unsafe open("/dev/zero", O_RDONLY)
    defer { close(device) }
    #expect(try PassedInput.read(Descriptor(number: device)) { _ in }.get() == .nothing)
  }
}

extension [String] {
  /// With words after the first.
  fileprivate func inserting(_ words: [String]) -> [String] {
    Array(prefix(1)) + words + Array(dropFirst())
  }
}
