// The system calls of opbatch: writes whole texts to a stream, reads a file or stdin within a
// limit, asks a terminal for its size. Any thread.

import Glibc
import OpClusterSystem

/// A stream of this process.
struct Descriptor: Sendable {
  var number: Int32
  static let input = Descriptor(number: 0)
  static let output = Descriptor(number: 1)
  static let error = Descriptor(number: 2)

  /// The result of a write.
  enum WriteResult: Equatable {
    case written
    /// The reader has gone (EPIPE), such as `head` after its last line.
    case closed
    /// Writing failed, for example on a full disk: an `errno`.
    case failed(Int32)
  }

  /// Opens a file, with the flags and the mode of open(2); it is not inherited.
  static func opened(
    _ path: String, _ flags: Int32, mode: UInt32 = 0
  ) throws(ErrorNumber) -> Descriptor {
    let number = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
    guard number >= 0 else { throw ErrorNumber(errno) }
    return Descriptor(number: number)
  }

  /// Makes a folder and those above it; one that is there is left as it is.
  static func makeFolders(_ path: String) throws(ErrorNumber) {
    var at = path.startIndex
    while let slash = path[at...].dropFirst().firstIndex(of: "/") {
      _ = unsafe mkdir(String(path[..<slash]), 0o777)
      at = slash
    }
    guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { throw ErrorNumber(errno) }
  }

  /// Whether it is a file on a disk, which can be shortened.
  var isRegularFile: Bool {
    var facts = stat()
    return unsafe fstat(number, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
  }

  var isTerminal: Bool { isatty(number) == 1 }

  /// Columns of the terminal; nil without a terminal, or if it does not say.
  var columns: Int? {
    var size = winsize()
    guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// The kind of file behind a stream.
  enum Kind: Equatable {
    /// The stream is closed.
    case nothing
    case terminal
    /// Another device, such as /dev/null: it has no end to wait for.
    case device
    /// A file: its path if it has one, and whether nothing has been read of it.
    case file(path: String?, isAtItsBegin: Bool)
    /// A pipe or a socket.
    case stream
  }

  var kind: Kind {
    var facts = stat()
    guard unsafe fstat(number, &facts) == 0 else { return .nothing }
    switch facts.st_mode & S_IFMT {
    case S_IFREG:
      let name = ThisProcess.realPath("/proc/self/fd/\(number)")
      return .file(path: name, isAtItsBegin: lseek(number, 0, SEEK_CUR) == 0)
    case S_IFCHR, S_IFBLK: return isTerminal ? .terminal : .device
    case S_IFDIR: return .nothing
    default: return .stream
    }
  }

  /// Whether data or the end arrives within a time.
  func waitUntilReadable(milliseconds: Int32) -> Bool {
    var item = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&item, 1, milliseconds) > 0
  }

  /// Writes everything; waits for the reader without a limit.
  func write(_ bytes: [UInt8]) -> WriteResult {
    guard let error = FileDescriptor(number).writeAll(bytes, waits: true) else { return .written }
    return error.code == EPIPE ? .closed : .failed(error.code)
  }

  /// Reads to the end. Fails with an `errno`; `EFBIG` beyond `limit` bytes.
  func readAll(limit: Int) -> Result<[UInt8], ErrorNumber> {
    Result { () throws(ErrorNumber) in try FileDescriptor(number).readAll(limit: limit) }
  }

  /// Reads the first line, or everything without a line end; at most `limit` bytes and one more.
  func readLine(limit: Int) -> Result<[UInt8], ErrorNumber> {
    Result { () throws(ErrorNumber) in try FileDescriptor(number).readLine(limit: limit) }
  }

  /// Makes or replaces a file: the content of a former one stays until the new one is complete.
  /// Written in place is what has no content to keep, such as a pipe or a new file, and a file in a
  /// folder that takes no other. A link stays a link.
  static func replace(_ path: String, with bytes: [UInt8]) -> WriteResult {
    var found = stat()
    if let real = ThisProcess.realPath(path), unsafe stat(real, &found) == 0,
      found.st_mode & S_IFMT == S_IFREG
    {
      let result = replace(real, mode: found.st_mode & 0o777, with: bytes)
      if ![EACCES, EPERM, EROFS].map(WriteResult.failed).contains(result) { return result }
    }
    return write(bytes, to: path, O_WRONLY | O_CREAT | O_TRUNC)
  }

  /// Who may read the former file may read the new one.
  private static func replace(
    _ path: String, mode: mode_t, with bytes: [UInt8]
  ) -> WriteResult {
    let fresh = "\(path).\(getpid()).new"
    _ = unsafe unlink(fresh)
    var result = write(bytes, to: fresh, O_WRONLY | O_CREAT | O_EXCL)
    if result == .written, unsafe chmod(fresh, mode) != 0 { result = .failed(errno) }
    if result == .written, unsafe rename(fresh, path) != 0 { result = .failed(errno) }
    if result != .written { _ = unsafe unlink(fresh) }
    return result
  }

  private static func write(_ bytes: [UInt8], to path: String, _ flags: Int32) -> WriteResult {
    let number = unsafe open(path, flags | O_CLOEXEC, 0o666)
    guard number >= 0 else { return .failed(errno) }
    let result = Descriptor(number: number).write(bytes)
    // Some file systems report a full disk only here.
    guard close(number) == 0 || result != .written else { return .failed(errno) }
    return result
  }

  /// Returns the content of a file of at most `limit` bytes.
  static func contents(of path: String, limit: Int) -> Result<[UInt8], ErrorNumber> {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return .failure(ErrorNumber(errno)) }
    defer { close(number) }
    return Descriptor(number: number).readAll(limit: limit)
  }
}

/// Facts about this process and its user.
enum ThisProcess {
  /// The folder where relative paths start.
  static var workingFolder: String {
    guard let path = unsafe getcwd(nil, 0) else { return "/" }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// Resolves all links of a path; nil if it cannot be found.
  static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }

  static var user: UInt32 { getuid() }

  /// The name of our account; nil if it has none.
  static var accountName: String? {
    guard let entry = unsafe getpwuid(getuid()), let text = unsafe entry.pointee.pw_name
    else { return nil }
    let name = unsafe String(cString: text)
    return name.isEmpty ? nil : name
  }

  /// The present offset of the user's clock, in seconds east of UTC.
  static var secondsEastOfUTC: Int {
    var now = time(nil)
    var local = unsafe tm()
    unsafe localtime_r(&now, &local)
    return unsafe local.tm_gmtoff
  }

  /// Makes writes to a closed pipe fail with EPIPE instead of ending the process.
  static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
  }
}
