"""Which graphs and operations a request means. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opcluster.batches import index_runs
from opcluster.v1 import client_pb2 as client

#: States of operations that have ended, and of those that do not run yet.
ENDED: Final = (
    client.STATE_WORD_SUCCEEDED,
    client.STATE_WORD_FAILED,
    client.STATE_WORD_TIMED_OUT,
    client.STATE_WORD_CANCELLED,
    client.STATE_WORD_SKIPPED,
    client.STATE_WORD_LOST,
)
UNSTARTED: Final = (
    client.STATE_WORD_DECLARED,
    client.STATE_WORD_WAITING,
    client.STATE_WORD_HELD,
    client.STATE_WORD_READY,
    client.STATE_WORD_DISPATCHED,
)


def of_graphs(
    graphs: Iterable[int], states: Sequence[client.StateWord] = ()
) -> client.Selection:
    """The operations of these graphs; in these states, if any are given."""
    numbers = sorted(graphs)
    return client.Selection(
        graphs=client.Selection.GRAPHS_NUMBERS,
        first_graph=numbers,
        last_graph=numbers,
        states=states,
    )


def of_elements(
    graph: int,
    name: str,
    first: int,
    indices: Iterable[int],
    states: Sequence[client.StateWord] = (),
) -> client.Selection:
    """Elements of an array by their indices in the graph, ascending; `first` is the array's."""
    selection = of_graphs([graph], states)
    selection.operation = name
    selection.elements.CopyFrom(index_runs(index - first + 1 for index in indices))
    return selection
