// The host's timer and its epoll descriptor; loop thread only.

import CProcess
import Glibc

/// A timer whose descriptor becomes readable at each tick.
final class Ticker {
  let descriptor: Descriptor
  private var milliseconds: UInt32 = 0
  private var idleTicks = 0

  init?() {
    let number = op_timer_make()
    guard number >= 0 else { return nil }
    descriptor = Descriptor(number)
  }

  /// Sets the milliseconds between ticks if they differ.
  func set(_ wanted: UInt32) {
    idleTicks = 0
    apply(wanted)
  }

  /// Notes a tick without work: the third one in a row stops the timer.
  func idle() {
    idleTicks += 1
    apply(idleTicks < 3 ? 20 : 0)
  }

  /// Makes the descriptor unreadable until the next tick.
  func acknowledge() {
    var ticks: UInt64 = 0
    _ = unsafe read(descriptor.number, &ticks, 8)
  }

  private func apply(_ wanted: UInt32) {
    guard wanted != milliseconds else { return }
    milliseconds = wanted
    op_timer_set(descriptor.number, wanted)
  }
}

extension Descriptor {
  /// Adds a descriptor to this epoll set, reported by its token when it is readable.
  func watch(_ other: borrowing Descriptor, token: UInt64) -> Bool {
    op_poller_watch(number, other.number, token) == 0
  }

  /// The tokens of descriptors in this epoll set that are readable now.
  func readyTokens(upTo limit: Int) -> [UInt64] {
    unsafe [UInt64](unsafeUninitializedCapacity: limit) { tokens, count in
      unsafe count = op_poller_ready(number, tokens.baseAddress!, limit)
    }
  }
}
