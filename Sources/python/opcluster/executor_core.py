"""What an executor does on the thread of its connection: submits calls, and reads their results."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from types import BuiltinFunctionType, FunctionType
from typing import Any

import cloudpickle

from opcluster import calls, columns, limits, selections
from opcluster.batches import Batch, Call, RemoteFunction, edges, gather, valid_name
from opcluster.cluster_access import ClusterAccess
from opcluster.connection import Connection
from opcluster.contents import ContentExchange
from opcluster.conversation import Subscription
from opcluster.due_reads import DueReads
from opcluster.errors import DependencyFailed, InitializerFailed, OpClusterError, Refused
from opcluster.futures import ClusterFuture, check_dependencies, pickled_arguments
from opcluster.nested_waits import NestedWaits
from opcluster.results import end_as_cancelled, no_content, remote_exception, unreadable
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words

#: Submissions without an answer; what comes meanwhile gathers for the next.
_SUBMISSIONS_ON_THE_WAY = 1
_READS_ON_THE_WAY = 4
#: Functions whose pickles are kept.
_FUNCTIONS_KEPT = 256
_FINISHED = client.EVENT_KIND_FINISHED
_EXECUTING = client.EVENT_KIND_EXECUTING
#: Calls that one request names.
_CANCELS_AT_ONCE = 4_096
_CANCEL_REASON = "cancelled by its program"


class ExecutorCore:
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
        self.waits = NestedWaits(self.connection)
        self.interpreter, self.venv, self.paths = interpreter, venv, paths
        self._queue, self._own_queue, self._demand = queue, own_queue, demand
        self._initializer = initializer
        self._key = uuid.uuid4().hex
        self._name = valid_name(name)
        self.lock = threading.RLock()
        self._functions: OrderedDict[tuple[int, bool], RemoteFunction] = OrderedDict()
        self._new: deque[Call] = deque()
        self._is_posted = False
        self.is_shut_down = False
        self._broken: str | None = None
        # Calls whose contents are on their way to stores.
        self._leaving: set[Call] = set()
        self.ended = threading.Event()
        # On the I/O thread alone.
        self._waiting: deque[Call] = deque()
        self._held: list[Call] = []
        self._submitting = 0
        self._flying: set[Batch] = set()
        self._reading = 0
        self._batches: dict[int, Batch] = {}
        self._due = DueReads()
        # Events of graphs whose answers have not come: kinds and indices.
        self._early: dict[int, list[tuple[int, int]]] = {}
        self._contents = ContentExchange(self.connection)
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

    def function(self, target: Any, *, is_chunked: bool = False) -> RemoteFunction:
        """The payload for a function, pickled once."""
        key = (id(target), is_chunked)
        with self.lock:
            known = self._functions.get(key)
            if known is not None:
                return known
        name = getattr(target, "__name__", type(target).__name__)
        called = calls.Chunk(target) if is_chunked else target
        payload = calls.payload(
            cloudpickle.dumps(self.initialized(called), calls.PICKLE_PROTOCOL),
            interpreter=self.interpreter,
            venv=self.venv,
            paths=self.paths,
        )
        made = RemoteFunction(target, name, payload)
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
            pickled = pickled_arguments(arguments, keywords, met)
            check_dependencies(met, self)
        except DependencyFailed as error:
            future.set_exception(error)
            return future
        except Exception as error:
            future.set_exception(error)
            return future
        call = Call(function, pickled.argument, future, tuple(met), pickled.contents)
        with self.lock:
            if self.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._broken is not None:
                raise BrokenProcessPool(self._broken)
            if call.contents:
                self._leaving.add(call)
            else:
                self._new.append(call)
        if call.contents:
            self._contents.leave(
                call.contents, lambda found: self._left(call, found),
                lambda: not future.cancelled(),
            )
            return future
        with self.lock:
            if self._is_posted:
                return future
            self._is_posted = True
        self.connection.post(self._take_new)
        return future

    def _left(self, call: Call, found: bytes | BaseException) -> None:
        """What a call reads lies in stores, or does not; on the I/O thread."""
        with self.lock:
            self._leaving.discard(call)
        if isinstance(found, BaseException):
            if not call.future.done():
                call.future.set_exception(found)
        else:
            self._waiting.append(call)

    def cancel(self, future: ClusterFuture[Any]) -> bool:
        """Cancels a call that may have been submitted."""
        with self.lock:
            if future._place is None:
                # In line. Whoever takes it from there looks first.
                return future._cancel_locally()
        if self.connection.is_own_thread:
            return False
        verdicts: Future[list[int]] = Future()
        future._hold_begin(True)
        try:
            self.connection.post(lambda: self._cancel_unstarted([future], verdicts.set_result))
            verdict = verdicts.result()
            if verdict and verdict[0] != client.CANCEL_VERDICT_ALREADY_FINISHED:
                return future._cancel_locally()
        except OpClusterError:
            pass
        finally:
            future._hold_begin(False)
        return future.cancelled()

    def read_soon(self) -> None:
        """Somebody waits for a call that has ended."""
        try:
            self.connection.post(self._due.hurry)
        except OpClusterError:
            pass  # Its futures have ended, or will.

    def stop(self, futures: list[ClusterFuture[Any]]) -> None:
        """Asks calls to stop, and does not wait."""
        with self.lock:
            # In line. Whoever takes it from there looks first.
            in_line = [future for future in futures if future._place is None]
            sent = [future for future in futures if future._place is not None]
            for future in in_line:
                future._cancel_locally()
        if sent:
            self.connection.post(lambda: self._send_cancel(sent, lambda found: None))

    def shut_down(self, cancel_futures: bool) -> None:
        """Takes nothing new; ends once every call has its result."""
        if not self.connection.is_here:
            return
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

    def _turn_ended(self) -> float | None:
        while self._waiting and self._submitting < _SUBMISSIONS_ON_THE_WAY:
            self._submit_batch()
        now = time.monotonic()
        while self._reading < _READS_ON_THE_WAY and (graph := self._due.take(now)) is not None:
            self._read(graph)
        if self.is_shut_down and not self.ended.is_set():
            self._end_if_idle()
        return self._due.wanted_at(now)

    def _submit_batch(self) -> None:
        batch = Batch()
        with self.lock:
            templates, held = gather(self._waiting, batch)
        self._held.extend(held)
        self.waits.batch_gathered()
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
        self._flying.add(batch)
        self.connection.send(
            client.Request(submit=submission), lambda reply: self._submitted(batch, reply)
        )

    def _submitted(self, batch: Batch, reply: client.Reply | OpClusterError) -> None:
        self._submitting -= 1
        self._flying.discard(batch)
        if isinstance(reply, OpClusterError):
            for index in range(len(batch.calls)):
                self._conclude(batch, index, lambda future: future.set_exception(reply))
            return
        batch.graph = reply.accepted.graph
        self._batches[batch.graph] = batch
        for index, call in enumerate(batch.calls):
            if call is not None:
                call.future._place = (batch.graph, index)
        for kind, index in self._early.pop(batch.graph, ()):
            call = batch.calls[index] if index < len(batch.calls) else None
            if call is not None:
                self._note(batch, call, kind, index)
        if not self._submitting:
            self._early.clear()
        for task in batch.when_accepted:
            task()
        if self._held:
            self._waiting.extendleft(reversed(self._held))
            self._held = []
        if reply.accepted.repeated:
            # It was accepted over an earlier connection: its events are not of this one.
            self.connection.renew(self._subscription)

    def _selection(self) -> client.Selection:
        return selections.of_graphs(self._batches)

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
            if known is None and self._submitting:
                # It may be of a submission whose answer follows.
                self._early.setdefault(graph, []).append((kind, index))
                continue
            call = known.calls[index] if known and index < len(known.calls) else None
            if known is None or call is None:
                continue
            self._note(known, call, kind, index)

    def _note(self, batch: Batch, call: Call, kind: int, index: int) -> None:
        """A call has begun, or has ended."""
        if kind == _FINISHED:
            batch.due.append(index)
            is_awaited = call.future._note_end() or self.is_shut_down
            self._due.add(batch.graph, is_awaited=is_awaited, now=time.monotonic())
        else:
            call.future._begin()

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
                selection = selections.of_elements(graph, name, first, part)
                self._ask_rows(selection, None, graph)
            place = end

    def _read_ended(self, graph: int, after: words.Operation | None) -> None:
        """Reads everything of a graph that has ended, page by page."""
        self._ask_rows(selections.of_graphs([graph], selections.ENDED), after, graph)

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
            if isinstance(reply, Refused) and reply.code == "UNKNOWN_OPERATION":
                return  # None of them has ended.
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

    def _take_row(self, batch: Batch, row: client.OperationRow) -> None:
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
                value = calls.opened_value(opened, no_content)
            except Exception as error:
                failure = unreadable(error)
                self._conclude(batch, index, lambda future: future.set_exception(failure))
                return
            self._conclude(batch, index, lambda future: future.set_result(value))
        elif row.outcome == words.OUTCOME_SUCCEEDED:
            self._conclude(batch, index, lambda future: future.set_result(None))
        else:
            self._take_failure(batch, index, row, output)

    def _fetch(self, batch: Batch, index: int, opened: words.Outputs) -> None:
        """A value that lies in a store: another thread reads it."""
        place = opened.contents[opened.value_at - 1]

        def use(found: bytes | BaseException) -> None:
            try:
                if isinstance(found, BaseException):
                    raise found
                value = calls.opened_value(opened, lambda digest, size: found)
            except Exception as error:
                failure = unreadable(error)
                self._conclude(batch, index, lambda future: future.set_exception(failure))
            else:
                self._conclude(batch, index, lambda future: future.set_result(value))

        self._contents.read(place.digest, place.size, use)

    def _take_failure(
        self, batch: Batch, index: int, row: client.OperationRow, output: bytes
    ) -> None:
        call = batch.calls[index]
        assert call is not None
        diagnostic = row.result.diagnostic[0] if row.result.diagnostic else ""
        if row.outcome == words.OUTCOME_CANCELLED:
            self._conclude(batch, index, end_as_cancelled)
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
        self, batch: Batch, index: int, end: Callable[[ClusterFuture[Any]], None]
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
            client.Request(cancel=client.Cancel(target=target, reason=_CANCEL_REASON)),
            answer,
        )

    def _cancel_unstarted(
        self, futures: list[ClusterFuture[Any]], use: Callable[[list[int]], None]
    ) -> None:
        """Cancels calls of one batch, except those that run; `use` gets verdicts of the others."""
        batch = futures[0]._batch
        assert batch is not None
        if not batch.graph:
            batch.when_accepted.append(lambda: self._cancel_unstarted(futures, use))
            return
        wanted = sorted(future._place[1] for future in futures if future._place is not None)
        for name, first, count in batch.templates:
            part = [index for index in wanted if first <= index < first + count]
            if not part:
                continue
            selection = selections.of_elements(
                batch.graph, name, first, part, selections.UNSTARTED
            )
            cancel = client.Cancel(
                target=client.OperationTarget(selection=selection), reason=_CANCEL_REASON
            )
            self.connection.send(
                client.Request(cancel=cancel),
                # A refusal: none of them is there any more, or all run.
                lambda reply: use(
                    [] if isinstance(reply, OpClusterError) else list(reply.cancelled.verdict)
                ),
            )

    def _begin_end(self, cancel_futures: bool) -> None:
        self._take_new()
        if not cancel_futures:
            return
        with self.lock:
            leaving = list(self._leaving)
        for call in (*self._waiting, *self._held, *leaving):
            call.future._cancel_locally()
        for batch in (*self._batches.values(), *self._flying):
            futures = [call.future for call in batch.calls if call is not None]
            for begin in range(0, len(futures), _CANCELS_AT_ONCE):
                self._cancel_some(futures[begin : begin + _CANCELS_AT_ONCE])

    def _cancel_some(self, futures: list[ClusterFuture[Any]]) -> None:
        pending = [future for future in futures if not future.running()]
        for future in pending:
            future._hold_begin(True)

        def go_on(verdicts: list[int]) -> None:
            # What was cancelled ends so; what runs goes on.
            for future in pending:
                future._hold_begin(False)

        if pending:
            self._cancel_unstarted(pending, go_on)

    def _end_if_idle(self) -> None:
        self._waiting = deque(call for call in self._waiting if not call.future.cancelled())
        with self.lock:
            is_leaving = any(not call.future.cancelled() for call in self._leaving)
        if self._waiting or self._held or self._new or is_leaving:
            return
        if self._batches or self._submitting:
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
        self._contents.close()
        self.access.release()
        self.ended.set()
