"""The columns of the protocol's messages, as lists of entries. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from opcluster.v1 import submission_pb2 as words

#: Graph and index of an operation.
OperationKey = tuple[int, int]
#: Graph, index and number of an attempt.
AttemptKey = tuple[int, int, int]

_MODULUS = 1 << 32


def operations(columns: words.Operations) -> Iterator[OperationKey]:
    """The operations of columns: runs of one graph, each with indices as differences."""
    deltas = iter(columns.index_delta)
    for graph, count in zip(columns.graph, columns.count):
        index = 0
        for _ in range(count):
            index = (index + next(deltas, 0)) % _MODULUS
            yield graph, index


def attempts(columns: words.Attempts) -> list[AttemptKey]:
    """The attempts of columns; without numbers each is the first."""
    numbers = columns.number
    found = columns.operations
    if len(found.index_delta) == len(found.graph) == len(found.count) == 1 == found.count[0]:
        # The usual case, without what iterates.
        number = numbers[0] if numbers else 1
        return [(found.graph[0], found.index_delta[0] % _MODULUS, number)]
    return [
        (graph, index, numbers[at] if at < len(numbers) else 1)
        for at, (graph, index) in enumerate(operations(found))
    ]


def operation_columns(keys: Iterable[OperationKey]) -> words.Operations:
    """The columns of operations."""
    columns = words.Operations()
    last_graph = -1
    last_index = 0
    for graph, index in keys:
        if graph != last_graph:
            columns.graph.append(graph)
            columns.count.append(0)
            last_graph, last_index = graph, 0
        columns.count[-1] += 1
        columns.index_delta.append(signed(index - last_index))
        last_index = index
    return columns


def signed(difference: int) -> int:
    """A difference modulo 2^32, as a signed number."""
    difference %= _MODULUS
    return difference - _MODULUS if difference >= _MODULUS // 2 else difference


def runs(values: Sequence[int], counts: Sequence[int]) -> Iterator[int]:
    """The values of runs, one by one."""
    for value, count in zip(values, counts):
        for _ in range(count):
            yield value


def positions(differences: Sequence[int]) -> list[int]:
    """The positions that a sparse column speaks of."""
    place = 0
    found = []
    for difference in differences:
        place += difference
        found.append(place)
    return found
