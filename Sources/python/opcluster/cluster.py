"""A cluster, its queues and graphs, as objects. Any thread."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from opcluster import calls, columns, limits
from opcluster.cluster_access import ClusterAccess
from opcluster.contents import Content, ContentExchange, Use
from opcluster.conversation import Subscription
from opcluster.errors import OpClusterError, Refused
from opcluster.events import EventStream
from opcluster.files import FileReader, OutputFile, output_files
from opcluster.operations import (
    PRIORITIES,
    QUALITIES,
    Operation,
    PriorityName,
    QualityName,
    named,
    submission,
)
from opcluster.results import outcome_exception
from opcluster.selections import of_graphs
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words

_TIME = 120.0


class Cluster:
    """A connection to a cluster. A context manager."""

    def __init__(
        self, address: str | None = None, *, keys: str | None = None, programs: str | None = None
    ) -> None:
        """Connects.

        :param address: ``tcp://`` or ``ipc://``; None: the cluster that `opbatch` would use, else
            one of our own on this machine, which ends with this.
        :param keys: the folder of the key for ``tcp://``; None: the usual one.
        :param programs: the folder of ``opcoord`` and ``opworker``; None: PATH.
        :raises ConnectionFailed: if there is no way to one.
        """
        self._access = ClusterAccess.find(address, keys=keys, programs=programs)
        self.connection = self._access.connection
        self._contents = ContentExchange(self.connection)
        #: Reads files of this program that operations are given.
        self.file_reader = FileReader()

    @property
    def address(self) -> str:
        """Where it is."""
        return self.connection.address

    def close(self) -> None:
        """Ends the connection. What was submitted goes on, unless the cluster is our own."""
        self._contents.close()
        self._access.release()
        self._access.join()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Queues

    def queue(
        self,
        name: str = "default",
        *,
        max_concurrent: int | None = None,
        qos: QualityName | None = None,
    ) -> Queue:
        """The queue of this name; made if there is none, changed to what is given if there is.

        :param max_concurrent: operations that run at once; None: as it is, or any number.
        :raises Refused: for a name that is none, and what our key may not do.
        """
        settings = words.QueueSettings(name=name)
        if qos is not None:
            settings.qos = named(QUALITIES, qos)
        if max_concurrent is not None:
            settings.maximum_concurrent = max_concurrent
        queue = Queue(self, name)
        known = self.ask(queues=client.ReadQueues(name=name, limit=1)).queues.rows
        if not known:
            try:
                self.ask(create_queue=settings)
                return queue
            except Refused as error:
                if error.code != "QUEUE_EXISTS":
                    raise
        if max_concurrent is not None or qos is not None:
            change = client.ChangeQueue(queue=name, qos=settings.qos)
            if max_concurrent is not None:
                change.at_most = max_concurrent
            self.ask(change_queue=change)
        return queue

    def queue_names(self) -> list[str]:
        """The names of all queues."""
        names: list[str] = []
        read = client.ReadQueues(limit=limits.ROWS_PER_REPLY)
        while True:
            found = self.ask(queues=read).queues
            names += [row.settings.name for row in found.rows]
            if not found.more or not found.rows:
                return names
            read.after = found.rows[-1].queue

    # Graphs

    def submit(self, *operations: Operation, name: str = "python", **more: Any) -> Graph:
        """Submits operations to the queue ``default``; otherwise as `Queue.submit`."""
        return Queue(self, None).submit(*operations, name=name, **more)

    def graph(self, number: int) -> Graph:
        """A graph by its number, such as one of another program."""
        return Graph(self, number, ())

    def ask(self, **body: Any) -> client.Reply:
        """Sends a request of the protocol (``client.proto``) and waits for its answer.

        :raises Refused: if the coordinator says no.
        :raises ConnectionFailed: if it stays away.
        """
        return self.connection.ask(_TIME, **body)

    def events(
        self, *graphs: int, since: int | None = None, graphs_only: bool = False,
        backlog_only: bool = False,
    ) -> EventStream:
        """Events of these graphs, or of everything, as an asynchronous iterator.

        :param since: the sequence behind which to begin; None: the present.
        :param graphs_only: no events of operations.
        :param backlog_only: ends with what has happened so far.
        """
        return EventStream(
            self.connection,
            numbers(*graphs) if graphs else client.Selection(graphs=client.Selection.GRAPHS_ALL),
            since=since,
            graphs_only=graphs_only,
            backlog_only=backlog_only,
        )

    def rows(self, selection: client.Selection) -> Iterator[client.OperationRow]:
        """The rows of operations, page by page."""
        after: words.Operation | None = None
        while True:
            read = client.ReadOperations(selection=selection, limit=limits.ROWS_PER_REPLY)
            if after is not None:
                read.after.CopyFrom(after)
            found = self.ask(operations=read).operations
            yield from found.rows
            if not found.more or not found.rows:
                return
            after = found.rows[-1].operation

    def wait_until(
        self,
        is_so: Callable[[], bool],
        selection: client.Selection,
        *,
        graphs_only: bool,
        timeout: float | None,
    ) -> None:
        """Asks again after each event of a selection, until it is so.

        :raises TimeoutError: after `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        news = threading.Event()
        problems: list[OpClusterError] = []

        def fail(error: OpClusterError) -> None:
            problems.append(error)
            news.set()

        subscription = Subscription(
            selection=lambda: selection,
            deliver=lambda batch: news.set(),
            renewed=news.set,
            failed=fail,
            graphs_only=graphs_only,
        )
        self.connection.post(lambda: self.connection.subscribe(subscription))
        try:
            while True:
                if not news.wait(None if end is None else max(0.0, end - time.monotonic())):
                    raise TimeoutError("it has not ended in time")
                news.clear()
                if problems:
                    raise problems[0]
                if is_so():
                    return
        finally:
            if not problems:
                self.connection.post(lambda: self.connection.unsubscribe(subscription))

    def read_content(self, digest: bytes, size: int) -> bytes:
        """A value that lies in a store.

        :raises RemoteError: if no worker has it.
        """
        return self._done(lambda use: self._contents.read(digest, size, use))

    def leave_contents(self, contents: Sequence[Content]) -> None:
        """Leaves contents in stores of workers, except what one of them has already.

        :raises RemoteError: if no worker takes them.
        """
        if not contents:
            return
        wanted = threading.Event()
        wanted.set()
        try:
            self._done(lambda use: self._contents.leave(contents, use, wanted.is_set))
        finally:
            # After Ctrl-C nobody waits for a worker.
            wanted.clear()

    def save_file(self, file: OutputFile, path: str) -> None:
        """Writes a file that an operation has left; it appears there as a whole.

        :raises RemoteError: if no worker has it.
        :raises OSError: if it cannot be written.
        """
        self._done(
            lambda use: self._contents.save(file.digest, file.size, path, file.mode, use)
        )

    def _done(self, begin: Callable[[Use], None]) -> bytes:
        """Waits for what the thread of the contents does."""
        found: list[bytes | BaseException] = []
        done = threading.Event()

        def use(value: bytes | BaseException) -> None:
            found.append(value)
            done.set()

        begin(use)
        done.wait()
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]


def numbers(*graphs: int) -> client.Selection:
    """The selection of these graphs."""
    return of_graphs(graphs)


class Queue:
    """A queue of a cluster."""

    def __init__(self, cluster: Cluster, name: str | None) -> None:
        self._cluster = cluster
        #: Its name; None: ``default``.
        self.name = name

    def submit(
        self,
        *operations: Operation,
        name: str = "python",
        labels: Mapping[str, str] | None = None,
        is_suspended: bool = False,
        key: str | None = None,
    ) -> Graph:
        """Submits operations as one graph: all of them, or none.

        :param key: the same key never makes a second graph, so that a submission of which no answer
            came may be repeated; None: one of its own.
        :raises Refused: with what the coordinator says is wrong with them.
        :raises ValueError: if one was submitted before, or depends on one that was not.
        :raises OSError: if a file that one of them is given cannot be read.
        :raises RemoteError: if no worker takes such a file.
        """
        contents = [
            content
            for operation in operations
            for content in operation.read_inputs(self._cluster.file_reader)
        ]
        self._cluster.leave_contents(contents)
        made = submission(
            operations, key=key or uuid.uuid4().hex, name=name, queue=self.name, labels=labels,
            is_suspended=is_suspended,
        )
        graph = self._cluster.ask(submit=made).accepted.graph
        index = 0
        for operation in operations:
            operation.place = (graph, index)
            index += operation.count if operation.count is not None else 1
        return Graph(self._cluster, graph, operations)

    def _change(self, **change: Any) -> None:
        self._cluster.ask(
            change_queue=client.ChangeQueue(queue=self.name or "default", **change)
        )

    def suspend(self) -> None:
        """Starts nothing more; what runs goes on."""
        self._change(is_suspended=True)

    def resume(self) -> None:
        """Starts operations again."""
        self._change(is_suspended=False)

    def set_max_concurrent(self, count: int | None) -> None:
        """Changes how many operations run at once; None: any number."""
        self._change(**({"unlimited": True} if count is None else {"at_most": count}))

    def cancel_all(self, reason: str = "") -> int:
        """Cancels all operations in it. Returns how many there were."""
        name = self.name or "default"
        cancel = client.CancelQueue(queue=name, reason=reason)
        return self._cluster.ask(cancel_queue=cancel).cancelled.total

    @property
    def operation_count(self) -> int:
        """Operations in it that have not ended.

        :raises Refused: if it was removed.
        """
        read = client.ReadQueues(name=self.name or "default", limit=1)
        rows = self._cluster.ask(queues=read).queues.rows
        if not rows:
            raise Refused("UNKNOWN_QUEUE", f"there is no queue '{self.name}'")
        return rows[0].operation_count

    def remove(self) -> None:
        """Removes it.

        :raises Refused: if it is not empty.
        """
        self._cluster.ask(remove_queue=self.name or "default")


_GRAPH_ENDED = (
    client.GRAPH_STATE_SUCCEEDED,
    client.GRAPH_STATE_FAILED,
    client.GRAPH_STATE_CANCELLED,
)


@dataclass(frozen=True)
class Graph:
    """A submitted graph."""

    cluster: Cluster
    number: int
    operations: Sequence[Operation]

    @property
    def state(self) -> str:
        """``RUNNING``, ``SUSPENDED``, ``SUCCEEDED``, ``FAILED`` or ``CANCELLED``."""
        return client.GraphState.Name(self._row().state).removeprefix("GRAPH_STATE_")

    def _row(self) -> client.GraphRow:
        read = client.ReadGraphs(selection=numbers(self.number), limit=1)
        rows = self.cluster.ask(graphs=read).graphs.rows
        if not rows:
            raise Refused("UNKNOWN_GRAPH", f"there is no graph {self.number}", "opbatch ls")
        return rows[0]

    def wait(self, timeout: float | None = None) -> str:
        """Waits until it has ended; returns its state.

        :raises TimeoutError: after `timeout` seconds.
        """
        self.cluster.wait_until(
            lambda: self._row().state in _GRAPH_ENDED, numbers(self.number), graphs_only=True,
            timeout=timeout,
        )
        return self.state

    def cancel(self, reason: str = "") -> int:
        """Cancels it. Returns how many operations were meant."""
        target = client.OperationTarget(selection=numbers(self.number))
        cancel = client.Cancel(target=target, reason=reason)
        return self.cluster.ask(cancel=cancel).cancelled.total

    def suspend(self) -> None:
        """Starts nothing more of it; what runs goes on."""
        self._suspend(True)

    def resume(self) -> None:
        """Starts operations of it again."""
        self._suspend(False)

    def _suspend(self, is_suspended: bool) -> None:
        self.cluster.ask(
            suspend_graphs=client.SuspendGraphs(
                selection=numbers(self.number), is_suspended=is_suspended
            )
        )

    def handle(self, operation: Operation | int, element: int = 0) -> OperationHandle:
        """An operation of it: one that was submitted with it, or by its index.

        :param element: of an array, from 0.
        :raises ValueError: if it was submitted with another graph.
        """
        if isinstance(operation, int):
            return OperationHandle(self.cluster, self.number, operation)
        if operation.place is None or operation.place[0] != self.number:
            raise ValueError(f"'{operation.name}' is none of graph {self.number}")
        return OperationHandle(self.cluster, self.number, operation.place[1] + element)

    def result(self, operation: Operation, timeout: float | None = None) -> Any:
        """What an operation left, once it has ended; of an array, the list of its elements.

        :raises BaseException: what the function raised, or `RemoteError`.
        """
        if operation.count is None:
            return self.handle(operation).result(timeout)
        return [self.handle(operation, at).result(timeout) for at in range(operation.count)]


@dataclass(frozen=True)
class OperationHandle:
    """One operation of a submitted graph."""

    cluster: Cluster
    graph: int
    index: int

    def row(self) -> client.OperationRow:
        """All that is known of it."""
        read = client.ReadOperations(
            selection=numbers(self.graph),
            after=words.Operation(graph=self.graph, index=self.index - 1) if self.index else None,
            limit=1,
        )
        rows = self.cluster.ask(operations=read).operations.rows
        if not rows or rows[0].operation.index != self.index:
            raise Refused("UNKNOWN_OPERATION", f"graph {self.graph} has no operation {self.index}")
        return rows[0]

    @property
    def state(self) -> str:
        """``WAITING``, ``EXECUTING``, ``SUCCEEDED`` and so on."""
        return client.StateWord.Name(self.row().state).removeprefix("STATE_WORD_")

    def wait(self, timeout: float | None = None) -> client.OperationRow:
        """Waits until it has ended.

        :raises TimeoutError: after `timeout` seconds.
        """
        found: list[client.OperationRow] = []

        def has_ended() -> bool:
            row = self.row()
            if row.is_finished:
                found.append(row)
            return row.is_finished

        self.cluster.wait_until(
            has_ended, numbers(self.graph), graphs_only=False, timeout=timeout
        )
        return found[0]

    def result(self, timeout: float | None = None) -> Any:
        """What it left, once it has ended: the value, or the outputs of a command.

        :raises BaseException: what the function raised, or `RemoteError`.
        """
        row = self.wait(timeout)
        output = row.result.output[0] if row.result.output else b""
        if row.outcome == words.OUTCOME_SUCCEEDED:
            return calls.value(output, self.cluster.read_content)
        raise outcome_exception(row)

    def files(self) -> list[OutputFile]:
        """The files that it has left; none before it has ended."""
        row = self.row()
        return output_files(row.result.output[0]) if row.result.output else []

    def fetch(self, name: str, path: str) -> list[str]:
        """Brings what it has left as `name`, once it has ended, in place of what is at `path`.

        :param path: of the file, or of a folder if it has left a folder or several files.
        :returns: the paths of the files.
        :raises FileNotFoundError: if it has left nothing of this name.
        :raises RemoteError: if no worker has one of them any more.
        :raises OSError: if one cannot be written.
        """
        row = self.wait()
        left = output_files(row.result.output[0]) if row.result.output else []
        wanted = [file for file in left if file.name == name]
        if not wanted:
            names = ", ".join(dict.fromkeys(file.name for file in left)) or "none"
            raise FileNotFoundError(
                f"operation {self.graph}/{row.name} has left no files '{name}'; there are: {names}"
            )
        places = []
        for file in wanted:
            place = f"{path}/{file.path}" if file.path else path
            self.cluster.save_file(file, place)
            places.append(place)
        return places

    def log(self, stream: str = "output", attempt: int | None = None) -> str:
        """The text of its log.

        :param stream: ``output`` or ``error``.
        :param attempt: from 1; None: the newest.
        :raises Refused: if there is none, or its worker is not connected.
        """
        which = {"output": words.LOG_STREAM_OUTPUT, "error": words.LOG_STREAM_ERROR}[stream]
        found = b""
        while True:
            read = client.ReadLog(
                operation=words.Operation(graph=self.graph, index=self.index),
                attempt=attempt,
                stream=which,
                offset=len(found),
                maximum_bytes=limits.LOG_CHUNK_BYTES,
            )
            try:
                chunk = self.cluster.ask(log=read).log
            except Refused as error:
                if error.code == "NO_SUCH_LOG":
                    return ""
                raise
            found += chunk.bytes
            if not chunk.bytes or len(found) >= chunk.size:
                return found.decode("utf-8", "replace")

    def _target(self) -> client.OperationTarget:
        key = (self.graph, self.index)
        return client.OperationTarget(operations=columns.operation_columns([key]))

    def cancel(self, reason: str = "") -> str:
        """Cancels it. Returns ``CANCELLED``, ``EXECUTING`` (it is asked to stop), or that it came
        too late: ``ALREADY_FINISHED``, ``ALREADY_CANCELLED``.
        """
        cancel = client.Cancel(target=self._target(), reason=reason)
        verdict = self.cluster.ask(cancel=cancel).cancelled.verdict[0]
        return client.CancelVerdict.Name(verdict).removeprefix("CANCEL_VERDICT_")

    def set_priority(self, priority: PriorityName) -> None:
        """Changes its place in its queue, if it has not started."""
        change = client.SetPriority(target=self._target(), priority=named(PRIORITIES, priority))
        self.cluster.ask(set_priority=change)

    def hold(self) -> None:
        """Keeps it from starting until it is released."""
        self.cluster.ask(hold=client.Hold(target=self._target(), is_held=True))

    def release(self) -> None:
        """Lets it start."""
        self.cluster.ask(hold=client.Hold(target=self._target(), is_held=False))
