// Opens the three streams of a new process. Used by `ProcessHost.start` on the loop thread.

import CProcess
import Glibc
import OpClusterSystem

/// The three opened streams of a new process.
struct ProcessStreams: ~Copyable {
  /// Closed in this process after the start; nil for the null device.
  private let input: Descriptor?
  let inputNumber: Int32
  let outputNumber: Int32
  let errorNumber: Int32
  /// The output streams with files of their own.
  let files: [OutputStream]

  /// - Parameter take: Opens a file, or returns one that is open already.
  init(
    _ specification: ProcessSpecification, nullDevice: Int32,
    take: (OutputFile) throws(SpawnError) -> OpenOutput
  ) throws(SpawnError) {
    let input = try Self.open(specification.input)
    var files: [OutputStream] = []
    var (outputNumber, errorNumber) = (nullDevice, nullDevice)
    if case .file(let output) = specification.output {
      let file = try take(output)
      outputNumber = file.descriptor.number
      files.append(OutputStream(file: file, limit: specification.outputLimit, isOutput: true))
    }
    switch specification.error {
    case .discard: break
    case .sameAsOutput: errorNumber = outputNumber
    case .file(let error):
      let file = try take(error)
      errorNumber = file.descriptor.number
      files.append(OutputStream(file: file, limit: specification.outputLimit, isOutput: false))
    }
    if case .channel(let end) = specification.input {
      inputNumber = end.number
    } else {
      inputNumber = Self.number(of: input) ?? nullDevice
    }
    self.input = consume input
    self.outputNumber = outputNumber
    self.errorNumber = errorNumber
    self.files = files
  }

  private static func number(of file: borrowing Descriptor?) -> Int32? {
    switch file {
    case .some(let file): file.number
    case nil: nil
    }
  }

  private static func open(_ input: ProcessSpecification.Input) throws(SpawnError) -> Descriptor? {
    switch input {
    case .null, .channel: return nil
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
      if let error = FileDescriptor(number).writeAll(bytes) {
        throw .refused(step: "hold the input", error: error.code)
      }
      lseek(number, 0, SEEK_SET)
      return file
    }
  }

  private static func open(path: String) throws(SpawnError) -> Descriptor {
    guard !path.utf8.contains(0) else {
      throw .unusable(reason: "the input path holds a NUL byte; choose another name")
    }
    let number = unsafe op_open_named(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
    guard number >= 0 else { throw .input(path: path, error: -number) }
    let file = Descriptor(number)
    _ = fcntl(file.number, F_SETFL, 0)
    return file
  }
}
