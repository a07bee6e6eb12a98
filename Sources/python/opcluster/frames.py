"""Frames on a socket between a worker and its interpreter: a length of 4 bytes, then a message."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable

from opcluster import limits

_LENGTH = struct.Struct(">I")
_PIECE = 256 * 1024
#: Linux: who gets SIGIO, as a thread (F_OWNER_TID). The module fcntl has no name for it.
_F_SETOWN_EX = 15
_F_OWNER_TID = 0


class FrameError(Exception):
    """The bytes on the socket are no frames: the two sides are of different releases."""


class FrameBuffer:
    """Cuts a stream of bytes into frames. Pure."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._at = 0

    def add(self, piece: bytes) -> None:
        """Takes the next bytes of the stream."""
        if self._at == len(self._bytes):
            self._bytes = bytearray(piece)
            self._at = 0
        else:
            self._bytes += piece

    def take(self) -> bytes | None:
        """Returns the next whole frame; None: there is none yet.

        :raises FrameError: for a frame beyond 16 MiB.
        """
        begin = self._at + _LENGTH.size
        if len(self._bytes) < begin:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes, self._at)
        if length > limits.MESSAGE_BYTES:
            raise FrameError(f"a frame of {length} bytes, more than {limits.MESSAGE_BYTES}")
        end = begin + length
        if len(self._bytes) < end:
            return None
        frame = bytes(memoryview(self._bytes)[begin:end])
        self._at = end
        if self._at >= _PIECE:
            del self._bytes[: self._at]
            self._at = 0
        return frame


class FrameChannel:
    """One end of a stream of frames. One thread receives; any thread sends."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = FrameBuffer()
        self._sending = threading.Lock()

    @property
    def descriptor(self) -> int:
        """The descriptor of the socket."""
        return self._socket.fileno()

    def receive(self) -> bytes | None:
        """Waits for the next frame; None: the other side has gone."""
        while True:
            frame = self._buffer.take()
            if frame is not None:
                return frame
            piece = self._socket.recv(_PIECE)
            if not piece:
                return None
            self._buffer.add(piece)

    def drain(self, use: Callable[[bytes], None]) -> bool:
        """Uses the frames that have come, without waiting; returns whether the other side lives."""
        while True:
            while (frame := self._buffer.take()) is not None:
                use(frame)
            try:
                piece = self._socket.recv(_PIECE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not piece:
                return False
            self._buffer.add(piece)

    def send(self, frame: bytes) -> None:
        """Sends a frame, and drops it if the other side has gone: `receive` tells of that."""
        with self._sending:
            try:
                self._socket.sendall(_LENGTH.pack(len(frame)) + frame, socket.MSG_NOSIGNAL)
            except OSError:
                pass

    def own_signals(self) -> None:
        """Has the calling thread get SIGIO for whatever comes from now on.

        To switch that on and off for each function costs ten times as much as a signal.
        """
        owner = struct.pack("ii", _F_OWNER_TID, threading.get_native_id())
        file = self._socket.fileno()
        fcntl.fcntl(file, _F_SETOWN_EX, owner)
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_ASYNC)

    def close(self) -> None:
        """Closes this end."""
        self._socket.close()
