"""Waits for calls inside of an operation, which the coordinator is asked about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opcluster import columns
from opcluster.connection import Connection
from opcluster.errors import Refused
from opcluster.futures import ClusterFuture
from opcluster.operation import current_operation, is_in_operation
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words


class NestedWaits:
    """The waits of one executor."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Of calls that were in line; on the I/O thread alone.
        self._place_awaited: list[Callable[[], None]] = []

    @contextmanager
    def waiting_for(self, future: ClusterFuture[Any]) -> Iterator[None]:
        """Inside of an operation, asks the coordinator whether a wait can end, and tells of it."""
        if future.done() or not is_in_operation() or self._connection.is_own_thread:
            yield
            return
        waiter = current_operation()
        own = words.Operation(graph=waiter.graph, index=waiter.operation)
        if waiter.address == self._connection.address and self._await_place(future):
            assert future.operation is not None
            wanted = columns.operation_columns([future.operation])
            try:
                self._connection.ask(begin_wait=client.BeginWait(operation=own, operations=wanted))
            except Refused as error:
                if error.code in ("WOULD_DEADLOCK", "WOULD_STARVE"):
                    future.cancel()
                    raise
        try:
            yield
        finally:
            self._connection.request(client.Request(end_wait=own))

    def _await_place(self, future: ClusterFuture[Any]) -> bool:
        """Waits until a call has its place in a graph; false: it ended before."""
        found = threading.Event()

        def look() -> None:
            if future.operation is not None or future.done():
                found.set()
            elif future._batch is not None:
                future._batch.when_accepted.append(look)
            else:
                self._place_awaited.append(look)

        future.add_done_callback(lambda ended: found.set())
        self._connection.post(look)
        found.wait()
        return future.operation is not None and not future.done()

    def batch_gathered(self) -> None:
        """Calls have left the line; on the I/O thread."""
        awaited, self._place_awaited = self._place_awaited, []
        for look in awaited:
            look()
