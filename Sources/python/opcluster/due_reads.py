"""Which results are to be read, and when. Pure.

The calls of a chain end one by one, and each answer costs the coordinator a look into its journal;
mostly the last one alone is waited for.
"""

from __future__ import annotations

import heapq
from typing import Final

#: Seconds for which results that nobody waits for gather before they are read.
GATHERING: Final = 0.005


class DueReads:
    """The graphs with calls that have ended and whose results were not read."""

    def __init__(self) -> None:
        self._graphs: list[int] = []
        self._known: set[int] = set()
        self._read_at = 0.0
        self._is_awaited = False

    def add(self, graph: int, *, is_awaited: bool, now: float) -> None:
        """A call has ended.

        :param is_awaited: whether somebody waits for its result.
        :param now: seconds, as ``time.monotonic`` counts.
        """
        if not self._graphs:
            self._read_at = now + GATHERING
        if graph not in self._known:
            self._known.add(graph)
            heapq.heappush(self._graphs, graph)
        self._is_awaited = self._is_awaited or is_awaited

    def hurry(self) -> None:
        """Somebody waits for one of them."""
        self._is_awaited = bool(self._graphs)

    def take(self, now: float) -> int | None:
        """The next graph to read; None: none is due.

        The oldest goes first: its calls are the dependencies of the others.
        """
        if not self._graphs or self.wanted_at(now) is not None:
            return None
        graph = heapq.heappop(self._graphs)
        self._known.discard(graph)
        if not self._graphs:
            self._is_awaited = False
        return graph

    def wanted_at(self, now: float) -> float | None:
        """When the next one is due; None: there is none, or it is due now."""
        if self._graphs and not self._is_awaited and now < self._read_at:
            return self._read_at
        return None
