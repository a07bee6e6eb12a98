"""An executor of `concurrent.futures` whose calls run on a cluster."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar, cast

from opcluster.cluster_access import ClusterAccess
from opcluster.connection import Connection
from opcluster.errors import Refused
from opcluster.executor_core import ExecutorCore
from opcluster.futures import ClusterFuture
from opcluster.operations import own_import_paths, resources
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words

T = TypeVar("T")
P = ParamSpec("P")


_executors: weakref.WeakSet[ClusterExecutor] = weakref.WeakSet()


def _at_exit() -> None:
    """The program ends: what was submitted gets its results first, as other executors do it."""
    for executor in list(_executors):
        executor.shutdown(wait=True)


# Before threads are joined, as concurrent.futures does it; later would be too late.
getattr(threading, "_register_atexit")(_at_exit)


class ClusterExecutor(Executor):
    """Runs calls on the workers of a cluster, in interpreters that have this package.

    A function of a module is imported there; one of the program itself goes with the call.
    Functions may be called again if their worker is lost.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        max_workers: int | None = None,
        queue: str | None = None,
        python: str | None = sys.executable,
        venv: str | None = None,
        cpus: float = 1.0,
        memory: int = 0,
        gpus: float = 0.0,
        import_paths: Iterable[str] | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        name: str = "python",
        keys: str | None = None,
        programs: str | None = None,
    ) -> None:
        """Connects to a cluster.

        :param address: ``tcp://`` or ``ipc://``; None: the configured cluster, else one of our
            own on this machine, which ends with the executor.
        :param max_workers: calls that run at once; None: as many as the cluster has room for.
        :param queue: the name of an existing queue; None: ``default``.
        :param python: the workers' interpreter, by its path there or by its name.
        :param venv: the folder of a virtual environment there, instead of `python`.
        :param cpus: processors of one call; `memory`: its bytes; `gpus`: its gpus.
        :param import_paths: folders in which the workers find modules besides; None: those of
            ``sys.path``, which helps on one machine and with shared folders.
        :param initializer: is called with `initargs` once in each process, before its first call.
        :param name: of the graphs, for people.
        :param keys: the folder of the key for ``tcp://``; None: the usual one.
        :param programs: the folder of ``opcoord`` and ``opworker``; None: PATH.
        :raises ConnectionFailed: if there is no cluster.
        :raises Refused: if the coordinator refuses us, or the queue's name.
        :raises ValueError: if `max_workers` is not positive, or given with a queue.
        """
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if max_workers is not None and queue is not None:
            raise ValueError("a queue has a limit of its own; give max_workers or queue")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        access = ClusterAccess.find(address, keys=keys, programs=programs)
        own_queue = None
        try:
            if max_workers is not None:
                own_queue = f"python-{uuid.uuid4().hex[:12]}"
                access.connection.ask(
                    timeout=60,
                    create_queue=words.QueueSettings(
                        name=own_queue, maximum_concurrent=max_workers
                    ),
                )
            elif queue is not None:
                _check_queue(access.connection, queue)
        except BaseException:
            access.release()
            raise
        if import_paths is None:
            import_paths = own_import_paths()
        self._core = ExecutorCore(
            access,
            queue=own_queue or queue,
            own_queue=own_queue,
            interpreter=None if venv else python,
            venv=venv,
            paths=tuple(import_paths),
            demand=resources(cpus, memory, gpus),
            initializer=None if initializer is None else (initializer, initargs),
            name=name,
        )
        self._max_workers = max_workers or max(1, len(os.sched_getaffinity(0)))
        # Without the executor nobody can submit any more.
        self._finalizer = weakref.finalize(self, self._core.shut_down, False)
        self._finalizer.atexit = False
        _executors.add(self)

    @property
    def connection(self) -> Connection:
        """Its connection, for requests of one's own."""
        return self._core.connection

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> ClusterFuture[T]:
        """Calls ``fn(*args, **kwargs)`` on a worker.

        Futures of this executor among the arguments, also inside of lists and other objects,
        stand for their results: the call runs when they have succeeded.

        :raises RuntimeError: after `shutdown`.
        """
        if not self._core.connection.is_here:
            raise RuntimeError("the executor is of the process that has forked this one")
        with self._core.lock:
            if self._core.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
        return self._core.submit(fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., T],
        /,
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        """The results of ``fn`` for the entries of `iterables`, in their order.

        :param timeout: seconds from this call on, after which `TimeoutError` is raised.
        :param chunksize: entries of one call at a worker.
        :param buffersize: calls that are submitted before the first result is asked for; each
            result that is asked for adds one. None: all are submitted at once.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None and not isinstance(buffersize, int):
            raise TypeError("buffersize must be an integer or None")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        end = None if timeout is None else time.monotonic() + timeout
        entries = zip(*iterables)
        if chunksize == 1:
            made = (cast("Future[Any]", self.submit(fn, *entry)) for entry in entries)
            return _ordered_results(made, buffersize, end)
        chunked: Iterator[Future[Any]] = (
            self._core.submit(fn, (chunk,), {}, is_chunked=True)
            for chunk in iter(lambda: list(itertools.islice(entries, chunksize)), [])
        )
        return itertools.chain.from_iterable(_ordered_results(chunked, buffersize, end))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls.

        :param wait: return when every call has its result.
        :param cancel_futures: cancel what does not run yet.
        """
        if not self._core.connection.is_here:
            return
        _executors.discard(self)
        self._finalizer.detach()
        self._core.shut_down(cancel_futures)
        if wait and not self._core.connection.is_own_thread:
            self._core.ended.wait()
            self._core.access.join()


def _ordered_results(
    futures: Iterator[Future[T]], buffersize: int | None, end: float | None
) -> Iterator[T]:
    """Submits at once (or so many), and yields results in order, as `Executor.map` does it."""
    line = deque(itertools.islice(futures, buffersize))

    def results() -> Iterator[T]:
        try:
            while True:
                if not line:
                    return
                if buffersize is not None:
                    # Whoever takes a result makes room for another call.
                    line.extend(itertools.islice(futures, 1))
                # No name here may refer to a result that was yielded.
                yield _result(line.popleft(), end)
        finally:
            for waiting in line:
                waiting.cancel()

    return results()


def _result(future: Future[T], end: float | None) -> T:
    """Waits for a result until `end`; cancels the call if that fails."""
    try:
        return future.result(None if end is None else end - time.monotonic())
    except BaseException:
        future.cancel()
        raise
    finally:
        del future


def _check_queue(connection: Connection, name: str) -> None:
    reply = connection.ask(timeout=60, queues=client.ReadQueues(name=name, limit=1))
    if not reply.queues.rows:
        raise Refused(
            "UNKNOWN_QUEUE", f"there is no queue '{name}'", f"opbatch queue create {name}"
        )


__all__ = ["ClusterExecutor", "ClusterFuture"]
