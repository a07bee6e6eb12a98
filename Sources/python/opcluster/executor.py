"""An executor of `concurrent.futures` whose calls run on a cluster."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import sys
import threading
import time
import uuid
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from types import BuiltinFunctionType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

from opcluster import calls, columns, limits, references
from opcluster.cluster_access import ClusterAccess
from opcluster.connection import Connection
from opcluster.contents import ContentReader
from opcluster.conversation import Subscription
from opcluster.errors import (
    ConnectionFailed,
    DependencyFailed,
    InitializerFailed,
    OpClusterError,
    Refused,
    RemoteError,
    RemoteTraceback,
)
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words

T = TypeVar("T")
P = ParamSpec("P")

#: Bytes of arguments in one submission, and calls: a message has room for them.
_BATCH_BYTES = 6 * 1024 * 1024
_BATCH_CALLS = 16_384
#: Submissions without an answer; what comes meanwhile gathers for the next.
_SUBMISSIONS_ON_THE_WAY = 2
_READS_ON_THE_WAY = 4
#: Functions whose pickles are kept.
_FUNCTIONS_KEPT = 256
_PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes)
_FINISHED = client.EVENT_KIND_FINISHED
_EXECUTING = client.EVENT_KIND_EXECUTING
_ENDED = [
    client.STATE_WORD_SUCCEEDED,
    client.STATE_WORD_FAILED,
    client.STATE_WORD_TIMED_OUT,
    client.STATE_WORD_CANCELLED,
    client.STATE_WORD_SKIPPED,
    client.STATE_WORD_LOST,
]


class _Pickling(threading.local):
    """The futures that the pickling of this thread has met; None: it pickles no arguments."""

    met: list[ClusterFuture[Any]] | None = None


_pickling = _Pickling()


class ClusterFuture(Future[T]):
    """The future of a call. As an argument of another call it becomes a dependency of it."""

    def __init__(self, core: _Core) -> None:
        super().__init__()
        self._core = core
        self._token = os.urandom(references.TOKEN_BYTES)
        # Graph and index once it was submitted; graph 0: not accepted yet.
        self._place: columns.OperationKey | None = None
        self._batch: _Batch | None = None

    @property
    def operation(self) -> columns.OperationKey | None:
        """Graph and index of its operation; None: it was not accepted yet."""
        place = self._place
        return place if place is not None and place[0] else None

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
        return super().cancel()

    def __reduce__(self) -> tuple[Any, ...]:
        met = _pickling.met
        if met is None:
            raise TypeError("a future can be pickled only as an argument of another call")
        if self.done() and not self.cancelled() and self.exception() is None:
            return (_itself, (self.result(),))
        met.append(self)
        return (references.resolve, (self._token,))


def _itself(value: Any) -> Any:
    return value


class _Function:
    """A function, as the payload of templates."""

    def __init__(self, target: Any, name: str, core: _Core) -> None:
        self.target = target
        self.name = _valid_name(name)
        wrapped = core.initialized(target)
        import cloudpickle

        self.payload = calls.payload(
            cloudpickle.dumps(wrapped, calls.PICKLE_PROTOCOL),
            interpreter=core.interpreter,
            venv=core.venv,
            paths=core.paths,
        )


def _valid_name(text: str) -> str:
    """A name of an operation that resembles a function's."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:100]
    return name if name and (name[0].isalpha() or name[0] == "_") else f"_{name}"


class _Call:
    """A call that was not submitted yet, or has no result yet."""

    __slots__ = ("function", "argument", "future", "dependencies")

    def __init__(
        self,
        function: _Function,
        argument: bytes,
        future: ClusterFuture[Any],
        dependencies: tuple[ClusterFuture[Any], ...],
    ) -> None:
        self.function = function
        self.argument = argument
        self.future = future
        self.dependencies = dependencies


class _Batch:
    """Calls that are submitted together, as one graph. Made and used on the I/O thread."""

    def __init__(self) -> None:
        self.graph = 0
        # By index; None: it has its result.
        self.calls: list[_Call | None] = []
        # Name, first index and count of each template.
        self.templates: list[tuple[str, int, int]] = []
        self.open = 0
        # Ended calls whose results are to be read, and those being read.
        self.due: list[int] = []
        # Things to do once the number of the graph is known.
        self.when_accepted: list[Callable[[], None]] = []


def gather(waiting: deque[_Call], batch: _Batch) -> tuple[list[words.Template], list[_Call]]:
    """Takes calls from a line into a batch, as templates: one for each function.

    Returns the templates without queue and demand, and the calls that have to wait since a
    dependency was submitted and not accepted yet.
    """
    groups: dict[tuple[int, bool], list[_Call]] = {}
    held: list[_Call] = []
    taken: set[ClusterFuture[Any]] = set()
    size = count = 0
    while waiting and size < _BATCH_BYTES and count < _BATCH_CALLS:
        call = waiting.popleft()
        future = call.future
        if future.cancelled():
            future.set_running_or_notify_cancel()
            continue
        if call.dependencies and not all(
            dependency in taken or dependency.operation is not None
            for dependency in call.dependencies
        ):
            held.append(call)
            continue
        groups.setdefault((id(call.function), bool(call.dependencies)), []).append(call)
        if call.dependencies or len(waiting) < 100_000:
            taken.add(future)
        size += len(call.argument) + 64
        count += 1
    templates = []
    names: dict[str, int] = {}
    for (_, has_dependencies), members in groups.items():
        function = members[0].function
        number = names.get(function.name, 0)
        names[function.name] = number + 1
        name = f"{function.name}.{number + 1}" if number else function.name
        batch.templates.append((name, len(batch.calls), len(members)))
        for call in members:
            call.future._place = (0, len(batch.calls))
            call.future._batch = batch
            batch.calls.append(call)
        templates.append(
            words.Template(
                name=name,
                count=len(members),
                is_array=True,
                work=words.WORK_KIND_CALL,
                type=words.OperationType(name="python", version=1),
                payload=function.payload,
                wants_inputs=has_dependencies,
            )
        )
    batch.open = len(batch.calls)
    return templates, held


def edges(batch: _Batch) -> tuple[words.ElementEdges | None, words.ExternalEdges | None]:
    """The dependencies of a batch's calls; puts their places into the pickles of arguments."""
    inner: list[tuple[int, int]] = []
    outer: list[tuple[columns.OperationKey, int]] = []
    for index, call in enumerate(batch.calls):
        if call is None or not call.dependencies:
            continue
        argument = call.argument
        for dependency in dict.fromkeys(call.dependencies):
            assert dependency._place is not None
            graph, other = dependency._place
            if dependency._batch is batch:
                graph = 0
                inner.append((other, index))
            else:
                outer.append(((graph, other), index))
            argument = argument.replace(dependency._token, references.located(graph, other))
        call.argument = argument
    element = external = None
    if inner:
        element = words.ElementEdges(policy=[words.EDGE_POLICY_SUCCEEDED])
        last_from = last_to = 0
        for source, target in inner:
            element.from_delta.append(columns.signed(source - last_from))
            element.to_delta.append(columns.signed(target - last_to))
            last_from, last_to = source, target
    if outer:
        external = words.ExternalEdges()
        getattr(external, "from").CopyFrom(columns.operation_columns(key for key, _ in outer))
        external.to.extend(target for _, target in outer)
        external.policy.extend([words.EDGE_POLICY_SUCCEEDED] * len(outer))
    return element, external


def index_runs(numbers: Iterable[int]) -> words.IndexRuns:
    """Ascending numbers as runs of neighbours."""
    runs = words.IndexRuns()
    expected = -1
    for number in numbers:
        if number == expected:
            runs.count[-1] += 1
        else:
            runs.first.append(number)
            runs.count.append(1)
        expected = number + 1
    return runs


class _Core:
    """What an executor does; it outlives the executor until every call has its result."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        queue: str | None,
        own_queue: str | None,
        interpreter: str | None,
        venv: str | None,
        paths: tuple[str, ...],
        demand: words.Resources | None,
        initializer: tuple[Callable[..., Any], tuple[Any, ...]] | None,
        name: str,
    ) -> None:
        self.access = access
        self.connection: Connection = access.connection
        self.interpreter, self.venv, self.paths = interpreter, venv, paths
        self._queue, self._own_queue, self._demand = queue, own_queue, demand
        self._initializer = initializer
        self._key = uuid.uuid4().hex
        self._name = _valid_name(name)
        self.lock = threading.Lock()
        self._functions: OrderedDict[tuple[int, bool], _Function] = OrderedDict()
        self._new: deque[_Call] = deque()
        self._is_posted = False
        self.is_shut_down = False
        self._broken: str | None = None
        self.ended = threading.Event()
        # On the I/O thread alone.
        self._waiting: deque[_Call] = deque()
        self._held: list[_Call] = []
        self._submitting = 0
        self._reading = 0
        self._batches: dict[int, _Batch] = {}
        self._due: OrderedDict[int, None] = OrderedDict()
        self._contents = ContentReader(self.connection)
        self._subscription = Subscription(
            selection=self._selection,
            deliver=self._events,
            renewed=self._look_again,
            failed=self._fail,
            includes_own=True,
        )
        self.connection.turn_ended.append(self._turn_ended)
        self.connection.post(lambda: self.connection.subscribe(self._subscription))

    # From any thread

    def initialized(self, target: Callable[..., Any]) -> Callable[..., Any]:
        """The function with the executor's initializer before its first call in a process."""
        if self._initializer is None:
            return target
        return calls.Initialized(self._key, *self._initializer, target)

    def function(self, target: Any, *, is_chunked: bool = False) -> _Function:
        """The payload for a function, pickled once."""
        key = (id(target), is_chunked)
        with self.lock:
            known = self._functions.get(key)
            if known is not None:
                return known
        name = getattr(target, "__name__", type(target).__name__)
        made = _Function(calls.Chunk(target) if is_chunked else target, name, self)
        # Its number stays that of this object as long as the object lives.
        made.target = target
        with self.lock:
            self._functions[key] = made
            if len(self._functions) > _FUNCTIONS_KEPT:
                self._functions.popitem(last=False)
        return made

    def submit(
        self,
        target: Any,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        *,
        is_chunked: bool = False,
    ) -> ClusterFuture[Any]:
        """Puts a call in line. What is wrong with its arguments is the future's exception."""
        future: ClusterFuture[Any] = ClusterFuture(self)
        met: list[ClusterFuture[Any]] = []
        try:
            if not is_chunked and not isinstance(target, (FunctionType, BuiltinFunctionType, type)):
                # An object with a state of its own, which may change until the next call.
                arguments, target = (target, *arguments), calls.apply
            function = self.function(target, is_chunked=is_chunked)
            argument = _pickled_arguments(arguments, keywords, met)
            self._check_dependencies(met)
        except DependencyFailed as error:
            future.set_exception(error)
            return future
        except Exception as error:
            future.set_exception(error)
            return future
        call = _Call(function, argument, future, tuple(met))
        with self.lock:
            if self.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._broken is not None:
                raise BrokenProcessPool(self._broken)
            self._new.append(call)
            if self._is_posted:
                return future
            self._is_posted = True
        self.connection.post(self._take_new)
        return future

    def _check_dependencies(self, met: list[ClusterFuture[Any]]) -> None:
        for dependency in met:
            if dependency._core is not self:
                raise ValueError("a future among the arguments is of another executor")
            if dependency.done():
                cause = None if dependency.cancelled() else dependency.exception()
                raise DependencyFailed("a future among its arguments did not succeed") from cause

    def cancel(self, future: ClusterFuture[Any]) -> bool:
        """Cancels a call that may have been submitted."""
        with self.lock:
            if future._place is None:
                # In line. Whoever takes it from there looks first.
                return future._cancel_locally()
        if self.connection.is_own_thread:
            return False
        verdicts: Future[list[int]] = Future()

        def send() -> None:
            self._send_cancel([future], lambda found: verdicts.set_result(found))

        try:
            self.connection.post(send)
            verdict = verdicts.result()
        except OpClusterError:
            return False
        if not verdict or verdict[0] == client.CANCEL_VERDICT_ALREADY_FINISHED:
            return False
        if future._cancel_locally():
            future.set_running_or_notify_cancel()
        return future.cancelled()

    def stop(self, futures: list[ClusterFuture[Any]]) -> None:
        """Asks calls to stop, and does not wait."""
        self.connection.post(lambda: self._send_cancel(futures, lambda found: None))

    def shut_down(self, cancel_futures: bool) -> None:
        """Takes nothing new; ends once every call has its result."""
        with self.lock:
            self.is_shut_down = True
        try:
            self.connection.post(lambda: self._begin_end(cancel_futures))
        except OpClusterError:
            self.ended.set()

    # On the I/O thread

    def _take_new(self) -> None:
        with self.lock:
            self._is_posted = False
            new, self._new = self._new, deque()
        self._waiting.extend(new)

    def _turn_ended(self) -> None:
        while self._waiting and self._submitting < _SUBMISSIONS_ON_THE_WAY:
            self._submit_batch()
        while self._due and self._reading < _READS_ON_THE_WAY:
            graph, _ = self._due.popitem(last=False)
            self._read(graph)
        if self.is_shut_down and not self.ended.is_set():
            self._end_if_idle()

    def _submit_batch(self) -> None:
        batch = _Batch()
        with self.lock:
            templates, held = gather(self._waiting, batch)
        self._held.extend(held)
        if not batch.calls:
            return
        element, external = edges(batch)
        for template, (_, first, count) in zip(templates, batch.templates):
            arguments = [call.argument for call in batch.calls[first : first + count] if call]
            template.element_arguments = b"".join(arguments)
            template.element_argument_length.extend(map(len, arguments))
            if self._demand is not None:
                template.demand.CopyFrom(self._demand)
        submission = words.Submission(
            key=uuid.uuid4().hex,
            name=self._name,
            templates=templates,
            element_edges=element,
            external_edges=external,
        )
        if self._queue is not None:
            submission.queues.append(words.QueueReference(named=self._queue))
        self._submitting += 1
        self.connection.send(
            client.Request(submit=submission), lambda reply: self._submitted(batch, reply)
        )

    def _submitted(self, batch: _Batch, reply: client.Reply | OpClusterError) -> None:
        self._submitting -= 1
        if isinstance(reply, OpClusterError):
            for index in range(len(batch.calls)):
                self._conclude(batch, index, lambda future: future.set_exception(reply))
            return
        batch.graph = reply.accepted.graph
        self._batches[batch.graph] = batch
        for index, call in enumerate(batch.calls):
            if call is not None:
                call.future._place = (batch.graph, index)
        for task in batch.when_accepted:
            task()
        if self._held:
            self._waiting.extendleft(reversed(self._held))
            self._held = []
        if reply.accepted.repeated:
            # It was accepted over an earlier connection: its events are not of this one.
            self.connection.renew(self._subscription)

    def _selection(self) -> client.Selection:
        graphs = sorted(self._batches)
        return client.Selection(
            graphs=client.Selection.GRAPHS_NUMBERS, first_graph=graphs, last_graph=graphs
        )

    def _look_again(self) -> None:
        """The subscription began anew: what ended before is read."""
        for graph in list(self._batches):
            self._read_ended(graph, None)

    def _events(self, batch: client.EventBatch) -> None:
        events = batch.events
        kinds = events.kinds
        if _FINISHED not in kinds and _EXECUTING not in kinds:
            return
        if events.subject:
            subjects: Iterator[int] = columns.runs(events.subject, events.subject_count)
        else:
            subjects = itertools.repeat(client.EVENT_SUBJECT_OPERATION)
        found = columns.operations(events.operations)
        for kind, subject in zip(kinds, subjects):
            if subject != client.EVENT_SUBJECT_OPERATION:
                continue
            graph, index = next(found)
            if kind != _FINISHED and kind != _EXECUTING:
                continue
            known = self._batches.get(graph)
            call = known.calls[index] if known and index < len(known.calls) else None
            if known is None or call is None:
                continue
            if kind == _EXECUTING:
                if not call.future.running() and not call.future.done():
                    call.future.set_running_or_notify_cancel()
            else:
                known.due.append(index)
                self._due[graph] = None

    def _read(self, graph: int) -> None:
        """Reads the results of calls that have ended, in as few requests as possible."""
        batch = self._batches.get(graph)
        if batch is None or not batch.due:
            return
        due = sorted(batch.due)
        batch.due = []
        place = 0
        for name, first, count in batch.templates:
            end = place
            while end < len(due) and due[end] < first + count:
                end += 1
            for begin in range(place, end, limits.ROWS_PER_REPLY):
                part = due[begin : min(end, begin + limits.ROWS_PER_REPLY)]
                selection = client.Selection(
                    graphs=client.Selection.GRAPHS_NUMBERS,
                    first_graph=[graph],
                    last_graph=[graph],
                    operation=name,
                    elements=index_runs(index - first + 1 for index in part),
                )
                self._ask_rows(selection, None, graph)
            place = end

    def _read_ended(self, graph: int, after: words.Operation | None) -> None:
        """Reads everything of a graph that has ended, page by page."""
        selection = client.Selection(
            graphs=client.Selection.GRAPHS_NUMBERS,
            first_graph=[graph],
            last_graph=[graph],
            states=_ENDED,
        )
        self._ask_rows(selection, after, graph)

    def _ask_rows(
        self, selection: client.Selection, after: words.Operation | None, graph: int
    ) -> None:
        read = client.ReadOperations(selection=selection, limit=limits.ROWS_PER_REPLY)
        if after is not None:
            read.after.CopyFrom(after)
        self._reading += 1

        def answer(reply: client.Reply | OpClusterError) -> None:
            self._reading -= 1
            batch = self._batches.get(graph)
            if isinstance(reply, OpClusterError):
                for index in range(len(batch.calls)) if batch else ():
                    assert batch is not None
                    self._conclude(batch, index, lambda future: future.set_exception(reply))
                return
            rows = reply.operations.rows
            for row in rows:
                if batch is not None and row.is_finished:
                    self._take_row(batch, row)
            if reply.operations.more and rows and batch is not None and batch.open:
                self._ask_rows(selection, rows[-1].operation, graph)

        self.connection.send(client.Request(operations=read), answer)

    def _take_row(self, batch: _Batch, row: client.OperationRow) -> None:
        index = row.operation.index
        if index >= len(batch.calls) or batch.calls[index] is None:
            return
        output = row.result.output[0] if row.result.output else b""
        if row.outcome == words.OUTCOME_SUCCEEDED and output:
            opened = words.Outputs.FromString(output)
            if opened.value_at:
                self._fetch(batch, index, opened)
                return
            try:
                value = calls.opened_value(opened, _no_content)
            except Exception as error:
                failure = _unreadable(error)
                self._conclude(batch, index, lambda future: future.set_exception(failure))
                return
            self._conclude(batch, index, lambda future: future.set_result(value))
        elif row.outcome == words.OUTCOME_SUCCEEDED:
            self._conclude(batch, index, lambda future: future.set_result(None))
        else:
            self._take_failure(batch, index, row, output)

    def _fetch(self, batch: _Batch, index: int, opened: words.Outputs) -> None:
        """A value that lies in a store: another thread reads it."""
        place = opened.contents[opened.value_at - 1]

        def use(found: bytes | BaseException) -> None:
            try:
                if isinstance(found, BaseException):
                    raise found
                value = calls.opened_value(opened, lambda digest, size: found)
            except Exception as error:
                failure = _unreadable(error)
                self._conclude(batch, index, lambda future: future.set_exception(failure))
            else:
                self._conclude(batch, index, lambda future: future.set_result(value))

        self._contents.read(place.digest, place.size, use)

    def _take_failure(
        self, batch: _Batch, index: int, row: client.OperationRow, output: bytes
    ) -> None:
        call = batch.calls[index]
        assert call is not None
        diagnostic = row.result.diagnostic[0] if row.result.diagnostic else ""
        if row.outcome == words.OUTCOME_CANCELLED:
            self._conclude(batch, index, _end_as_cancelled)
            return
        error: BaseException
        if row.outcome == words.OUTCOME_SKIPPED:
            error = DependencyFailed("a future among its arguments did not succeed")
            for dependency in call.dependencies:
                if dependency.done() and not dependency.cancelled():
                    error.__cause__ = error.__cause__ or dependency.exception()
        else:
            error = remote_exception(output, diagnostic, row)
        if isinstance(error, InitializerFailed):
            self._break(str(error))
            error = BrokenProcessPool(f"the initializer failed: {error}")
        self._conclude(batch, index, lambda future: future.set_exception(error))

    def _break(self, problem: str) -> None:
        with self.lock:
            self._broken = f"the initializer failed in a worker: {problem}"

    def _conclude(
        self, batch: _Batch, index: int, end: Callable[[ClusterFuture[Any]], None]
    ) -> None:
        call = batch.calls[index]
        if call is None:
            return
        batch.calls[index] = None
        batch.open -= 1
        if not batch.open and batch.graph:
            self._batches.pop(batch.graph, None)
        if not call.future.done():
            try:
                end(call.future)
            except Exception:
                # Somebody else ended it at the same moment.
                pass
        elif call.future.cancelled():
            call.future._cancel_locally()

    def _send_cancel(
        self, futures: list[ClusterFuture[Any]], use: Callable[[list[int]], None]
    ) -> None:
        places = []
        for future in futures:
            if future.operation is not None:
                places.append(future.operation)
            elif future._batch is not None:
                batch = future._batch
                batch.when_accepted.append(lambda: self._send_cancel(futures, use))
                return
        if not places:
            use([])
            return

        def answer(reply: client.Reply | OpClusterError) -> None:
            use([] if isinstance(reply, OpClusterError) else list(reply.cancelled.verdict))

        target = client.OperationTarget(operations=columns.operation_columns(sorted(places)))
        self.connection.send(
            client.Request(cancel=client.Cancel(target=target, reason="cancelled by its program")),
            answer,
        )

    def _begin_end(self, cancel_futures: bool) -> None:
        self._take_new()
        if not cancel_futures:
            return
        for call in (*self._waiting, *self._held):
            call.future._cancel_locally()
        pending = [
            call.future
            for batch in self._batches.values()
            for call in batch.calls
            if call is not None and not call.future.running()
        ]
        for begin in range(0, len(pending), 50_000):
            part = pending[begin : begin + 50_000]
            self._send_cancel(part, lambda found: None)

    def _end_if_idle(self) -> None:
        for call in [call for call in self._waiting if call.future.cancelled()]:
            call.future.set_running_or_notify_cancel()
            self._waiting.remove(call)
        if self._waiting or self._held or self._batches or self._submitting or self._new:
            return
        self._end()

    def _end(self) -> None:
        self.connection.unsubscribe(self._subscription)
        if self._turn_ended in self.connection.turn_ended:
            self.connection.turn_ended.remove(self._turn_ended)
        self._contents.close()
        if self._own_queue is not None:
            self.connection.send(
                client.Request(remove_queue=self._own_queue), lambda reply: self.access.release()
            )
        else:
            self.access.release()
        self.ended.set()

    def _fail(self, error: OpClusterError) -> None:
        """The connection has ended for good."""
        with self.lock:
            self.is_shut_down = True
        self._take_new()
        for call in (*self._waiting, *self._held):
            if not call.future.done():
                call.future.set_exception(error)
        self._waiting.clear()
        self._held = []
        for batch in list(self._batches.values()):
            for index in range(len(batch.calls)):
                self._conclude(batch, index, lambda future: future.set_exception(error))
        self.access.release()
        self.ended.set()


def _pickled_arguments(
    arguments: tuple[Any, ...], keywords: dict[str, Any], met: list[ClusterFuture[Any]]
) -> bytes:
    """The pickle of arguments; futures in it are put into `met`.

    :raises ValueError: beyond 64 KiB.
    """
    _pickling.met = met
    try:
        if not keywords and all(type(argument) in _PLAIN_TYPES for argument in arguments):
            pickled = pickle.dumps((arguments, keywords), calls.PICKLE_PROTOCOL)
        else:
            import cloudpickle

            pickled = cloudpickle.dumps((arguments, keywords), calls.PICKLE_PROTOCOL)
    finally:
        _pickling.met = None
    if len(pickled) > limits.ELEMENT_ARGUMENT_BYTES:
        raise ArgumentsTooLarge(len(pickled))
    return pickled


class ArgumentsTooLarge(ValueError):
    """The pickled arguments of one call have more than 64 KiB."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"the arguments of the call have {size} bytes, more than "
            f"{limits.ELEMENT_ARGUMENT_BYTES}; pass the name of a file, or the future of a call "
            "that makes the value"
        )
        self.size = size


def _end_as_cancelled(future: ClusterFuture[Any]) -> None:
    if future._cancel_locally():
        future.set_running_or_notify_cancel()
    else:
        future.set_exception(CancelledError("it was cancelled while it ran"))


def _no_content(digest: bytes, size: int) -> bytes:
    raise RemoteError("its result lies in a store")


def _unreadable(error: Exception) -> RemoteError:
    failure = RemoteError(f"its result cannot be read here: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def remote_exception(output: bytes, diagnostic: str, row: client.OperationRow) -> BaseException:
    """The exception of a failed call, with its traceback at the worker as its cause."""
    if output:
        try:
            error, text = calls.value(output, _no_content)
            if isinstance(error, BaseException):
                error.__cause__ = RemoteTraceback(text)
                return error
        except Exception:
            pass
    outcome = words.Outcome.Name(row.outcome).removeprefix("OUTCOME_").lower().replace("_", " ")
    return RemoteError(
        f"operation {row.operation.graph}/{row.name}"
        + (f"/{row.index}" if row.HasField("index") else "")
        + f" {outcome}: {diagnostic or 'no reason is known'}"
    )


_executors: weakref.WeakSet[ClusterExecutor] = weakref.WeakSet()


def _at_exit() -> None:
    """The program ends: what was submitted gets its results first, as other executors do it."""
    for executor in list(_executors):
        executor.shutdown(wait=True)


# Before threads are joined, as concurrent.futures does it; later would be too late.
getattr(threading, "_register_atexit")(_at_exit)


class ClusterExecutor(Executor, Generic[T]):
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
            import_paths = _import_paths()
        self._core = _Core(
            access,
            queue=own_queue or queue,
            own_queue=own_queue,
            interpreter=None if venv else python,
            venv=venv,
            paths=tuple(import_paths),
            demand=_demand(cpus, memory, gpus),
            initializer=None if initializer is None else (initializer, initargs),
            name=name,
        )
        self._max_workers = max_workers or max(1, len(os.sched_getaffinity(0)))
        # Without the executor nobody can submit any more.
        self._finalizer = weakref.finalize(self, self._core.shut_down, False)
        self._finalizer.atexit = False
        _executors.add(self)

    def submit(  # type: ignore[override]
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> ClusterFuture[T]:
        """Calls ``fn(*args, **kwargs)`` on a worker.

        Futures of this executor among the arguments, also inside of lists and other objects,
        stand for their results: the call runs when they have succeeded.

        :raises RuntimeError: after `shutdown`.
        """
        with self._core.lock:
            if self._core.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
        return self._core.submit(fn, args, kwargs)

    def map(  # type: ignore[override]
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
        :param buffersize: calls without a yielded result; None: all are submitted at once.
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
        chunked = (
            part
            for chunk in iter(lambda: list(itertools.islice(entries, chunksize)), [])
            for part in self._submit_chunk(fn, chunk)
        )
        return itertools.chain.from_iterable(_ordered_results(chunked, buffersize, end))

    def _submit_chunk(
        self, fn: Callable[..., T], chunk: list[tuple[Any, ...]]
    ) -> list[Future[list[T]]]:
        """One call for a chunk, or several if its entries are too large for one."""
        future: Future[list[T]] = self._core.submit(fn, (chunk,), {}, is_chunked=True)
        if future.done() and isinstance(future.exception(), ArgumentsTooLarge) and len(chunk) > 1:
            middle = len(chunk) // 2
            return self._submit_chunk(fn, chunk[:middle]) + self._submit_chunk(fn, chunk[middle:])
        return [future]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls.

        :param wait: return when every call has its result.
        :param cancel_futures: cancel what does not run yet.
        """
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
            while line:
                future = line.popleft()
                try:
                    left = None if end is None else end - time.monotonic()
                    value = future.result(left)
                except BaseException:
                    future.cancel()
                    raise
                if buffersize is not None:
                    line.extend(itertools.islice(futures, 1))
                del future
                yield value
        finally:
            for waiting in line:
                waiting.cancel()

    return results()


def _import_paths() -> tuple[str, ...]:
    """The folders of ``sys.path`` that are not the installation's own."""
    installed = (sys.prefix, sys.base_prefix, sys.exec_prefix)
    found = []
    for path in sys.path:
        folder = os.path.abspath(path) if path else os.getcwd()
        if not folder.startswith(installed) and os.path.isdir(folder):
            found.append(folder)
    return tuple(dict.fromkeys(found))[:64]


def _demand(cpus: float, memory: int, gpus: float) -> words.Resources | None:
    """The resources of a call; None: one processor.

    :raises ValueError: for a negative number.
    """
    if min(cpus, memory, gpus) < 0:
        raise ValueError("cpus, memory and gpus must not be negative")
    if cpus == 1 and not memory and not gpus:
        return None
    return words.Resources(
        cpus=round(cpus * 10_000), memory_bytes=memory, gpus=round(gpus * 10_000)
    )


def _check_queue(connection: Connection, name: str) -> None:
    reply = connection.ask(timeout=60, queues=client.ReadQueues(name=name, limit=1))
    if not reply.queues.rows:
        raise Refused(
            "UNKNOWN_QUEUE", f"there is no queue '{name}'", f"opbatch queue create {name}"
        )


__all__ = [
    "ArgumentsTooLarge",
    "ClusterExecutor",
    "ClusterFuture",
    "ConnectionFailed",
]
