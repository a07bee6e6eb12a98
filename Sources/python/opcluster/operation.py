"""The operation that this process runs, for the function that it calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opcluster import calls, columns, limits, traces
from opcluster.errors import BadCall, Cancelled, OpClusterError
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2

#: What the submitter gives stands among the dependencies under this name.
_SUBMITTER = "."


@dataclass(frozen=True)
class Input:
    """One direct dependency, as its dependent sees it."""

    graph: int
    #: From 0 within the graph.
    operation: int
    name: str
    #: The number of an array's element, as people count it; None: a plain operation.
    index: int | None
    #: ``SUCCEEDED``, ``FAILED``, ``TIMED_OUT``, ``CANCELLED``, ``SKIPPED`` or ``LOST``.
    outcome: str
    #: The encoded output; empty: it left none.
    output: bytes
    _content: Callable[[bytes, int], bytes]

    @property
    def value(self) -> Any:
        """What its function returned, or the fields of its output; None: it left nothing."""
        return calls.value(self.output, self._content)


def _read_inputs(
    found: worker_pb2.DependencyInputs, content: Callable[[bytes, int], bytes]
) -> list[Input]:
    outputs = dict(zip(columns.positions(found.output_at), found.output))
    inputs = []
    for at, (graph, index) in enumerate(columns.operations(found.operations)):
        name = found.names[found.name[at]] if at < len(found.name) else ""
        if not found.name and found.names:
            name = found.names[0]
        if name == _SUBMITTER:
            continue
        shown = found.index_plus_one[at] if at < len(found.index_plus_one) else 0
        outcome = found.outcome[at] if at < len(found.outcome) else words.OUTCOME_SUCCEEDED
        inputs.append(
            Input(
                graph,
                index,
                name,
                shown - 1 if shown else None,
                words.Outcome.Name(outcome).removeprefix("OUTCOME_"),
                outputs.get(at, b""),
                content,
            )
        )
    return inputs


class RunningOperation:
    """The attempt that runs now. Any thread may ask it; it is valid until the function returns."""

    def __init__(
        self,
        attempt: columns.AttemptKey,
        *,
        name: str = "",
        index: int = 0,
        address: str = "",
        folder: str = "",
        input_folder: str = "",
        inputs: worker_pb2.DependencyInputs | None = None,
        submission_parent: str = "",
        run: int = 1,
        leaves: Callable[[str, str], None] | None = None,
        report: Callable[[float, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        #: Graph, operation (from 0 within the graph) and number of the attempt (from 1).
        self.graph, self.operation, self.attempt = attempt
        #: The name of the operation, or of its array.
        self.name = name
        #: The place in its array, from 0.
        self.index = index
        #: The number of the run, as people count: 1, and more after a retry.
        self.run = run
        #: The address of the cluster that runs it; empty: not told.
        self.address = address
        self._submission_parent = submission_parent
        self._folder = folder
        self._has_folder = False
        self._input_folder = input_folder
        self._found = inputs
        self._inputs: list[Input] | None = None
        self._report = report
        self._leaves = leaves
        self._clock = clock
        self._reported_at = float("-inf")
        self._is_cancelled = False
        # Nested sections in which cancellation sets the flag alone.
        self._deferrals = 0
        # Whether Cancelled may be raised now; the interpreter's own.
        self._is_armed = False

    @property
    def is_cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._is_cancelled

    @property
    def traceparent(self) -> str:
        """Its span in the trace of who submitted the graph, for what it calls; empty: none."""
        return traces.attempt_parent(
            self._submission_parent, self.graph, self.operation, self.run
        )

    @contextmanager
    def deferring_cancellation(self) -> Iterator[None]:
        """While it is open, a cancellation sets ``is_cancelled`` and raises nothing.

        On leaving, `Cancelled` is raised if it was cancelled meanwhile. For the main thread.
        """
        self._deferrals += 1
        try:
            yield
        finally:
            self._deferrals -= 1
        self._raise_if_due()

    def _cancel(self) -> None:
        """In the main thread; raises `Cancelled` if that may be now."""
        self._is_cancelled = True
        self._raise_if_due()

    def _raise_if_due(self) -> None:
        if self._is_cancelled and self._is_armed and self._deferrals == 0:
            self._is_armed = False
            raise Cancelled("the operation was cancelled")

    @property
    def scratch_folder(self) -> str:
        """A folder of its own, made on the first use and removed when the function has returned.

        :raises OSError: if it cannot be made.
        """
        if not self._folder:
            raise OpClusterError("what runs this operation gives it no folder")
        if not self._has_folder:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._has_folder = True
        return self._folder

    def input_file(self, name: str) -> str:
        """The path of a file or folder that it is given: by its name among the `inputs`, or
        ``OPERATION/NAME`` of what a dependency has left. It is there to be read alone.

        :raises FileNotFoundError: if it is given none of this name.
        """
        start = os.path.join(self._input_folder, "files")
        path = os.path.join(start, name)
        is_inside = not os.path.isabs(name) and ".." not in name.split("/")
        if not self._input_folder or not is_inside or not os.path.exists(path):
            given = sorted(os.listdir(start)) if os.path.isdir(start) else []
            raise FileNotFoundError(
                f"this operation is given no '{name}', but {', '.join(given) or 'no files'}; give "
                "it as 'inputs', or by 'files' of a dependency"
            )
        return path

    def leave_file(self, name: str, path: str) -> None:
        """Leaves a file, or the files of a folder, for those that depend on it and for `fetch`.

        They are read when the function has returned, and must not change until then.

        :raises FileNotFoundError: if there is nothing at the path.
        :raises OSError: if a file cannot be read, or is no plain file.
        :raises ValueError: if the name is taken, or there are too many files.
        :raises OpClusterError: if its worker has no store for files.
        """
        if self._leaves is None:
            raise OpClusterError("what runs this operation has no store for files")
        self._leaves(name, path)

    def progress(self, fraction: float, text: str = "") -> None:
        """Tells how far it is, from 0 to 1, with a text; more often than each 0.1 s is dropped."""
        now = self._clock()
        if self._report is None or now - self._reported_at < limits.PROGRESS_INTERVAL:
            return
        self._reported_at = now
        bounded = min(max(float(fraction), 0.0), 1.0) if fraction == fraction else 0.0
        # A half-sent frame would end this process.
        self._deferrals += 1
        try:
            self._report(bounded, calls.clipped(text, 1024))
        finally:
            self._deferrals -= 1
        self._raise_if_due()

    @property
    def inputs(self) -> list[Input]:
        """Its direct dependencies, in the order in which they were added."""
        if self._inputs is None:
            found = self._found
            self._inputs = [] if found is None else _read_inputs(found, self._read_content)
        return self._inputs

    def input_of(self, graph: int, operation: int) -> Input:
        """The dependency of this number.

        :raises BadCall: if it is none of its dependencies.
        """
        for known in self.inputs:
            if known.graph == graph and known.operation == operation:
                return known
        raise BadCall(f"operation {operation} of graph {graph} is none of its dependencies")

    def value_of(self, graph: int, operation: int) -> Any:
        """The value of the dependency of this number, as `input_of` finds it."""
        found = self._found
        if self._inputs is None and found is not None and len(found.output) == 1:
            there = found.operations
            if list(there.graph) == [graph] and list(there.index_delta) == [operation]:
                # The usual case, without what describes it.
                return calls.value(found.output[0], self._read_content)
        return self.input_of(graph, operation).value

    def content_path(self, digest: bytes) -> str:
        """The file of a content that was brought here for this attempt."""
        return os.path.join(self._input_folder, digest.hex())

    def _read_content(self, digest: bytes, size: int) -> bytes:
        with open(self.content_path(digest), "rb") as file:
            found = file.read()
        if len(found) != size:
            raise BadCall(f"the content {digest.hex()} has {len(found)} bytes instead of {size}")
        return found


_current: RunningOperation | None = None


def current_operation() -> RunningOperation:
    """The operation that this process runs.

    :raises OpClusterError: outside of an operation.
    """
    if _current is None:
        raise OpClusterError("this process runs no operation; is_in_operation() tells")
    return _current


def is_in_operation() -> bool:
    """Whether this process runs an operation, so that `current_operation` has an answer."""
    return _current is not None


def _set_current(operation: RunningOperation | None) -> None:
    global _current
    _current = operation
