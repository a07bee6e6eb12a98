// Single frames in and out of a raw socket, as libzmq has them: without blocking, and without being
// disturbed by signals. On the thread of the socket.

import CZeroMQ
import Glibc

enum Frame {
  /// Hands one frame to libzmq, which copies it; 0 or the `errno`, never `EINTR` (A14).
  static func transmit(
    _ bytes: UnsafeRawPointer, _ count: Int, to raw: UnsafeMutableRawPointer, flags: Int32
  ) -> Int32 {
    while true {
      if unsafe zmq_send(raw, bytes, count, flags) >= 0 { return 0 }
      let code = zmq_errno()
      if code != EINTR { return code }
    }
  }

  /// Takes one frame in place of what `frame` holds; 0 or the `errno`, never `EINTR` (A14).
  static func next(
    _ frame: inout zmq_msg_t, from raw: UnsafeMutableRawPointer
  ) -> Int32 {
    while true {
      if unsafe zmq_msg_recv(&frame, raw, ZMQ_DONTWAIT) >= 0 { return 0 }
      let code = zmq_errno()
      if code != EINTR { return code }
    }
  }

  /// The bytes of a frame, valid until the frame changes.
  static func content(_ frame: inout zmq_msg_t) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: zmq_msg_data(&frame), count: zmq_msg_size(&frame))
  }
}
