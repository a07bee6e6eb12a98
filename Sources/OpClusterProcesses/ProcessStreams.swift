// Opens the three streams of a process to be. Used by `ProcessHost.start` on the loop thread.

import CProcess
import Glibc

/// The three opened streams of a process to be; closed in this process once it has started.
struct ProcessStreams: ~Copyable {
  let input: Descriptor
  /// Nil for the null device.
  private let output: Descriptor?
  /// Nil for the null device, or for where the output goes.
  private let error: Descriptor?
  let outputNumber: Int32
  let errorNumber: Int32
  /// The files that may not outgrow the limit.
  let limited: [LimitedStream]

  static func open(
    _ specification: ProcessSpecification, nullDevice: Int32
  ) throws(SpawnError) -> ProcessStreams {
    let input = try open(specification.input)
    let output = try open(specification.output)
    let error = try open(specification.error)
    let outputNumber = number(of: output) ?? nullDevice
    let errorNumber =
      specification.error == .sameAsOutput ? outputNumber : number(of: error) ?? nullDevice
    var limited: [LimitedStream] = []
    if let limit = specification.outputLimit {
      if let number = number(of: output) {
        limited.append(try Self.limit(number, limit, isOutput: true))
      }
      if let number = number(of: error) {
        limited.append(try Self.limit(number, limit, isOutput: false))
      }
    }
    return ProcessStreams(
      input: input, output: output, error: error, outputNumber: outputNumber,
      errorNumber: errorNumber, limited: limited)
  }

  private static func number(of file: borrowing Descriptor?) -> Int32? {
    switch file {
    case .some(let file): file.number
    case nil: nil
    }
  }

  private static func limit(
    _ number: Int32, _ limit: Int, isOutput: Bool
  ) throws(SpawnError) -> LimitedStream {
    let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .refused(step: "copy a descriptor", error: errno) }
    return LimitedStream(file: Descriptor(copy), limit: limit, isOutput: isOutput)
  }

  private static func open(_ output: ProcessSpecification.Output) throws(SpawnError) -> Descriptor?
  {
    guard case .file(let file) = output else { return nil }
    return try file.openForWriting()
  }

  private static func open(_ input: ProcessSpecification.Input) throws(SpawnError) -> Descriptor {
    switch input {
    case .null:
      return try open(path: "/dev/null")
    case .file(let path):
      return try open(path: path)
    case .bytes(let bytes):
      guard bytes.count <= ProcessSpecification.inputLimit else {
        throw .unusable(
          reason: "\(bytes.count) bytes of input are more than "
            + "\(ProcessSpecification.inputLimit); pass them in a file")
      }
      let number = unsafe op_memory_file("input")
      guard number >= 0 else { throw .refused(step: "hold the input", error: -number) }
      let file = Descriptor(number)
      guard bytes.isEmpty || file.write(bytes) else {
        throw .refused(step: "hold the input", error: errno)
      }
      lseek(number, 0, SEEK_SET)
      return file
    }
  }

  private static func open(path: String) throws(SpawnError) -> Descriptor {
    guard !path.utf8.contains(0) else {
      throw .unusable(reason: "the input path holds a NUL byte; choose another name")
    }
    guard let file = Descriptor.open(path, O_RDONLY | O_NONBLOCK) else {
      throw .file(path: path, error: errno)
    }
    _ = fcntl(file.number, F_SETFL, 0)
    return file
  }
}
