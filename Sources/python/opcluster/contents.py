"""Reads and leaves what lies in stores of workers: files, and values too large for a message."""

from __future__ import annotations

import errno
import hashlib
import io
import logging
import os
import queue
import stat
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import IO, Protocol

import zmq

from opcluster import limits
from opcluster.connection import Connection, local_problem
from opcluster.errors import ConnectionFailed, OpClusterError, Refused, RemoteError
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import content_pb2, worker_pb2

_CREDIT = 8 * 1024 * 1024
_log = logging.getLogger("opcluster")

#: Milliseconds without a piece after which another holder is asked.
_SILENCE = 30_000
#: Milliseconds after which it is seen that nobody waits any more.
_STEP = 200
#: Tries while the coordinator's word to the holder may be on its way, and seconds between them.
_TRIES = 50
_PAUSE = 0.02
#: Seconds in which the first worker with a store may come.
_WORKER_SECONDS = 20.0
#: Seconds that somebody else may take to leave the same, and between two looks.
_BUSY_SECONDS, _BUSY_PAUSE = 1_800.0, 1.0
#: Seconds in which a worker that did not answer is not asked again.
_UNREACHED_SECONDS = 300.0
_NOBODY = (
    "no connected worker has it any more; wait until its worker is back, or run the operation again"
)
#: Seconds that a copy between workers may take, and bytes of it in each further one.
_COPY_SECONDS = 600.0
_COPY_BYTES_PER_SECOND = 1 << 20

#: Bytes of one message to a store.
_PIECE = 256 * 1024

Use = Callable[["bytes | BaseException"], None]


#: Gives the bytes from one place to another.
Pieces = Callable[[int, int], bytes]


class Content(Protocol):
    """Bytes that are named by their digest (SHA-256)."""

    @property
    def digest(self) -> bytes:
        """Its 32 bytes."""

    @property
    def size(self) -> int:
        """Its bytes."""

    def opened(self) -> AbstractContextManager[Pieces]:
        """Lets it be read piece by piece.

        :raises OSError: if it cannot be read any more.
        """


@dataclass(frozen=True)
class MemoryContent:
    """A content in memory, which must not change until it was left."""

    digest: bytes
    data: memoryview

    @classmethod
    def of(cls, data: bytes | memoryview) -> MemoryContent:
        """The content of these bytes."""
        view = memoryview(data).cast("B")
        return cls(hashlib.sha256(view).digest(), view)

    @property
    def size(self) -> int:
        return self.data.nbytes

    @contextmanager
    def opened(self) -> Iterator[Pieces]:
        yield lambda begin, end: bytes(self.data[begin:end])


@dataclass(frozen=True)
class FileContent:
    """A file as it was when its digest was made."""

    digest: bytes
    size: int
    path: str

    @classmethod
    def of(cls, path: str) -> FileContent:
        """Reads a whole file.

        :raises OSError: if it cannot be read, or is no plain file.
        """
        with _plain_file(path) as file:
            hashed, size = hashlib.sha256(), 0
            while piece := file.read(_PIECE):
                hashed.update(piece)
                size += len(piece)
        return cls(hashed.digest(), size, path)

    @contextmanager
    def opened(self) -> Iterator[Pieces]:
        with _plain_file(self.path) as file:

            def piece(begin: int, end: int) -> bytes:
                found = os.pread(file.fileno(), end - begin, begin)
                if len(found) != end - begin:
                    raise OSError(errno.ESTALE, "it has changed since it was read", self.path)
                return found

            yield piece


def _plain_file(path: str) -> IO[bytes]:
    """Opens a file; anything else might let its reader wait."""
    # Others block until somebody writes, or until the end of a tape.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no plain file", path)
    return file


@dataclass
class _Download:
    """What has come of a content so far."""

    digest: bytes
    size: int
    file: IO[bytes]
    received: int = 0
    hashed: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, piece: bytes) -> None:
        self.file.write(piece)
        self.hashed.update(piece)
        self.received += len(piece)

    @property
    def is_whole(self) -> bool:
        return self.received == self.size and self.hashed.digest() == self.digest

    def begin_again(self) -> None:
        self.file.seek(0)
        self.file.truncate()
        self.received, self.hashed = 0, hashlib.sha256()


@dataclass(eq=False)
class _Wish:
    """What the thread of the contents is to do, and who hears of its end."""

    work: Callable[[], bytes]
    use: Use
    is_wanted: Callable[[], bool] = lambda: True
    is_leaving: bool = False
    begin: float = field(default_factory=time.monotonic)
    # When to try again, if no worker was there.
    due: float = 0.0
    has_warned: bool = False


class _NoWorkerYet(Exception):
    """There is no worker to leave anything with, and it is to be tried again in some seconds."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class ContentExchange:
    """Reads and leaves contents one after the other, on a thread that begins with the first."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wishes: queue.Queue[_Wish | None] = queue.Queue()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._last = 0
        # Workers that did not answer, and until when they are not asked.
        self._unreached: dict[str, float] = {}
        keys = connection.keys
        # Stores on one machine know readers by the coordinator's word alone.
        self._pair = (keys.public, keys.secret) if keys else zmq.curve_keypair()

    def read(self, digest: bytes, size: int, use: Use) -> None:
        """Reads a content; `use` gets its bytes, or what went wrong, on the connection's thread."""

        def find() -> bytes:
            file = io.BytesIO()
            self._find(_Download(digest, size, file))
            return file.getvalue()

        self._add(_Wish(find, use))

    def save(self, digest: bytes, size: int, path: str, mode: int, use: Use) -> None:
        """Reads a content into a file, which takes its place as a whole; otherwise as `read`.

        :param mode: the permissions of the file.
        """

        def find() -> bytes:
            folder = os.path.dirname(os.path.abspath(path))
            os.makedirs(folder, exist_ok=True)
            descriptor, place = tempfile.mkstemp(prefix=".opcluster-", dir=folder)
            try:
                with os.fdopen(descriptor, "w+b") as file:
                    self._find(_Download(digest, size, file))
                    os.fchmod(file.fileno(), mode)
                os.replace(place, path)
            except BaseException:
                os.unlink(place)
                raise
            return b""

        self._add(_Wish(find, use))

    def leave(
        self, contents: Sequence[Content], use: Use, is_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Leaves contents with workers, except what one of them has already.

        `use` gets no bytes when all are there, or what went wrong, on the connection's thread.

        :param is_wanted: whether somebody still waits for it; asked in another thread, as long as
            no worker is there.
        """
        self._add(_Wish(lambda: self._leave_all(contents), use, is_wanted, is_leaving=True))

    def _add(self, wish: _Wish) -> None:
        with self._lock:
            if not self._is_closed:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="opcluster-contents", daemon=True
                    )
                    self._thread.start()
                self._wishes.put(wish)
                return
        wish.use(ConnectionFailed("the connection was closed"))

    def close(self) -> None:
        """Ends the thread; what it has not done fails."""
        with self._lock:
            self._is_closed = True
            if self._thread is not None:
                self._wishes.put(None)

    def _run(self) -> None:
        # What is to be left and waits for a worker: the first one asks for all, and what is to be
        # read goes before them.
        waiting: deque[_Wish] = deque()
        while True:
            pause = max(waiting[0].due - time.monotonic(), 0) if waiting else None
            try:
                wish = self._wishes.get(timeout=pause)
            except queue.Empty:
                if self._do(waiting[0]):
                    continue
                waiting.popleft()
                continue
            if wish is None:
                break
            if waiting and wish.is_leaving or self._do(wish):
                waiting.append(wish)
        for wish in waiting:
            self._tell(wish, ConnectionFailed("the connection was closed"))
        if self._context is not None:
            self._context.destroy(linger=0)

    def _do(self, wish: _Wish) -> bool:
        """Does what is wished; returns whether it has to wait for a worker."""
        found: bytes | BaseException
        try:
            if not wish.is_wanted():
                raise ConnectionFailed("nobody waits for it any more")
            found = wish.work()
        except _NoWorkerYet as later:
            wish.due = time.monotonic() + later.seconds
            if not wish.has_warned and time.monotonic() > wish.begin + _WORKER_SECONDS:
                wish.has_warned = True
                _log.warning("%s; waiting for one", later)
            return True
        except Exception as error:
            found = error
        self._tell(wish, found)
        return False

    def _tell(self, wish: _Wish, found: bytes | BaseException) -> None:
        use = wish.use
        try:
            self._connection.post(lambda: use(found))
        except OpClusterError as error:
            # The connection was closed; whoever waits for it must hear so.
            use(error)

    @property
    def _key(self) -> bytes:
        """By which stores know us where the connection has no keys."""
        return b"" if self._connection.keys else _from_z85(self._pair[0])

    def _leave_all(self, contents: Sequence[Content]) -> bytes:
        left = {content.digest: content for content in contents}
        digests = list(left)
        for begin in range(0, len(digests), limits.ROWS_PER_REPLY):
            part = digests[begin : begin + limits.ROWS_PER_REPLY]
            self._leave_some({digest: left[digest] for digest in part})
        return b""

    def _leave_some(self, left: dict[bytes, Content]) -> None:
        avoided: list[str] = []
        problem = ""
        tries = 0
        # Until then a worker may come, and until then one may be busy with the same.
        end = time.monotonic() + _WORKER_SECONDS
        busy_until = time.monotonic() + _BUSY_SECONDS
        while left and tries < _TRIES:
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
                if error.code == "WORKER_UNAVAILABLE" and error.retry_after:
                    # Operations would wait for a worker as well.
                    raise _NoWorkerYet(error.message, error.retry_after) from error
                if error.code == "WORKER_UNAVAILABLE" and time.monotonic() < end:
                    # A cluster that has just begun has no worker yet; one that has failed may be
                    # back.
                    avoided.clear()
                    self._pause(10 * _PAUSE)
                    continue
                raise RemoteError(
                    f"{sum(content.size for content in left.values())} bytes cannot be left with "
                    f"a worker: {problem or error}"
                ) from error
            digests = [placed.digests[at : at + 32] for at in range(0, len(placed.digests), 32)]
            # What has no place is with somebody.
            left = {digest: left[digest] for digest in digests if digest in left}
            before = len(left)
            is_busy = False
            sources = iter(placed.source)
            for digest, count in zip(digests, placed.count):
                places = [placed.sources[next(sources)] for _ in range(count)]
                if not places or digest not in left:
                    continue
                problem = self._leave(places[0], left[digest])
                if not problem:
                    del left[digest]
                elif problem.endswith("busy"):
                    # Somebody else leaves the same there, or has just stopped.
                    is_busy = time.monotonic() < busy_until
                elif not problem.endswith("not_granted"):
                    avoided.append(places[0].worker)
                    end = time.monotonic() + _WORKER_SECONDS
                    # Those who are silent have cost time.
                    tries += _TRIES // 5
            if left and is_busy:
                self._pause(_BUSY_PAUSE)
            elif left:
                tries = 0 if len(left) < before else tries + 1
                self._pause(_PAUSE)
        if left:
            raise RemoteError(f"{len(left)} contents cannot be left with a worker: {problem}")

    def _leave(self, source: worker_pb2.ContentSource, content: Content) -> str:
        """Leaves a content there; returns what went wrong, or nothing."""
        try:
            with content.opened() as pieces:
                return self._send(source, content, pieces)
        except OSError as error:
            raise RemoteError(f"a file cannot be left with a worker: {error}") from error

    def _send(
        self, source: worker_pb2.ContentSource, content: Content, pieces: Pieces
    ) -> str:
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
            if not self._has_come(dealer):
                return self._silent(source)
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
                    number=self._last, offset=sent, bytes=pieces(sent, end)
                )
                dealer.send(content_pb2.ContentRequest(piece=piece).SerializeToString())
                sent = end

    def _find(self, wanted: _Download) -> None:
        """Reads a content from those who have it, one after the other."""
        sources = self._holders(wanted)
        problem = _NOBODY
        now = time.monotonic()
        unreached = {worker for worker, until in self._unreached.items() if until > now}
        for _ in range(_TRIES):
            if not sources:
                break
            for source in sources:
                if source.worker in unreached:
                    problem = self._silent(source)
                    continue
                before = wanted.received
                problem = self._read(source, wanted)
                if wanted.is_whole:
                    return
                if problem == self._silent(source) and wanted.received == before:
                    unreached.add(source.worker)
                    self._unreached[source.worker] = time.monotonic() + _UNREACHED_SECONDS
            if unreached.issuperset(source.worker for source in sources):
                # As behind a firewall: another worker is given a copy.
                sources = self._bring(wanted, unreached, problem)
                continue
            self._pause(_PAUSE)
            sources = self._holders(wanted)
        raise RemoteError(f"{wanted.size} bytes cannot be read: {problem}")

    def _holders(self, wanted: _Download) -> list[worker_pb2.ContentSource]:
        locate = client.LocateContents(digests=wanted.digest, key=self._key)
        return _sources(self._connection.ask(locate=locate, timeout=60).located)

    def _bring(
        self, wanted: _Download, unreached: set[str], problem: str
    ) -> list[worker_pb2.ContentSource]:
        """Where a content is besides; waits as long as a copy may take."""
        end = time.monotonic() + _COPY_SECONDS + wanted.size / _COPY_BYTES_PER_SECOND
        pause = 0.1
        while not self._is_closed:
            try:
                bring = client.BringContent(
                    digest=wanted.digest,
                    size=wanted.size,
                    unreached=sorted(unreached),
                    key=self._key,
                )
                located = self._connection.ask(bring=bring, timeout=60).located
                if not located.digests:
                    raise RemoteError(f"{wanted.size} bytes cannot be read: {_NOBODY}")
                if sources := _sources(located):
                    return sources
            except TimeoutError:
                pass  # The coordinator is busy, or away for a moment.
            except Refused as error:
                # There may be no other store, or this key may only read.
                if error.code != "BUSY":
                    raise RemoteError(
                        f"{wanted.size} bytes cannot be read: {problem}; {error}"
                    ) from error
            if time.monotonic() > end:
                raise RemoteError(f"{wanted.size} bytes cannot be read: {problem}")
            self._pause(pause)
            pause = min(pause * 2, 2.0)
        raise ConnectionFailed("the connection was closed")

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

    def _pause(self, seconds: float) -> None:
        """Waits before the next try.

        :raises ConnectionFailed: if nobody wants it any more.
        """
        end = time.monotonic() + seconds
        while not self._is_closed:
            rest = end - time.monotonic()
            if rest <= 0:
                return
            time.sleep(min(rest, _STEP / 1_000))
        raise ConnectionFailed("the connection was closed")

    def _has_come(self, dealer: zmq.Socket[bytes]) -> bool:
        """Waits for an answer, as long as somebody may be silent.

        :raises ConnectionFailed: if nobody wants it any more.
        """
        end = time.monotonic() + _SILENCE / 1_000
        while not self._is_closed:
            if dealer.poll(_STEP):
                return True
            if time.monotonic() > end:
                return False
        raise ConnectionFailed("the connection was closed")

    def _silent(self, source: worker_pb2.ContentSource) -> str:
        return f"{source.endpoint} does not answer"

    def _read(self, source: worker_pb2.ContentSource, wanted: _Download) -> str:
        """Reads on there; returns what went wrong, or nothing."""
        dealer = self._socket(source)
        if isinstance(dealer, str):
            return dealer
        self._last += 1
        wish = content_pb2.ContentWish(
            number=self._last, digest=wanted.digest, offset=wanted.received, credit=_CREDIT
        )
        dealer.send(content_pb2.ContentRequest(wish=wish).SerializeToString())
        while True:
            if not self._has_come(dealer):
                return self._silent(source)
            answer = content_pb2.ContentAnswer.FromString(dealer.recv())
            if answer.number != self._last:
                continue
            if answer.refusal:
                name = content_pb2.ContentAnswer.Refusal.Name(answer.refusal)
                return f"{source.endpoint} says {name.removeprefix('REFUSAL_').lower()}"
            wanted.add(answer.piece)
            if wanted.received >= wanted.size or not answer.piece:
                break
            credit = content_pb2.ContentCredit(number=self._last, bytes=len(answer.piece))
            dealer.send(content_pb2.ContentRequest(credit=credit).SerializeToString())
        if not wanted.is_whole:
            wanted.begin_again()
            return f"{source.endpoint} has other bytes"
        return ""


def _sources(holders: worker_pb2.ContentHolders) -> list[worker_pb2.ContentSource]:
    """Those who have the one content that was asked for."""
    count = holders.count[0] if holders.count else 0
    return [holders.sources[at] for at in holders.source[:count]]


def _from_z85(text: bytes) -> bytes:
    from zmq.utils import z85

    return z85.decode(text)


def _to_z85(key: bytes) -> bytes:
    from zmq.utils import z85

    return z85.encode(key)
