"""The futures of calls on a cluster, and the pickles of their arguments."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import cloudpickle

from opcluster import calls, columns, limits, references
from opcluster.contents import Content, MemoryContent
from opcluster.errors import DependencyFailed

if TYPE_CHECKING:
    from opcluster.batches import Batch
    from opcluster.executor_core import ExecutorCore

T = TypeVar("T")

#: States of a future, as concurrent.futures names them.
_PENDING, _CANCELLED = "PENDING", "CANCELLED"

_PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes)



class _Pickling(threading.local):
    """The futures that the pickling of this thread has met; None: it pickles no arguments."""

    met: list[ClusterFuture[Any]] | None = None


_pickling = _Pickling()


class ClusterFuture(Future[T]):
    """The future of a call. As an argument of another call it becomes a dependency of it."""

    def __init__(self, core: ExecutorCore) -> None:
        super().__init__()
        self._core = core
        self._made_token = b""
        # Graph and index once it was submitted; graph 0: not accepted yet.
        self._place: columns.OperationKey | None = None
        self._batch: Batch | None = None
        self._has_begun = self._begin_is_held = False
        # Somebody waits for its result; it has ended, and its result may not have been read.
        self._is_awaited = self._has_ended = False

    @property
    def _token(self) -> bytes:
        """What stands for it in pickles: made late, since few need one."""
        with self._condition:
            if not self._made_token:
                self._made_token = os.urandom(references.TOKEN_BYTES)
            return self._made_token

    @property
    def operation(self) -> columns.OperationKey | None:
        """Graph and index of its operation; None: it was not accepted yet."""
        place = self._place
        return place if place is not None and place[0] else None

    def result(self, timeout: float | None = None) -> T:
        """What the call returned; waits for it, at most `timeout` seconds.

        :raises Refused: inside of an operation, if the wait could never end (``WOULD_DEADLOCK``,
            ``WOULD_STARVE``); the call is cancelled then.
        """
        self._await()
        with self._core.waits.waiting_for(self):
            return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the call raised, or None; otherwise as `result`."""
        self._await()
        with self._core.waits.waiting_for(self):
            return super().exception(timeout)

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        """As in concurrent.futures: `fn` gets the future once it has ended."""
        self._await()
        super().add_done_callback(fn)

    def _await(self) -> None:
        """Its result is wanted as soon as it is there."""
        if self.done():
            return
        # This order and that of `_note_end`: one of the two sees the other.
        self._is_awaited = True
        if self._has_ended:
            self._core.read_soon()

    def _note_end(self) -> bool:
        """It has ended, its result follows; whether somebody is known to wait for that."""
        self._has_ended = True
        return self._is_awaited or bool(self._waiters)

    def cancel(self) -> bool:
        """Cancels the call unless it runs or has ended.

        Asks the coordinator and waits for its answer if the call was submitted.
        """
        if self.done() or self.running():
            return self.cancelled()
        return self._core.cancel(self)

    def stop(self) -> None:
        """Asks the call to stop, also if it runs: `Cancelled` is raised in it."""
        if not self.done():
            self._core.stop([self])

    def _cancel_locally(self) -> bool:
        """Ends as cancelled, and tells those who wait; false if it runs or has ended otherwise."""
        if not super().cancel():
            return False
        # Several threads may come here: waiters are told once.
        with self._condition:
            if self._state == _CANCELLED:
                self.set_running_or_notify_cancel()
        return True

    def _begin(self) -> None:
        """It runs, unless it was cancelled meanwhile."""
        with self._condition:
            self._has_begun = True
            if self._state == _PENDING and not self._begin_is_held:
                self.set_running_or_notify_cancel()

    def _hold_begin(self, is_held: bool) -> None:
        """While the coordinator is asked to cancel it, it is not said to run."""
        with self._condition:
            self._begin_is_held = is_held
            if self._has_begun and not is_held:
                self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        met = _pickling.met
        if met is None:
            raise TypeError("a future can be pickled only as an argument of another call")
        if self.done() and not self.cancelled() and self.exception() is None:
            return (_itself, (self.result(),))
        met.append(self)
        return (references.resolve, (self._token,))


def check_dependencies(met: list[ClusterFuture[Any]], core: ExecutorCore) -> None:
    """Looks at the futures among the arguments of a call.

    :raises ValueError: if one is of another executor.
    :raises DependencyFailed: if one has ended without success.
    """
    for dependency in met:
        if dependency._core is not core:
            raise ValueError("a future among the arguments is of another executor")
        if dependency.done():
            cause = None if dependency.cancelled() else dependency.exception()
            raise DependencyFailed("a future among its arguments did not succeed") from cause


def _itself(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class PickledArguments:
    """The argument of an element, and what of it has to lie in stores of workers."""

    argument: bytes
    contents: tuple[Content, ...] = ()


def pickled_arguments(
    arguments: tuple[Any, ...], keywords: dict[str, Any], met: list[ClusterFuture[Any]]
) -> PickledArguments:
    """The pickle of arguments; futures in it are put into `met`.

    Large arrays, and all of it where it is large, become contents.
    """
    buffers: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        try:
            view = buffer.raw()
        except BufferError:  # Not contiguous: it is copied into the pickle.
            return True
        if view.nbytes < limits.SEPARATE_BUFFER_BYTES or len(buffers) >= limits.BUFFERS_PER_CALL:
            return True
        buffers.append(view)
        return False

    _pickling.met = met
    try:
        if not keywords and all(type(argument) in _PLAIN_TYPES for argument in arguments):
            pickled = pickle.dumps((arguments, keywords), calls.PICKLE_PROTOCOL)
        else:
            pickled = cloudpickle.dumps(
                (arguments, keywords), calls.PICKLE_PROTOCOL, buffer_callback=is_small
            )
    finally:
        _pickling.met = None
    if not buffers and len(pickled) <= limits.ELEMENT_ARGUMENT_BYTES:
        return PickledArguments(pickled)
    contents: list[Content] = [MemoryContent.of(buffer) for buffer in buffers]
    places = tuple((content.digest, content.size) for content in contents)
    begin: bytes | references.Place = pickled
    if len(pickled) > limits.ELEMENT_ARGUMENT_BYTES // 2:
        # Futures have their tokens replaced in the argument itself.
        if met:
            raise ValueError(
                f"arguments of {len(pickled)} bytes cannot have futures among them; let the call "
                "of another function make the large value"
            )
        contents.append(MemoryContent.of(pickled))
        begin = (contents[-1].digest, contents[-1].size)
    opening = pickle.dumps(references.Opening(begin, places), calls.PICKLE_PROTOCOL)
    return PickledArguments(opening, tuple(contents))
