// The system calls of opbatch: writes whole texts to a stream, reads a file or stdin within a
// limit, asks a terminal for its size. Any thread.

import Glibc

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
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(number, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        waitUntilWritable()
      } else if errno != EINTR {
        return errno == EPIPE ? .closed : .failed(errno)
      }
    }
    return .written
  }

  /// Waits until stdout is writable: another program may share its open file and have made it
  /// non-blocking.
  private func waitUntilWritable() {
    var item = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&item, 1, 1_000)
  }

  /// Reads to the end. Fails with an `errno`; `EFBIG` beyond `limit` bytes.
  func readAll(limit: Int) -> Result<[UInt8], SystemFailure> {
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe read(number, &buffer, buffer.count)
      if count == 0 { return .success(content) }
      if count < 0 {
        if errno == EINTR { continue }
        return .failure(SystemFailure(code: errno))
      }
      content.append(contentsOf: buffer.prefix(count))
      if content.count > limit { return .failure(SystemFailure(code: EFBIG)) }
    }
  }

  /// Reads the first line, or everything without a line end; at most `limit` bytes and one more.
  func readLine(limit: Int) -> Result<[UInt8], SystemFailure> {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while line.count <= limit {
      let count = unsafe read(number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count < 0 { return .failure(SystemFailure(code: errno)) }
      if count == 0 || byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    return .success(line)
  }

  /// Makes or replaces a file.
  static func replace(_ path: String, with bytes: [UInt8]) -> WriteResult {
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard number >= 0 else { return .failed(errno) }
    let result = Descriptor(number: number).write(bytes)
    // Some file systems report a full disk only here.
    guard close(number) == 0 || result != .written else { return .failed(errno) }
    return result
  }

  /// Returns the content of a file of at most `limit` bytes.
  static func contents(of path: String, limit: Int) -> Result<[UInt8], SystemFailure> {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return .failure(SystemFailure(code: errno)) }
    defer { close(number) }
    return Descriptor(number: number).readAll(limit: limit)
  }
}

struct SystemFailure: Error, Equatable {
  /// An `errno`.
  var code: Int32
  var text: String { unsafe String(cString: strerror(code)) }
  /// The file does not exist.
  var isAbsence: Bool { code == ENOENT || code == ENOTDIR }
  /// The file exceeds the limit.
  var isTooLarge: Bool { code == EFBIG }
}

/// Facts about this process and its user.
enum ThisProcess {
  /// A variable of the environment; nil when it is not set or empty.
  static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }

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

  /// Milliseconds since 1970, UTC.
  static var wallMilliseconds: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// The present offset of the user's clock, in seconds east of UTC.
  static var secondsEastOfUTC: Int {
    var now = time(nil)
    var local = unsafe tm()
    unsafe localtime_r(&now, &local)
    return unsafe local.tm_gmtoff
  }

  /// Returns why a host cannot be resolved; nil if it can. May take seconds.
  static func problem(ofHost host: String) -> String? {
    var found: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, nil, &found)
    guard code != 0 else {
      unsafe freeaddrinfo(found)
      return nil
    }
    guard let text = unsafe gai_strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
  }

  /// Makes writes to a closed pipe fail with EPIPE instead of ending the process.
  static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
  }
}
