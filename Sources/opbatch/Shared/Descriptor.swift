// The only place in opbatch that speaks to the kernel: writing whole texts to a stream, reading a
// file or stdin within a bound, asking a terminal for its size. Any thread.

import Glibc

/// A stream of this process.
struct Descriptor: Sendable {
  var number: Int32
  static let input = Descriptor(number: 0)
  static let output = Descriptor(number: 1)
  static let error = Descriptor(number: 2)

  /// What became of bytes that were to be written.
  enum WriteResult: Equatable {
    case written
    /// Nobody reads any more (EPIPE); a pipe into `head` that has seen enough.
    case closed
    /// The disk is full, or the like: an `errno`.
    case failed(Int32)
  }

  var isTerminal: Bool { isatty(number) == 1 }

  /// Columns of the terminal; nil where there is none or it does not say.
  var columns: Int? {
    var size = winsize()
    guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// What a stream is connected to.
  enum Kind: Equatable {
    /// It is closed.
    case nothing
    case terminal
    /// Another device, such as /dev/null: there is no end to wait for.
    case device
    /// A file, by its name where it has one, and whether nothing of it has been read.
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

  /// Whether there is something to read, or the end, within a time.
  func waitUntilReadable(milliseconds: Int32) -> Bool {
    var item = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&item, 1, milliseconds) > 0
  }

  /// Writes everything, waiting as long as the reader takes.
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

  /// Our stdout may share its open file with a program that made it non-blocking.
  private func waitUntilWritable() {
    var item = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&item, 1, 1_000)
  }

  /// Everything until the end; nil and `errno` when it cannot be read, more than `limit` bytes
  /// are `EFBIG`.
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

  /// The first line, or everything where there is none; no more than `limit` bytes and one.
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
    // Some file systems tell only here that the disk is full.
    guard close(number) == 0 || result != .written else { return .failed(errno) }
    return result
  }

  /// The content of a file of at most `limit` bytes.
  static func contents(of path: String, limit: Int) -> Result<[UInt8], SystemFailure> {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return .failure(SystemFailure(code: errno)) }
    defer { close(number) }
    return Descriptor(number: number).readAll(limit: limit)
  }
}

/// What the kernel answered.
struct SystemFailure: Error, Equatable {
  /// An `errno`.
  var code: Int32
  var text: String { unsafe String(cString: strerror(code)) }
  /// There is no such file.
  var isAbsence: Bool { code == ENOENT || code == ENOTDIR }
  /// More than was to be read.
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

  /// The folder that relative paths are taken from.
  static var workingFolder: String {
    guard let path = unsafe getcwd(nil, 0) else { return "/" }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// The one name that a folder has, however it is reached; nil where it cannot be found.
  static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }

  static var user: UInt32 { getuid() }

  /// The name of the account that we run as; nil when it has none.
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

  /// Seconds that the user's clock is east of UTC now.
  static var secondsEastOfUTC: Int {
    var now = time(nil)
    var local = unsafe tm()
    unsafe localtime_r(&now, &local)
    return unsafe local.tm_gmtoff
  }

  /// Why a host cannot be looked up; nil: it can. May take seconds.
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

  /// Lets writes to a closed pipe fail with EPIPE instead of ending the process.
  static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
  }
}
