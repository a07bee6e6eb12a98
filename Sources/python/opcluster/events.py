"""Events of a cluster, one by one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from opcluster import columns, limits
from opcluster.connection import Connection
from opcluster.conversation import Subscription
from opcluster.errors import OpClusterError
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words


@dataclass(frozen=True)
class Event:
    """Something that happened.

    ``kind`` is ``READY``, ``EXECUTING``, ``FINISHED``, ``CANCELLED``, ``GRAPH_SUCCEEDED`` and so
    on, as in EventKind of client.proto.
    """

    kind: str
    #: Ascending within the cluster.
    sequence: int
    #: Milliseconds since 1970 by the coordinator's clock.
    time: int
    #: Of the operation, or the graph; 0: it is about neither.
    graph: int
    #: The index of the operation in its graph, from 0; None: it is about something else.
    operation: int | None
    #: Of ``FINISHED``: ``SUCCEEDED``, ``FAILED`` and so on; else empty.
    outcome: str = ""
    #: Of ``ATTEMPT_STARTED`` and ``ATTEMPT_ENDED``; else 0.
    attempt: int = 0
    #: The number of the worker of ``ATTEMPT_STARTED``; else 0.
    worker: int = 0


def decode(batch: client.EventBatch) -> Iterator[Event]:
    """The events of a batch."""
    events = batch.events
    found = columns.operations(events.operations)
    things = iter(events.thing)
    outcomes, attempts, workers = iter(events.outcome), iter(events.attempt), iter(events.worker)
    subjects: Iterator[int] = itertools.repeat(client.EVENT_SUBJECT_OPERATION)
    if events.subject:
        subjects = columns.runs(events.subject, events.subject_count)
    times = _times(events)
    sequence = events.first_sequence
    for at, (kind, subject) in enumerate(zip(events.kinds, subjects)):
        if at:
            sequence += events.sequence_delta[at] if at < len(events.sequence_delta) else 1
        graph, operation = 0, None
        if subject == client.EVENT_SUBJECT_OPERATION:
            graph, operation = next(found)
        else:
            number = next(things, 0)
            graph = number if subject == client.EVENT_SUBJECT_GRAPH else 0
        name = client.EventKind.Name(kind) if kind in client.EventKind.values() else "UNKNOWN"
        outcome = attempt = worker = 0
        if kind == client.EVENT_KIND_FINISHED:
            outcome = next(outcomes, words.OUTCOME_SUCCEEDED)
        elif kind == client.EVENT_KIND_ATTEMPT_STARTED:
            attempt, worker = next(attempts, 1), next(workers, 0)
        elif kind == client.EVENT_KIND_ATTEMPT_ENDED:
            attempt = next(attempts, 1)
        yield Event(
            name.removeprefix("EVENT_KIND_"),
            sequence,
            next(times, 0),
            graph,
            operation,
            words.Outcome.Name(outcome).removeprefix("OUTCOME_") if outcome else "",
            attempt,
            worker,
        )


def _times(events: client.Events) -> Iterator[int]:
    """The time of each event: runs of events of the same commit."""
    time = 0
    for delta, count in zip(events.time_delta, events.commit_count):
        time += delta
        yield from itertools.repeat(time, count)


class EventStream:
    """An asynchronous iterator of events. What was not read holds the coordinator back."""

    def __init__(
        self,
        connection: Connection,
        selection: client.Selection,
        *,
        since: int | None = None,
        graphs_only: bool = False,
        backlog_only: bool = False,
    ) -> None:
        self._connection = connection
        self._events: asyncio.Queue[Event | OpClusterError | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._read = 0
        self._subscription = Subscription(
            selection=lambda: selection,
            deliver=self._deliver,
            renewed=lambda: None,
            failed=self._put,
            since=since,
            graphs_only=graphs_only,
            backlog_only=backlog_only,
            grants_itself=False,
        )
        connection.post(lambda: connection.subscribe(self._subscription))

    def _put(self, event: Event | OpClusterError | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
        except RuntimeError:
            pass  # The reader's loop has ended.

    def _deliver(self, batch: client.EventBatch) -> None:
        for event in decode(batch):
            self._put(event)
        if batch.caught_up and self._subscription.backlog_only:
            self._put(None)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self._events.get()
        if event is None:
            self.close()
            raise StopAsyncIteration
        if isinstance(event, OpClusterError):
            raise event
        self._read += 1
        if self._read >= limits.EVENTS_PER_GRANT:
            count, self._read = self._read, 0
            self._connection.post(lambda: self._connection.grant(self._subscription, count))
        return event

    def close(self) -> None:
        """Ends it."""
        if not self._subscription.is_over:
            self._connection.post(lambda: self._connection.unsubscribe(self._subscription))
