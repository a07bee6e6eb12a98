"""What becomes of jobs: told by the coordinator, and read once."""

from __future__ import annotations

import threading
import time

from opcluster import Cluster, OpClusterError, events, selections
from opcluster.conversation import Subscription
from opcluster.errors import Refused
from opcluster.v1 import client_pb2 as client

#: Seconds after which all states are asked for, whatever was told.
_FULL_LOOK = 60.0
#: Rows of one graph that are asked for one by one; more are asked for together.
_FEW = 16

#: The graph of a job's operation, and its index in it.
Place = tuple[int, int]


class JobEnds:
    """What is told of jobs that have ended, until their rows have been read."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._graphs: set[int] = set()
        self._told: set[Place] = set()
        #: When everything is looked at again: told ends do not reach over a coordinator's lives.
        self._look_at = 0.0
        self._pause = _FULL_LOOK
        subscription = Subscription(
            selection=self._selection,
            deliver=self._deliver,
            renewed=self._look_again,
            failed=self._fail,
            includes_own=True,
        )
        cluster.connection.post(lambda: cluster.connection.subscribe(subscription))

    def follow(self, graph: int) -> None:
        """Also after a new connection."""
        with self._lock:
            self._graphs.add(graph)

    def take(self, places: set[Place]) -> dict[Place, client.OperationRow]:
        """The rows of those of these jobs that have ended since.

        :raises OpClusterError: if they cannot be read now; they will be with the next call.
        """
        with self._lock:
            looks = time.monotonic() >= self._look_at
            told = set(places) if looks else self._told & places
            self._told -= told
            if looks:
                self._look_at = time.monotonic() + self._pause
        try:
            return self._read(told, one_by_one=not looks)
        except BaseException:
            with self._lock:
                self._told |= told
                if looks:
                    self._look_at = 0.0
            raise

    def _read(self, places: set[Place], one_by_one: bool) -> dict[Place, client.OperationRow]:
        """The rows of these that have ended."""
        by_graph: dict[int, list[int]] = {}
        for graph, index in sorted(places):
            by_graph.setdefault(graph, []).append(index)
        rows: list[client.OperationRow] = []
        many: list[int] = []
        for graph, indices in by_graph.items():
            if one_by_one and len(indices) <= _FEW:
                handles = [self._cluster.graph(graph).handle(index) for index in indices]
                rows += [handle.row() for handle in handles]
            else:
                many.append(graph)
        if many:
            try:
                rows += self._cluster.rows(selections.of_graphs(many, selections.ENDED))
            except Refused as error:
                # Where none has ended yet, nothing matches.
                if error.code not in ("UNKNOWN_OPERATION", "UNKNOWN_GRAPH"):
                    raise
        found = {(row.operation.graph, row.operation.index): row for row in rows}
        return {place: row for place, row in found.items() if row.is_finished and place in places}

    def _selection(self) -> client.Selection:
        with self._lock:
            return selections.of_graphs(self._graphs)

    def _deliver(self, batch: client.EventBatch) -> None:
        ended = {
            (event.graph, event.operation)
            for event in events.decode(batch)
            if event.kind == "FINISHED" and event.operation is not None
        }
        with self._lock:
            self._told |= ended

    def _fail(self, error: OpClusterError) -> None:
        """Nothing is told any more: everything is looked at each time."""
        self._pause = 0.0
        self._look_again()

    def _look_again(self) -> None:
        with self._lock:
            self._look_at = 0.0
