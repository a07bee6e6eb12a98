"""Reads values that lie in stores of workers, too large for a message."""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable

import zmq

from opcluster.connection import Connection, local_problem
from opcluster.errors import OpClusterError, RemoteError
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import content_pb2, worker_pb2

_CREDIT = 8 * 1024 * 1024
#: Milliseconds without a piece after which another holder is asked.
_SILENCE = 30_000
#: Tries while the coordinator's word to the holder may be on its way.
_TRIES = 50

Use = Callable[["bytes | BaseException"], None]


class ContentReader:
    """Reads contents one after the other, on a thread of its own that begins with the first."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wishes: queue.Queue[tuple[bytes, int, Use] | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._last = 0
        keys = connection.keys
        # Stores on one machine know readers by the coordinator's word alone.
        self._pair = (keys.public, keys.secret) if keys else zmq.curve_keypair()

    def read(self, digest: bytes, size: int, use: Use) -> None:
        """Reads a content; `use` gets its bytes, or what went wrong, on the connection's thread."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="opcluster-contents", daemon=True
            )
            self._thread.start()
        self._wishes.put((digest, size, use))

    def close(self) -> None:
        """Ends the thread when it has read what was asked."""
        if self._thread is not None:
            self._wishes.put(None)

    def _run(self) -> None:
        while (wish := self._wishes.get()) is not None:
            digest, size, use = wish
            found: bytes | BaseException
            try:
                found = self._find(digest, size)
            except Exception as error:
                found = error
            try:
                self._connection.post(lambda use=use, found=found: use(found))  # type: ignore[misc]
            except OpClusterError:
                break
        if self._context is not None:
            self._context.destroy(linger=0)

    def _find(self, digest: bytes, size: int) -> bytes:
        key = b"" if self._connection.keys else _from_z85(self._pair[0])
        problem = "no worker has it any more"
        for _ in range(_TRIES):
            located = self._connection.ask(
                locate=client.LocateContents(digests=digest, key=key), timeout=60
            ).located
            for at in located.source[: located.count[0] if located.count else 0]:
                answer = self._read(located.sources[at], digest, size)
                if isinstance(answer, bytes):
                    return answer
                problem = answer
            if not located.sources:
                break
            threading.Event().wait(0.02)
        raise RemoteError(f"its result of {size} bytes cannot be read: {problem}")

    def _socket(self, source: worker_pb2.ContentSource) -> zmq.Socket[bytes] | str:
        if source.endpoint in self._sockets:
            return self._sockets[source.endpoint]
        if source.endpoint.startswith("ipc://"):
            trouble = local_problem(source.endpoint.removeprefix("ipc://"))
            if trouble is not None:
                return f"{source.endpoint}: {trouble}"
        if self._context is None:
            self._context = zmq.Context()
        dealer = self._context.socket(zmq.DEALER)
        dealer.linger = 0
        if source.key:
            dealer.curve_serverkey = _to_z85(source.key)
            dealer.curve_publickey, dealer.curve_secretkey = self._pair
        dealer.connect(source.endpoint)
        self._sockets[source.endpoint] = dealer
        return dealer

    def _read(self, source: worker_pb2.ContentSource, digest: bytes, size: int) -> bytes | str:
        """The bytes, or why they are not to be had there."""
        dealer = self._socket(source)
        if isinstance(dealer, str):
            return dealer
        self._last += 1
        wish = content_pb2.ContentWish(number=self._last, digest=digest, offset=0, credit=_CREDIT)
        dealer.send(content_pb2.ContentRequest(wish=wish).SerializeToString())
        found = bytearray()
        while True:
            if not dealer.poll(_SILENCE):
                return f"{source.endpoint} does not answer"
            answer = content_pb2.ContentAnswer.FromString(dealer.recv())
            if answer.number != self._last:
                continue
            if answer.refusal:
                name = content_pb2.ContentAnswer.Refusal.Name(answer.refusal)
                return f"{source.endpoint} says {name.removeprefix('REFUSAL_').lower()}"
            found += answer.piece
            if len(found) >= size or not answer.piece:
                break
            credit = content_pb2.ContentCredit(number=self._last, bytes=len(answer.piece))
            dealer.send(content_pb2.ContentRequest(credit=credit).SerializeToString())
        if len(found) != size or hashlib.sha256(found).digest() != digest:
            return f"{source.endpoint} has other bytes"
        return bytes(found)


def _from_z85(text: bytes) -> bytes:
    from zmq.utils import z85

    return z85.decode(text)


def _to_z85(key: bytes) -> bytes:
    from zmq.utils import z85

    return z85.encode(key)
