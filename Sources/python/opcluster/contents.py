"""Reads and leaves values that lie in stores of workers, too large for a message."""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import zmq

from opcluster.connection import Connection, local_problem
from opcluster.errors import OpClusterError, Refused, RemoteError
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import content_pb2, worker_pb2

_CREDIT = 8 * 1024 * 1024
#: Milliseconds without a piece after which another holder is asked.
_SILENCE = 30_000
#: Tries while the coordinator's word to the holder may be on its way.
_TRIES = 50

#: Bytes of one message to a store.
_PIECE = 256 * 1024

Use = Callable[["bytes | BaseException"], None]


@dataclass(frozen=True)
class Content:
    """Bytes that are named by their digest (SHA-256)."""

    digest: bytes
    data: memoryview

    @classmethod
    def of(cls, data: bytes | memoryview) -> Content:
        """The content of these bytes, which must not change until it was left."""
        view = memoryview(data).cast("B")
        return cls(hashlib.sha256(view).digest(), view)

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.data.nbytes


class ContentExchange:
    """Reads and leaves contents one after the other, on a thread that begins with the first."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wishes: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._last = 0
        keys = connection.keys
        # Stores on one machine know readers by the coordinator's word alone.
        self._pair = (keys.public, keys.secret) if keys else zmq.curve_keypair()

    def read(self, digest: bytes, size: int, use: Use) -> None:
        """Reads a content; `use` gets its bytes, or what went wrong, on the connection's thread."""
        self._add(lambda: self._find(digest, size), use)

    def leave(self, contents: Sequence[Content], use: Use) -> None:
        """Leaves contents with workers, except what one of them has already.

        `use` gets no bytes when all are there, or what went wrong, on the connection's thread.
        """
        self._add(lambda: self._leave_all(contents), use)

    def _add(self, work: Callable[[], bytes], use: Use) -> None:
        def task() -> None:
            found: bytes | BaseException
            try:
                found = work()
            except Exception as error:
                found = error
            self._connection.post(lambda: use(found))

        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="opcluster-contents", daemon=True
                )
                self._thread.start()
        self._wishes.put(task)

    def close(self) -> None:
        """Ends the thread when it has done what was asked."""
        if self._thread is not None:
            self._wishes.put(None)

    def _run(self) -> None:
        while (task := self._wishes.get()) is not None:
            try:
                task()
            except OpClusterError:
                break  # The connection was closed: nobody waits any more.
        if self._context is not None:
            self._context.destroy(linger=0)

    @property
    def _key(self) -> bytes:
        """By which stores know us where the connection has no keys."""
        return b"" if self._connection.keys else _from_z85(self._pair[0])

    def _leave_all(self, contents: Sequence[Content]) -> bytes:
        left = {content.digest: content for content in contents}
        avoided: list[str] = []
        problem = ""
        for _ in range(_TRIES):
            try:
                placed = self._connection.ask(
                    place=client.PlaceContents(
                        digests=b"".join(left),
                        sizes=[content.size for content in left.values()],
                        avoided=avoided,
                        key=self._key,
                    ),
                    timeout=60,
                ).placed
            except Refused as error:
                raise RemoteError(
                    f"arguments of {sum(content.size for content in left.values())} bytes cannot "
                    f"be left with a worker: {problem or error}"
                ) from error
            digests = [placed.digests[at : at + 32] for at in range(0, len(placed.digests), 32)]
            # What has no place is with somebody.
            left = {digest: left[digest] for digest in digests if digest in left}
            if not left:
                return b""
            sources = iter(placed.source)
            for digest, count in zip(digests, placed.count):
                places = [placed.sources[next(sources)] for _ in range(count)]
                if not places or digest not in left:
                    continue
                problem = self._leave(places[0], left[digest])
                if not problem:
                    del left[digest]
                elif not problem.endswith(("busy", "not_granted")):
                    avoided.append(places[0].worker)
            if not left:
                return b""
            threading.Event().wait(0.02)
        raise RemoteError(f"arguments cannot be left with a worker: {problem}")

    def _leave(self, source: worker_pb2.ContentSource, content: Content) -> str:
        """Leaves a content there; returns what went wrong, or nothing."""
        dealer = self._socket(source)
        if isinstance(dealer, str):
            return dealer
        self._last += 1
        offer = content_pb2.ContentOffer(
            number=self._last, digest=content.digest, size=content.size
        )
        dealer.send(content_pb2.ContentRequest(offer=offer).SerializeToString())
        sent = allowed = 0
        has_begun = False
        while True:
            if not dealer.poll(_SILENCE):
                return f"{source.endpoint} does not answer"
            answer = content_pb2.ContentAnswer.FromString(dealer.recv())
            if answer.number != self._last:
                continue
            if answer.refusal:
                name = content_pb2.ContentAnswer.Refusal.Name(answer.refusal)
                return f"{source.endpoint} says {name.removeprefix('REFUSAL_').lower()}"
            if answer.is_kept:
                return ""
            if not has_begun:
                has_begun, sent = True, answer.offset
                allowed = sent
            allowed += answer.credit
            while sent < min(allowed, content.size):
                end = min(sent + _PIECE, allowed, content.size)
                piece = content_pb2.ContentPiece(
                    number=self._last, offset=sent, bytes=bytes(content.data[sent:end])
                )
                dealer.send(content_pb2.ContentRequest(piece=piece).SerializeToString())
                sent = end

    def _find(self, digest: bytes, size: int) -> bytes:
        problem = "no worker has it any more"
        for _ in range(_TRIES):
            located = self._connection.ask(
                locate=client.LocateContents(digests=digest, key=self._key), timeout=60
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
