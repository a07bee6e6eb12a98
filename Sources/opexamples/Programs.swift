// The subcommands, one for each example. Examples that need a web server start their own.
// A command checks its arguments, prepares what the example works on, runs it at the chosen place,
// and prints what it returned. The operations themselves are in OpClusterExamples: a reader who
// wants to learn the library starts there.

import ArgumentParser
import ExampleMaterials
import OpClusterExamples

/// One file is stuck on purpose, so that there is something to cancel.
struct RunDownloads: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "downloads",
    abstract: "Fetch files from a small server of our own, and give up on one that is stuck.")
  @Argument(help: "Where the files go.", completion: .directory) var folder: String
  @Option(help: "How many files, 1 to 1000.") var count = 12
  @Option(help: "How many at once.") var atOnce = 3
  @OptionGroup var place: Place

  func validate() throws {
    // With one at a time the stuck file would hold up all others until it is cancelled.
    guard (1...1_000).contains(count), (2...1_000).contains(atOnce) else {
      throw ValidationError("--count is 1 to 1000; --at-once is 2 or more, as one is stuck")
    }
  }

  func run() async throws {
    // Half of this file is sent, and then nothing.
    var files = ["/0.txt": Array("never to be seen in full".utf8)]
    for number in 1...count { files["/\(number).txt"] = Array("This is file \(number).\n".utf8) }
    // The server is in this process, whichever place runs the downloads.
    let server = try WebServer(files, stuck: ["/0.txt"])
    defer { server.stop() }
    var addresses: [String: String] = [:]
    for path in files.keys { addresses[String(path.dropFirst())] = server.address(of: path) }
    let folder = absolute(folder)
    let fetched = try await place.run { [addresses] cluster in
      try await downloadAll(
        addresses, into: folder, atOnce: atOnce, givingUpOn: "0.txt", on: cluster)
    }
    // Sorted, as the downloads end in any order.
    for file in fetched.values.sorted(by: { $0.path < $1.path }) {
      print("\(file.digest) \(file.size) \(file.path)")
    }
    print("\(fetched.count) files, at most \(server.mostAtOnce) at once; 0.txt was cancelled")
  }
}

/// The answers come later from another thread: the operation has started long before it ends.
struct RunSumOfPairs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sum-of-pairs", abstract: "Add numbers by a service that calls back.")
  @Argument(help: "An even number of numbers.") var numbers = [1, 5, 5, 8, 6, 1, 3, 9, 6, 12, 1, 0]
  @OptionGroup var place: Place

  func validate() throws {
    guard !numbers.isEmpty, numbers.count.isMultiple(of: 2), numbers.allSatisfy(small) else {
      throw ValidationError("give an even number of numbers, of at most nine digits each")
    }
  }

  func run() async throws {
    // Validation has made sure that nothing is left over.
    let pairs = stride(from: 0, to: numbers.count, by: 2).map { (numbers[$0], numbers[$0 + 1]) }
    let result = try await place.run { try await sumOfPairs(pairs, on: $0) }
    for (pair, sum) in zip(pairs, result.sums) { print("\(pair.0) + \(pair.1) = \(sum)") }
    print("total \(result.total)")
  }
}

/// With `--cancel` the operation would run for ever; it ends because it looks at its flag.
struct RunSum: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sum", abstract: "Add numbers; or cancel that in the middle.")
  @Argument(help: "What to add.") var numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  @Flag(help: "Go on for ever, and cancel it while it is executing.") var cancel = false
  @OptionGroup var place: Place

  func validate() throws {
    guard numbers.allSatisfy(small) else { throw ValidationError("at most nine digits each") }
  }

  func run() async throws {
    let turns = cancel ? Int.max : 1
    let sum = try await place.run {
      try await OpClusterExamples.sum(
        of: numbers, turns: turns, cancelsInTheMiddle: cancel, on: $0)
    }
    print(sum.map { "sum \($0)" } ?? "cancelled")
  }
}

/// The pictures go from worker to worker; those that load and write see the two folders.
struct RunImages: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "images", abstract: "Make a miniature world of every PNG file of a folder.")
  @Argument(help: "The pictures.", completion: .directory) var folder: String
  @Argument(help: "Where the results go.", completion: .directory) var output: String
  @OptionGroup var place: Place

  func run() async throws {
    let (folder, output) = (absolute(folder), absolute(output))
    let result = try await place.run { try await tiltShiftImages(in: folder, into: output, on: $0) }
    for file in result.pictures + [result.contactSheet] {
      print("\(file.width) x \(file.height) \(file.path)")
    }
  }
}

/// The second step is skipped where the first fails, which is no error of the program.
struct RunUnpack: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unpack", abstract: "Fetch an archive of tar, then unpack it.")
  @Argument(help: "Where the files go.", completion: .directory) var folder: String
  @Option(help: "Where the archive is; by default a server of our own has one.") var from: String?
  @OptionGroup var place: Place

  func run() async throws {
    // Packed in memory: no file has to be there before the example.
    let archive = try TarArchive.packed([
      ("poem/first.txt", Array("The queue is long,\n".utf8)),
      ("poem/second.txt", Array("the workers strong.\n".utf8)),
    ])
    let server = try WebServer(["/poem.tar": archive])
    defer { server.stop() }
    let (address, folder) = (from ?? server.address(of: "/poem.tar"), absolute(folder))
    let unpacked = try await place.run { try await fetchAndUnpack(address, into: folder, on: $0) }
    // An address that does not answer is a result to show, and not a failure of this command.
    guard let unpacked else { throw CleanExit.message("not fetched, so not unpacked: \(address)") }
    for name in unpacked.names { print("\(unpacked.path)/\(name)") }
  }
}

/// The pictures are the same on every machine, so the results can be compared.
struct DrawPictures: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "draw", abstract: "Draw the pictures that the image example works on.")
  @Argument(help: "Where they go.", completion: .directory) var folder: String

  func run() throws {
    try LocalFile.makeFolder(folder)
    for place in ToyTown.allCases { try place.picture().writePNG(to: "\(folder)/\(place).png") }
  }
}

/// Whether many numbers of this size can be added without overflow.
/// Nine digits: some thousands of such numbers stay far below 2⁶³.
private func small(_ number: Int) -> Bool { abs(number) < 1_000_000_000 }

/// Workers have working directories of their own, so paths must be absolute.
private func absolute(_ path: String) -> String {
  path.hasPrefix("/") ? path : "\(LocalFile.currentFolder)/\(path)"
}
