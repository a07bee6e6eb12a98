// The child's side of a `FrameChannel`, taken from standard input. One thread receives frames and
// waits for them; any thread sends.

import CProcess
import Glibc
import Synchronization

/// The channel to the process that started this one.
public final class ParentChannel: Sendable {
  private let number: Int32
  private let sending = Mutex(())

  private init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// Takes the channel from standard input, which is empty from then on; nil if there is no
  /// channel.
  public static func take() -> ParentChannel? {
    var information = stat()
    guard unsafe fstat(0, &information) == 0, information.st_mode & S_IFMT == S_IFSOCK else {
      return nil
    }
    let number = fcntl(0, F_DUPFD_CLOEXEC, 3)
    guard number >= 0 else { return nil }
    if let nullDevice = Descriptor.open("/dev/null", O_RDWR) { dup2(nullDevice.number, 0) }
    return ParentChannel(number)
  }

  /// Waits for the next frame; nil if the parent has gone or dismisses this process.
  public func receive() -> [UInt8]? {
    guard let header = read(Frame.headerSize), let length = Frame.length(header),
      length <= FrameChannel.frameLimit
    else { return nil }
    return read(length)
  }

  /// Sends a frame and waits until the kernel has it. Drops it if the parent has gone: `receive`
  /// reports that.
  public func send(_ frame: [UInt8]) {
    precondition(frame.count <= FrameChannel.frameLimit, "a frame of \(frame.count) bytes")
    let bytes = Frame.header(frame.count) + frame
    sending.withLock { _ in
      var sent = 0
      while sent < bytes.count {
        let count = unsafe bytes.withUnsafeBytes { bytes in
          unsafe Glibc.send(
            number, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        sent += count
      }
    }
  }

  /// Reads exactly `wanted` bytes; nil if there are fewer.
  private func read(_ wanted: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < wanted {
      var count = 0
      var error: Int32 = 0
      let size = min(wanted - bytes.count, 1 << 20)
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
        unsafe count = recv(number, buffer.baseAddress, size, 0)
        error = errno
        filled = max(0, count)
      }
      if count < 0, error == EINTR { continue }
      guard count > 0 else { return nil }
      bytes += piece
    }
    return bytes
  }
}

/// The output streams of this process, for one that works for several owners in turn.
public final class StandardStreams: Sendable {
  /// Files that are this process's own; what an owner wrote there, another process moves away. nil:
  /// the files of each owner are made where they stay.
  private let own: (output: String, error: String)?
  /// The own files, open to look at, by the number of their stream.
  private let files = Mutex<[Int32: Int32]>([:])

  public init(own: (output: String, error: String)?) { self.own = own }

  deinit { for file in files.withLock({ $0.values }) { Glibc.close(file) } }

  /// Lets standard output and standard error append to this process's own files, or to these, made
  /// with mode 0600.
  public func open(output: String, error: String) {
    if let own {
      let streams = [(Int32(1), own.output), (2, own.error)]
      for (number, path) in streams { look(at: path, number) }
      Self.redirect(streams, O_WRONLY | O_APPEND | O_NOFOLLOW)
    } else {
      Self.redirect([(1, output), (2, error)], O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW)
    }
  }

  /// Drops from now on what is written. Own files that processes have open which the owner has left
  /// behind are given up.
  public func close() {
    Self.redirect([(1, "/dev/null"), (2, "/dev/null")], O_WRONLY)
    for file in files.withLock({ $0.values }) where Self.isEmpty(file) && !Self.isAtRest(file) {
      fchmod(file, 0)
    }
  }

  /// Keeps an own file open to look at. A new one is there where the last owner used the former
  /// one.
  private func look(at path: String, _ number: Int32) {
    files.withLock { files in
      if let file = files[number] {
        if Self.isEmpty(file) { return }
        Glibc.close(file)
      }
      let file = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
      files[number] = file >= 0 ? file : nil
    }
  }

  /// Whether nobody has written to a file or removed it.
  private static func isEmpty(_ file: Int32) -> Bool {
    var state = stat()
    return unsafe fstat(file, &state) == 0 && state.st_size == 0 && state.st_nlink == 1
  }

  private static func redirect(_ streams: [(Int32, String)], _ flags: Int32) {
    for (number, path) in streams {
      fflush(nil)
      guard let file = Descriptor.open(path, flags, mode: 0o600) else { continue }
      dup2(file.number, number)
    }
  }

  /// Whether nobody has a file open for writing: then the kernel grants a lease on it. Children
  /// alone would not tell: a shell leaves what it runs in the background to others.
  private static func isAtRest(_ file: Int32) -> Bool {
    fcntl(file, setLease, Int32(F_RDLCK)) == 0 && fcntl(file, setLease, Int32(F_UNLCK)) == 0
  }

  /// `F_SETLEASE` of Linux, which the module of the C library leaves out.
  private static let setLease: Int32 = 1_024
}

extension OperationEnvironment {
  /// Returns this process's variables for a similar child, without the marks of its own process
  /// trees. For an account, replaces the variables that identify the present user by the account's
  /// own.
  public static func inherited(by account: LocalAccount?) -> [(name: String, value: String)] {
    var variables: [(name: String, value: String)] = []
    guard let bytes = Descriptor.open("/proc/self/environ", O_RDONLY)?.read(upTo: 4 << 20) else {
      return []
    }
    for entry in bytes.split(separator: 0) {
      guard let equals = entry.firstIndex(of: UInt8(ascii: "=")), equals != entry.startIndex else {
        continue
      }
      let name = String(decoding: entry[..<equals], as: UTF8.self)
      if name == ProcessFence.variable || (account != nil && isOwn(name)) { continue }
      variables.append((name, String(decoding: entry[(equals + 1)...], as: UTF8.self)))
    }
    guard let account else { return variables }
    return variables + [
      ("HOME", account.home), ("USER", account.name), ("LOGNAME", account.name),
    ]
  }

  /// Whether a variable concerns a service, or the account that it runs as.
  private static func isOwn(_ name: String) -> Bool {
    let names = ["HOME", "USER", "LOGNAME", "MAIL", "SHELL", "NOTIFY_SOCKET", "WATCHDOG_PID"]
    let beginnings = ["OPWORKER_", "XDG_", "SUDO_", "CREDENTIALS_", "SSH_"]
    return names.contains(name) || beginnings.contains { name.hasPrefix($0) }
  }
}
