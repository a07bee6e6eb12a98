"""What a client and the coordinator say to each other, without socket and clock. Pure.

Not safe for several threads: it lives on the thread of its connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from opcluster import limits
from opcluster.errors import OpClusterError, Refused
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words

#: Is given the reply, or what went wrong.
Answer = Callable[["client.Reply | OpClusterError"], None]

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 2.0


def refused(refusal: words.Refusal) -> Refused:
    """A refusal as an error."""
    code = words.RefusalCode.Name(refusal.code).removeprefix("REFUSAL_CODE_")
    return Refused(code, refusal.message, refusal.hint, refusal.retry_after / 1e9 or None)


@dataclass
class PendingRequest:
    """A request without an answer."""

    number: int
    message: bytes
    answer: Answer
    # Of this connection only: it is not sent again on the next one.
    is_passing: bool = False
    # Busy answers in a row.
    refusals: int = 0


class Requests:
    """Requests in order, those on their way among them.

    After a loss of the connection all are sent again: submissions have keys, and everything else
    may be said twice.
    """

    def __init__(self) -> None:
        self._last = 0
        self._waiting: deque[PendingRequest] = deque()
        # Subscriptions and grants: they go before what waits.
        self._passing: deque[PendingRequest] = deque()
        self._sent: dict[int, PendingRequest] = {}
        self._sent_bytes = 0
        # Refused as busy: sent again from this moment on.
        self._pause_until = float("-inf")

    def __len__(self) -> int:
        return len(self._waiting) + len(self._passing) + len(self._sent)

    def add(self, request: client.Request, answer: Answer, *, is_passing: bool = False) -> int:
        """Numbers a request and puts it in line. Returns the number.

        :param is_passing: it goes before the others, and is not sent again after a loss.
        """
        self._last += 1
        request.number = self._last
        message = client.ClientMessage(request=request).SerializeToString()
        if len(message) > limits.MESSAGE_BYTES:
            # The coordinator's socket would drop it, and the connection with it.
            answer(
                Refused(
                    "LIMIT_EXCEEDED",
                    f"the request has {len(message)} bytes, more than {limits.MESSAGE_BYTES}",
                    "submit fewer operations at a time",
                )
            )
            return self._last
        (self._passing if is_passing else self._waiting).append(
            PendingRequest(self._last, message, answer, is_passing)
        )
        return self._last

    def next(self, now: float) -> PendingRequest | None:
        """The request that may be sent now; None: none, or the coordinator is busy."""
        line = self._passing or self._waiting
        if not line or now < self._pause_until:
            return None
        request = line[0]
        if self._sent and (
            len(self._sent) >= limits.REQUESTS_IN_FLIGHT
            or self._sent_bytes + len(request.message) > limits.REQUEST_BYTES_IN_FLIGHT
        ):
            return None
        return request

    def mark_sent(self) -> None:
        """The request that `next` gave is on its way."""
        request = (self._passing or self._waiting).popleft()
        self._sent[request.number] = request
        self._sent_bytes += len(request.message)

    def pause(self, now: float) -> float | None:
        """Seconds until waiting requests may be sent; None: nothing waits for time."""
        if not (self._waiting or self._passing) or self._pause_until <= now:
            return None
        return self._pause_until - now

    def answer(self, reply: client.Reply, now: float) -> None:
        """Hands a reply to whoever asked, or puts the request in line again if that is wished."""
        request = self._sent.pop(reply.request, None)
        if request is None:
            return
        self._sent_bytes -= len(request.message)
        if not reply.HasField("refused"):
            request.answer(reply)
            return
        refusal = reply.refused
        if refusal.code in (words.REFUSAL_CODE_BUSY, words.REFUSAL_CODE_SHUTTING_DOWN):
            request.refusals += 1
            own = min(_FIRST_PAUSE * 2 ** min(request.refusals, 10), _LONGEST_PAUSE)
            self._pause_until = now + max(own, refusal.retry_after / 1e9)
            self._put_back([request])
        else:
            request.answer(refused(refusal))

    def _put_back(self, requests: list[PendingRequest]) -> None:
        self._passing.extendleft(request for request in requests if request.is_passing)
        self._waiting.extend(request for request in requests if not request.is_passing)
        # The order of asking; few are ever out of it.
        self._waiting = deque(sorted(self._waiting, key=lambda request: request.number))

    def connection_lost(self) -> None:
        """Everything without an answer will be sent again."""
        self._passing.clear()
        self._put_back([request for request in self._sent.values() if not request.is_passing])
        self._sent = {}
        self._sent_bytes = 0

    def fail_all(self, error: OpClusterError) -> None:
        """Nobody will answer any more."""
        requests = [*self._sent.values(), *self._passing, *self._waiting]
        self._sent, self._sent_bytes = {}, 0
        self._passing.clear()
        self._waiting.clear()
        for request in requests:
            request.answer(error)


@dataclass
class Subscription:
    """One subscription over all connections.

    ``selection`` is asked at each (new) connection: it names what is to be followed then. Events
    go on behind the last that was seen, in the same life of the coordinator; in another one, from
    its present on, and ``renewed`` is called so that the reader looks itself.
    """

    selection: Callable[[], client.Selection]
    deliver: Callable[[client.EventBatch], None]
    #: Called when the coordinator has begun, or begun again, to send events.
    renewed: Callable[[], None]
    failed: Callable[[OpClusterError], None]
    includes_own: bool = False
    graphs_only: bool = False
    #: Where to begin; None: the present.
    since: int | None = None
    backlog_only: bool = False
    #: Whether what was delivered is granted again at once; else whoever reads it does that.
    grants_itself: bool = True
    number: int = 0
    received: int = 0
    ungranted: int = 0
    seen_life: tuple[int, int] | None = None
    is_over: bool = field(default=False)

    def request(self, number: int) -> client.Request:
        """The request that begins it anew under this number."""
        self.number, self.received, self.ungranted = number, 0, 0
        subscribe = client.Subscribe(
            number=number,
            selection=self.selection(),
            graphs_only=self.graphs_only,
            backlog_only=self.backlog_only,
            credit=limits.EVENT_CREDIT,
            includes_own=self.includes_own,
        )
        if self.since is not None:
            subscribe.since = self.since
            if self.seen_life is not None and self.seen_life[1]:
                subscribe.known.CopyFrom(
                    client.EventMark(
                        life=words.CoordinatorLife(
                            epoch=self.seen_life[0], number=self.seen_life[1]
                        ),
                        sequence=self.since,
                    )
                )
        return client.Request(subscribe=subscribe)

    def take(self, batch: client.EventBatch, life: tuple[int, int]) -> int:
        """Takes events; returns how many to grant again now.

        :raises OpClusterError: if some were lost on the way.
        """
        if batch.first != self.received:
            raise OpClusterError(
                f"events were lost on the way: {batch.first} were sent, {self.received} came"
            )
        count = len(batch.events.kinds)
        self.received += count
        self.ungranted += count if self.grants_itself else 0
        if not self.includes_own:
            self.since = max(self.since or 0, batch.resume_at)
            self.seen_life = life
        self.deliver(batch)
        if self.ungranted < limits.EVENTS_PER_GRANT:
            return 0
        granted, self.ungranted = self.ungranted, 0
        return granted
