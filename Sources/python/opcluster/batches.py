"""Calls that are submitted together, as arrays of operations. Pure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from opcluster import columns, references
from opcluster.contents import Content
from opcluster.futures import ClusterFuture
from opcluster.v1 import submission_pb2 as words

#: Bytes of arguments in one submission, and calls: a message has room for them.
BATCH_BYTES = 6 * 1024 * 1024
BATCH_CALLS = 16_384



class RemoteFunction:
    """A function, as the payload of templates."""

    def __init__(self, target: Any, name: str, payload: bytes) -> None:
        #: Kept so that its identity stays its own.
        self.target = target
        self.name = valid_name(name)
        self.payload = payload


def valid_name(text: str) -> str:
    """A name of an operation that resembles a function's."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:100]
    return name if name and (name[0].isalpha() or name[0] == "_") else f"_{name}"


class Call:
    """A call that was not submitted yet, or has no result yet."""

    __slots__ = ("function", "argument", "future", "dependencies", "contents")

    def __init__(
        self,
        function: RemoteFunction,
        argument: bytes,
        future: ClusterFuture[Any],
        dependencies: tuple[ClusterFuture[Any], ...],
        contents: tuple[Content, ...] = (),
    ) -> None:
        self.function = function
        self.argument = argument
        self.future = future
        self.dependencies = dependencies
        self.contents = contents


class Batch:
    """Calls that are submitted together, as one graph. Made and used on the I/O thread."""

    def __init__(self) -> None:
        self.graph = 0
        # By index; None: it has its result.
        self.calls: list[Call | None] = []
        # Name, first index and count of each template.
        self.templates: list[tuple[str, int, int]] = []
        self.open = 0
        # Ended calls whose results are to be read, and those being read.
        self.due: list[int] = []
        # Things to do once the number of the graph is known.
        self.when_accepted: list[Callable[[], None]] = []


def gather(waiting: deque[Call], batch: Batch) -> tuple[list[words.Template], list[Call]]:
    """Takes calls from a line into a batch, as templates: one for each function.

    Returns the templates without queue and demand, and the calls that have to wait since a
    dependency was submitted and not accepted yet.
    """
    groups: dict[tuple[int, bool, bool], list[Call]] = {}
    held: list[Call] = []
    taken: set[ClusterFuture[Any]] = set()
    size = count = 0
    while waiting and size < BATCH_BYTES and count < BATCH_CALLS:
        call = waiting.popleft()
        future = call.future
        if future.cancelled():
            continue
        if call.dependencies and not all(
            dependency in taken or dependency.operation is not None
            for dependency in call.dependencies
        ):
            held.append(call)
            continue
        kind = (id(call.function), bool(call.dependencies), bool(call.contents))
        groups.setdefault(kind, []).append(call)
        taken.add(future)
        size += len(call.argument) + 64
        count += 1
    templates = []
    names: dict[str, int] = {}
    for (_, has_dependencies, has_contents), members in groups.items():
        function = members[0].function
        number = names.get(function.name, 0)
        names[function.name] = number + 1
        name = f"{function.name}.{number + 1}" if number else function.name
        batch.templates.append((name, len(batch.calls), len(members)))
        for call in members:
            call.future._place = (0, len(batch.calls))
            call.future._batch = batch
            batch.calls.append(call)
        own = [own_files(call.contents) for call in members] if has_contents else []
        templates.append(
            words.Template(
                own_files=b"".join(own),
                own_files_length=map(len, own),
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


def own_files(contents: tuple[Content, ...]) -> bytes:
    """The contents that a call reads, as the output of something before it."""
    return words.Outputs(
        contents=[words.Content(digest=content.digest, size=content.size) for content in contents]
    ).SerializeToString()


def edges(batch: Batch) -> tuple[words.ElementEdges | None, words.ExternalEdges | None]:
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
