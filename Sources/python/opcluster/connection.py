"""A connection to a coordinator: one thread with a socket, which comes back after each loss."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message

from opcluster.configuration import Keys
from opcluster.conversation import Requests, Subscription, refused
from opcluster.errors import ConnectionFailed, OpClusterError
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words

_BUILD = "opcluster-python/1"
#: Seconds of silence after which it asks, and after which the coordinator counts as gone.
_ASK_AFTER = 3.0
_SILENCE = 10.0
#: Seconds to reach the coordinator, and for its welcome once it is reached: it may be starved.
_OPENING_TIME = 10.0
_GREETING_TIME = 30.0
_FIRST_BACKOFF = 0.05
_LONGEST_BACKOFF = 5.0
#: How long requests wait for a coordinator that is away.
PATIENCE = 60.0
_HANDSHAKE_FAILURES = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)


class Connection:
    """Any thread asks; answers and events are given on the connection's own thread."""

    def __init__(self, address: str, keys: Keys | None = None, patience: float = PATIENCE) -> None:
        """Connects.

        :param keys: for ``tcp://``; None for ``ipc://``.
        :param patience: seconds for which requests wait for a coordinator that is away.
        :raises ConnectionFailed: if there is none, or it refuses us.
        """
        if not address.startswith(("tcp://", "ipc://")):
            raise ConnectionFailed(
                f"'{address}' is no address; write tcp://HOST:PORT or ipc://PATH"
            )
        if address.startswith("tcp://") and keys is None:
            raise ConnectionFailed(
                f"there is no key for {address}, and over TCP there is no way without one; ask the "
                "cluster's administrator for an invitation: opbatch key join"
            )
        self.address = address
        #: Our keys; None: the address needs none.
        self.keys = keys if address.startswith("tcp://") else None
        self._patience = patience
        self._context = zmq.Context()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._tasks: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self._is_closing = False
        self._has_finished = False
        self._hello = b""
        self._requests = Requests()
        self._subscriptions: list[Subscription] = []
        self._last_subscription = 0
        #: Called on the thread after each turn: a place to send what has gathered. Returns the
        #: moment (``time.monotonic``) at which it wants to be called again; None: with any turn.
        self.turn_ended: list[Callable[[], float | None]] = []
        self._wanted_at: float | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._poller = zmq.Poller()
        self._poller.register(self._wake, zmq.POLLIN)
        self._is_open = False
        self._has_opened = False
        self._life = (0, 0)
        self._failures = 0
        self._retry_at = 0.0
        self._away_since: float | None = time.monotonic()
        self._heard = self._asked = self._opening_until = 0.0
        #: The handshake is done; the welcome is awaited.
        self._is_reached = False
        self._opened: Future[None] = Future()
        self._end: OpClusterError | None = None
        self._thread = threading.Thread(target=self._run, name="opcluster", daemon=True)
        self._thread.start()
        try:
            self._opened.result()
        except BaseException:
            self.close()
            raise

    # From any thread

    def post(self, task: Callable[[], None]) -> None:
        """Has a task run on the connection's thread, in order.

        :raises ConnectionFailed: if the connection was closed.
        """
        if not self.is_here:
            raise ConnectionFailed("the connection is of the process that has forked this one")
        with self._lock:
            if self._is_closing:
                raise self._end or ConnectionFailed("the connection was closed")
            self._tasks.append(task)
            if self._is_woken:
                return
            self._is_woken = True
            os.eventfd_write(self._wake, 1)

    @property
    def is_here(self) -> bool:
        """Whether it was made in this process: a forked one has neither thread nor socket."""
        return os.getpid() == self._process

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller is the connection's thread."""
        return threading.current_thread() is self._thread

    def request(self, request: client.Request) -> Future[client.Reply]:
        """Sends a request; its answer comes in the future."""
        future: Future[client.Reply] = Future()

        def answer(reply: client.Reply | OpClusterError) -> None:
            if isinstance(reply, OpClusterError):
                future.set_exception(reply)
            else:
                future.set_result(reply)

        self.post(lambda: self.send(request, answer))
        return future

    def ask(self, timeout: float | None = None, **body: Any) -> client.Reply:
        """Sends a request and waits for its answer.

        :raises Refused: if the coordinator says no.
        :raises ConnectionFailed: if it stays away.
        :raises TimeoutError: after `timeout` seconds.
        """
        if self.is_own_thread:
            raise OpClusterError("a callback must not wait for the coordinator; use a thread")
        return self.request(client.Request(**body)).result(timeout)

    def close(self) -> None:
        """Ends the connection; what has no answer fails."""
        if not self.is_here:
            return
        with self._lock:
            self._is_closing = True
            if not self._has_finished:
                os.eventfd_write(self._wake, 1)
        if not self.is_own_thread:
            self._thread.join()

    # On the thread

    def send(self, request: client.Request, answer: Callable[[Any], None]) -> None:
        """As `request`, for tasks on the connection's thread."""
        self._requests.add(request, answer)

    def subscribe(self, subscription: Subscription) -> None:
        """Begins a subscription; for tasks on the connection's thread."""
        self._subscriptions.append(subscription)
        if self._is_open:
            self.renew(subscription)

    def renew(self, subscription: Subscription) -> None:
        """Begins it anew with its present selection."""
        if subscription.number:
            self._say(client.Request(unsubscribe=subscription.number))
        self._last_subscription += 1

        def answer(reply: client.Reply | OpClusterError) -> None:
            if isinstance(reply, OpClusterError):
                if subscription in self._subscriptions:
                    self._subscriptions.remove(subscription)
                    subscription.failed(reply)
            elif not subscription.is_over:
                if subscription.since is None and not subscription.includes_own:
                    subscription.since, subscription.seen_life = reply.subscribed, self._life
                subscription.renewed()

        # Before any request that waits: a reader sees its own later submissions from their begin.
        self._say(subscription.request(self._last_subscription), answer)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Ends a subscription."""
        subscription.is_over = True
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            if self._is_open:
                self._say(client.Request(unsubscribe=subscription.number))

    def grant(self, subscription: Subscription, count: int) -> None:
        """Lets so many more events come."""
        if count and not subscription.is_over and self._is_open:
            credit = client.GrantCredit(subscription=subscription.number, events=count)
            self._say(client.Request(grant_credit=credit))

    def _say(
        self, request: client.Request, answer: Callable[[Any], None] = lambda reply: None
    ) -> None:
        self._requests.add(request, answer, is_passing=True)

    def _run(self) -> None:
        try:
            while not self._is_closing:
                self._turn()
        except BaseException as error:  # A defect of ours: nobody must wait for ever.
            self._end = ConnectionFailed(f"the connection's thread failed: {error!r}")
        self._finish()

    def _finish(self) -> None:
        with self._lock:
            self._is_closing = True
            tasks, self._tasks = self._tasks, deque()
        self._end = self._end or ConnectionFailed("the connection was closed")
        for task in tasks:
            task()
        if not self._opened.done():
            self._opened.set_exception(self._end)
        self._requests.fail_all(self._end)
        for subscription in list(self._subscriptions):
            subscription.failed(self._end)
        self._drop_socket()
        with self._lock:
            self._has_finished = True
            os.close(self._wake)
        self._context.destroy(linger=200)

    def _turn(self) -> None:
        now = time.monotonic()
        self._keep_time(now)
        if self._is_closing:
            return
        events = dict(self._poller.poll(self._patience_of_poll(time.monotonic())))
        if self._wake in events:
            try:
                os.eventfd_read(self._wake)
            except BlockingIOError:
                pass
        with self._lock:
            self._is_woken = False
            tasks, self._tasks = self._tasks, deque()
        for task in tasks:
            task()
        if self._monitor is not None and self._monitor in events:
            self._look_at_monitor()
        if self._socket is not None and self._socket in events:
            self._receive()
        wanted = [moment for hook in self.turn_ended if (moment := hook()) is not None]
        self._wanted_at = min(wanted, default=None)
        self._flush()

    def _patience_of_poll(self, now: float) -> int:
        """Milliseconds until something is due."""
        if self._tasks:
            return 0
        if self._socket is None:
            due = self._retry_at - now
        elif not self._is_open:
            due = self._opening_until - now
        else:
            due = min(max(self._heard, self._asked) + _ASK_AFTER, self._heard + _SILENCE) - now
            pause = self._requests.pause(now)
            if pause is not None:
                due = min(due, pause)
        if self._wanted_at is not None:
            due = min(due, self._wanted_at - now)
        return max(0, min(int(due * 1000) + 1, 3_600_000))

    def _keep_time(self, now: float) -> None:
        if self._socket is None:
            if self._away_since is not None and now - self._away_since > self._patience:
                self._requests.fail_all(
                    ConnectionFailed(f"{self.address} has not answered for {self._patience:.0f} s")
                )
            if now >= self._retry_at:
                self._open_socket(now)
        elif not self._is_open:
            if now >= self._opening_until:
                self._lose(
                    "something listens there, but it did not answer in time"
                    if self._is_reached
                    else "nobody answered in time"
                )
        elif now - self._heard >= _SILENCE:
            self._lose("the coordinator fell silent")
        elif now - max(self._heard, self._asked) >= _ASK_AFTER:
            self._asked = now
            self._say(client.Request(ping=client.Nothing()))

    def _open_socket(self, now: float) -> None:
        if self.address.startswith("ipc://"):
            problem = local_problem(self.address.removeprefix("ipc://"))
            if problem is not None:
                self._lose(problem)
                return
        dealer: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        dealer.linger = 0
        dealer.setsockopt(zmq.IMMEDIATE, 1)
        dealer.setsockopt(zmq.RECONNECT_IVL, -1)
        dealer.setsockopt(zmq.SNDHWM, 0)
        dealer.setsockopt(zmq.RCVHWM, 0)
        if self.keys is not None:
            dealer.curve_serverkey = self.keys.server
            dealer.curve_publickey = self.keys.public
            dealer.curve_secretkey = self.keys.secret
        self._monitor = dealer.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | _HANDSHAKE_FAILURES
        )
        self._socket = dealer
        try:
            dealer.connect(self.address)
        except zmq.ZMQError as error:
            self._lose(str(error), is_final=True)
            return
        self._poller.register(dealer, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        self._heard = now
        self._opening_until = now + _OPENING_TIME
        self._is_reached = False
        hello = client.ClientHello(
            versions=words.ProtocolVersions(lowest=1, highest=1), build=_BUILD
        )
        # It leaves when the connection stands (IMMEDIATE).
        self._hello = client.ClientMessage(hello=hello).SerializeToString()
        self._poller.modify(dealer, zmq.POLLIN | zmq.POLLOUT)

    def _drop_socket(self) -> None:
        if self._socket is not None:
            for item in (self._socket, self._monitor):
                if item is not None and item in self._poller:
                    self._poller.unregister(item)
            self._socket.disable_monitor()
            self._socket.close(0)
        self._socket = self._monitor = None
        self._is_open = False

    def _lose(self, problem: str, is_final: bool = False) -> None:
        """The connection is gone; the next one begins after a pause, if there ever was one."""
        now = time.monotonic()
        self._drop_socket()
        if not self._has_opened or is_final:
            self._end = ConnectionFailed(f"cannot connect to {self.address}: {problem}")
            self._is_closing = True
            return
        if self._away_since is None:
            self._away_since = now
        pause = min(_FIRST_BACKOFF * 2 ** min(self._failures, 10), _LONGEST_BACKOFF)
        self._failures += 1
        self._retry_at = now + pause * random.uniform(0.5, 1.0)
        self._requests.connection_lost()

    def _look_at_monitor(self) -> None:
        assert self._monitor is not None
        while True:
            try:
                event = recv_monitor_message(self._monitor, zmq.NOBLOCK)
            except zmq.Again:
                return
            if event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._is_reached = True
                self._opening_until = time.monotonic() + _GREETING_TIME
                continue
            if event["event"] & _HANDSHAKE_FAILURES:
                self._lose(
                    "it ended the handshake: it may not know our key (opbatch key join)",
                    is_final=not self._has_opened,
                )
                return
            if event["event"] == zmq.EVENT_DISCONNECTED:
                # What came before the end still counts.
                self._receive()
                self._lose("it ended the connection")
                return

    def _receive(self) -> None:
        for _ in range(1000):
            if self._socket is None:
                return
            if not self._is_open and self._hello:
                try:
                    self._socket.send(self._hello, zmq.NOBLOCK)
                except zmq.Again:
                    return
                self._hello = b""
                self._poller.modify(self._socket, zmq.POLLIN)
            try:
                frame = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._heard = time.monotonic()
            try:
                self._take(client.ClientAnswer.FromString(frame))
            except OpClusterError as error:
                self._lose(str(error))

    def _take(self, answer: client.ClientAnswer) -> None:
        kind = answer.WhichOneof("body")
        if kind == "reply":
            if not self._is_open:
                self._end = refused(answer.reply.refused)
                self._is_closing = True
                return
            self._requests.answer(answer.reply, self._heard)
        elif kind == "events":
            for subscription in self._subscriptions:
                if subscription.number == answer.events.subscription:
                    self.grant(subscription, subscription.take(answer.events, self._life))
                    break
        elif kind == "welcome":
            self._life = (answer.welcome.epoch, answer.welcome.life)
            self._is_open = self._has_opened = True
            self._failures, self._away_since = 0, None
            for subscription in list(self._subscriptions):
                subscription.number = 0
                self.renew(subscription)
            if not self._opened.done():
                self._opened.set_result(None)

    def _flush(self) -> None:
        if not self._is_open or self._socket is None:
            return
        now = time.monotonic()
        while (request := self._requests.next(now)) is not None:
            try:
                self._socket.send(request.message, zmq.NOBLOCK)
            except zmq.Again:
                return
            self._requests.mark_sent()


def local_problem(path: str) -> str | None:
    """Why a socket file is not to be connected to; None: our user or root listens there.

    Whoever listens gets every message, with what is secret in it.
    """
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(path)
        peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError as error:
        return f"nobody listens there ({error.strerror}); opbatch up starts a cluster"
    finally:
        probe.close()
    user = struct.unpack("3i", peer)[1]
    if user not in (os.geteuid(), 0):
        return f"user {user} listens there, neither this user nor root"
    return None
