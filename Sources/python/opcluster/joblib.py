"""A backend of joblib that runs on a cluster: ``register()``, then
``parallel_backend("opcluster")``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib.parallel import (
    BACKENDS,
    AutoBatchingMixin,
    FallbackToBackend,
    ParallelBackendBase,
    SequentialBackend,
    register_parallel_backend,
)

from opcluster.executor import ClusterExecutor
from opcluster.operation import is_in_operation
from opcluster.v1 import client_pb2 as client


class OpClusterBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Batches of joblib as calls of a `ClusterExecutor`.

    Arrays among the arguments lie in the stores of workers, each once.
    """

    supports_retrieve_callback = True
    supports_sharedmem = False
    uses_threads = False
    default_n_jobs = -1
    # A call has a journal and a network on its way: its batches should take longer.
    MIN_IDEAL_BATCH_DURATION = 0.2
    MAX_IDEAL_BATCH_DURATION = 2.0

    def __init__(
        self, *, executor: ClusterExecutor | None = None, nesting_level: int | None = None,
        inner_max_num_threads: int | None = None, **options: Any,
    ) -> None:
        """Connects at the first use.

        :param executor: to be used, and left open; None: one made with `options`.
        :param options: as `ClusterExecutor` takes them.
        """
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._executor = executor
        self._options = options
        self._futures: set[Future[Any]] = set()

    def _ready(self) -> ClusterExecutor:
        if self._executor is None:
            self._executor = ClusterExecutor(**self._options)
        return self._executor

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Calls at once: `n_jobs`, or for -1 the processors of the connected workers."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        if n_jobs > 0:
            return n_jobs
        return max(1, self._processors() + 1 + n_jobs)

    def _processors(self) -> int:
        rows = self._ready().connection.ask(timeout=60, workers=client.Nothing()).workers.rows
        tenths = sum(
            row.capacity.cpus for row in rows if row.state == client.WorkerRows.STATE_CONNECTED
        )
        return tenths // 10_000 or 1

    def configure(
        self, n_jobs: int = 1, parallel: Any = None, prefer: Any = None, require: Any = None,
        **options: Any,
    ) -> int:
        """Prepares for a call of `Parallel`; returns how much of it runs at once."""
        # The options are for the pools of joblib's own processes.
        del prefer, require, options
        if is_in_operation():
            # A batch that waits for others would keep the room that they need.
            raise FallbackToBackend(WorkerBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        self._ready()
        return self.effective_n_jobs(n_jobs)

    def submit(
        self, func: Callable[[], Any], callback: Callable[[Any], None] | None = None
    ) -> Future[Any]:
        """Submits a batch."""
        future: Future[Any] = self._ready().submit(func)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    apply_async = submit

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """The results of a batch that has ended."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancels what has not ended; what runs is asked to stop."""
        for future in list(self._futures):
            stop = getattr(future, "stop", future.cancel)
            stop()

    def terminate(self) -> None:
        """A call of `Parallel` has ended. The connection stays for the next one."""
        self.abort_everything()
        self.reset_batch_stats()

    def get_nested_backend(self) -> tuple[Any, int]:
        """Calls of `Parallel` inside of a batch run one after the other."""
        return WorkerBackend(nesting_level=(self.nesting_level or 0) + 1), 1

    def __reduce__(self) -> tuple[Any, ...]:
        """At a worker it is not needed: batches bring their nested backend."""
        return _worker_backend, (self.nesting_level,)


class WorkerBackend(SequentialBackend):  # type: ignore[misc]
    """What `Parallel` uses inside of a batch: one after the other.

    Brings the name of the backend to the worker as well, for batches that name it again.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _worker_backend, (self.nesting_level,)


def _worker_backend(nesting_level: int | None) -> WorkerBackend:
    if "opcluster" not in BACKENDS:
        register()
    return WorkerBackend(nesting_level=nesting_level)


def register(name: str = "opcluster", *, make_default: bool = False) -> None:
    """Makes the backend known to joblib.

    :param make_default: use it where a program names none.
    """
    register_parallel_backend(name, OpClusterBackend, make_default=make_default)


