"""The pure parts: frames, columns, batches, the conversation, where addresses come from."""

from __future__ import annotations

import json
import os
import queue
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opcluster import calls, columns, configuration, limits, references
from opcluster.batches import Batch, Call, RemoteFunction, edges, gather, index_runs, valid_name
from opcluster.configuration import Surroundings
from opcluster.contents import ContentExchange, MemoryContent
from opcluster.conversation import Requests, Subscription
from opcluster.due_reads import GATHERING, DueReads
from opcluster.errors import BadResult, ConnectionFailed, OpClusterError, Refused
from opcluster.events import decode
from opcluster.frames import FrameBuffer, FrameError
from opcluster.futures import ClusterFuture
from opcluster.interpreter import Templates
from opcluster.operations import Command, Join, submission
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2

# Frames


def test_frames_come_in_any_pieces() -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in (b"one", b"", b"two" * 99))
    for size in (1, 3, 7, len(stream)):
        buffer, found = FrameBuffer(), []
        for at in range(0, len(stream), size):
            buffer.add(stream[at : at + size])
            while (frame := buffer.take()) is not None:
                found.append(frame)
        assert found == [b"one", b"", b"two" * 99]


def test_a_frame_beyond_the_limit() -> None:
    buffer = FrameBuffer()
    buffer.add(limits.MESSAGE_BYTES.to_bytes(4, "big"))
    assert buffer.take() is None
    beyond = FrameBuffer()
    beyond.add((limits.MESSAGE_BYTES + 1).to_bytes(4, "big"))
    with pytest.raises(FrameError):
        beyond.take()


# Columns


def test_operations_are_columns_and_back() -> None:
    keys = [(1, 5), (1, 2), (3, 4_000_000_000), (3, 0), (1, 7)]
    assert list(columns.operations(columns.operation_columns(keys))) == keys


def test_a_column_that_is_too_short_ends_nothing() -> None:
    short = words.Operations(graph=[1], count=[3], index_delta=[2])
    assert list(columns.operations(short)) == [(1, 2), (1, 2), (1, 2)]


def test_runs_and_positions() -> None:
    found = index_runs([1, 2, 3, 7, 9, 10])
    assert list(found.first) == [1, 7, 9] and list(found.count) == [3, 1, 2]
    assert list(columns.runs([5, 6], [2, 1])) == [5, 5, 6]
    assert columns.positions([3, 1, 2]) == [3, 4, 6]


def test_names() -> None:
    assert valid_name("<lambda>") == "_lambda_"
    assert valid_name("1st") == "_1st"
    assert valid_name("") == "_"
    assert len(valid_name("x" * 500)) == 100


# Batches


def calls_of(*functions: RemoteFunction) -> list[Call]:
    core: Any = None
    return [Call(each, b"\x80" + each.name.encode(), ClusterFuture(core), ()) for each in functions]


def test_calls_of_one_function_are_one_array() -> None:
    first, second = RemoteFunction(abs, "abs", b"1"), RemoteFunction(len, "abs", b"2")
    line = deque(calls_of(first, second, first))
    batch = Batch()
    templates, held = gather(line, batch)
    assert not held and not line
    assert [(each.name, each.count, each.payload) for each in templates] == [
        ("abs", 2, b"1"),
        ("abs.2", 1, b"2"),
    ]
    assert [call.future._place for call in batch.calls if call] == [(0, 0), (0, 1), (0, 2)]


def test_cancelled_calls_are_left_out() -> None:
    function = RemoteFunction(abs, "abs", b"")
    line = deque(calls_of(function, function))
    assert line[0].future._cancel_locally()
    batch = Batch()
    templates, _ = gather(line, batch)
    assert templates[0].count == 1


def test_edges_inside_and_outside_of_a_batch() -> None:
    function = RemoteFunction(abs, "abs", b"")
    outside, inside, unknown = (call.future for call in calls_of(*[function] * 3))
    outside._place = (7, 3)
    unknown._place = (0, 0)
    root = Call(function, b"\x80", inside, ())
    core: Any = None
    argument = b"\x80<" + inside._token + b"|" + outside._token + b">"
    dependent = Call(function, argument, ClusterFuture(core), (inside, outside, inside))
    waits = Call(function, b"\x80", ClusterFuture(core), (unknown,))
    batch = Batch()
    templates, held = gather(deque([root, dependent, waits]), batch)
    assert held == [waits]
    assert [each.wants_inputs for each in templates] == [False, True]
    element, external = edges(batch)
    assert element is not None and external is not None
    assert list(element.from_delta) == [0] and list(element.to_delta) == [1]
    assert list(columns.operations(getattr(external, "from"))) == [(7, 3)]
    assert list(external.to) == [1]
    assert dependent.argument == (
        b"\x80<" + references.located(0, 0) + b"|" + references.located(7, 3) + b">"
    )


# Calls


def test_fields_of_a_result() -> None:
    result = calls.result({"a": 1, "b": "x", "c": [1], "d": True, "e": "y" * 5000}, False)
    assert result is not None
    assert result.fields == (("a", "1"), ("b", "x"), ("d", "true"))
    assert calls.value(result.encoded(), lambda digest, size: b"")["c"] == [1]
    with pytest.raises(BadResult):
        calls.result(float("nan"), False)


def test_a_function_that_is_too_large() -> None:
    calls.payload(b"x" * 150_000)
    with pytest.raises(ValueError, match="put it into a module"):
        calls.payload(b"x" * 200_000)


def test_texts_are_clipped_to_bytes() -> None:
    assert calls.clipped("ä" * 10, 20) == "ä" * 10
    assert calls.clipped("ä" * 10, 19) == "ä" * 8 + "..."
    assert calls.clipped("\udc80", 20) == "\\udc80"


def test_templates_are_forgotten_in_order() -> None:
    known = Templates(limit=2)
    for number in (1, 2, 1, 3):
        known.add(worker_pb2.TemplateAnnouncement(graph=1, template=number))
    assert known.find(1, 2) is None
    assert known.find(1, 1) is not None and known.find(1, 3) is not None


# The conversation


def reply(number: int, **body: Any) -> client.Reply:
    return client.Reply(request=number, **body)


def sent(requests: Requests, now: float = 0) -> list[int]:
    found = []
    while (request := requests.next(now)) is not None:
        found.append(request.number)
        requests.mark_sent()
    return found


def test_requests_are_sent_again_after_a_loss_and_subscriptions_are_not() -> None:
    requests, answers = Requests(), []
    requests.add(client.Request(ping=client.Nothing()), answers.append)
    requests.add(client.Request(unsubscribe=1), answers.append, is_passing=True)
    requests.add(client.Request(ping=client.Nothing()), answers.append)
    assert sent(requests) == [2, 1, 3]
    requests.answer(reply(3, done=1), 0)
    requests.connection_lost()
    assert sent(requests) == [1]
    requests.fail_all(OpClusterError("gone"))
    assert len(answers) == 2 and not len(requests)


def test_a_busy_coordinator_is_asked_later() -> None:
    requests, answers = Requests(), []
    requests.add(client.Request(ping=client.Nothing()), answers.append)
    sent(requests)
    busy = words.Refusal(code=words.REFUSAL_CODE_BUSY, retry_after=3_000_000_000)
    requests.answer(reply(1, refused=busy), 10.0)
    assert not answers and sent(requests, 12.9) == []
    assert requests.pause(12.0) == pytest.approx(1.0)
    assert sent(requests, 13.0) == [1]
    refusal = words.Refusal(code=words.REFUSAL_CODE_CYCLE, message="no", hint="do")
    requests.answer(reply(1, refused=refusal), 14.0)
    assert isinstance(answers[0], Refused) and answers[0].code == "CYCLE"


def test_few_requests_are_on_their_way() -> None:
    requests = Requests()
    for _ in range(limits.REQUESTS_IN_FLIGHT + 1):
        requests.add(client.Request(ping=client.Nothing()), lambda answer: None)
    assert len(sent(requests)) == limits.REQUESTS_IN_FLIGHT
    requests.answer(reply(1, done=1), 0)
    assert sent(requests) == [limits.REQUESTS_IN_FLIGHT + 1]


def subscription(batches: list[client.EventBatch]) -> Subscription:
    return Subscription(
        selection=client.Selection, deliver=batches.append, renewed=lambda: None,
        failed=lambda error: None, since=4,
    )


def test_lost_events_are_noticed_and_read_ones_granted() -> None:
    batches: list[client.EventBatch] = []
    one = subscription(batches)
    one.request(1)
    kinds = bytes([client.EVENT_KIND_READY]) * limits.EVENTS_PER_GRANT
    first = client.EventBatch(subscription=1, events=client.Events(kinds=kinds), resume_at=99)
    assert one.take(first, (1, 5)) == limits.EVENTS_PER_GRANT
    with pytest.raises(OpClusterError, match="lost"):
        one.take(client.EventBatch(subscription=1, first=2000), (1, 5))
    again = one.request(2).subscribe
    assert again.since == 99 and again.known.life.number == 5
    assert one.take(client.EventBatch(subscription=2, first=0), (1, 5)) == 0


def test_events_of_columns() -> None:
    events = client.Events(
        kinds=bytes([client.EVENT_KIND_FINISHED, client.EVENT_KIND_GRAPH_FAILED,
                     client.EVENT_KIND_FINISHED]),
        first_sequence=10,
        time_delta=[1000, 5],
        commit_count=[1, 2],
        subject=[client.EVENT_SUBJECT_OPERATION, client.EVENT_SUBJECT_GRAPH,
                 client.EVENT_SUBJECT_OPERATION],
        subject_count=[1, 1, 1],
        operations=words.Operations(graph=[3], count=[2], index_delta=[0, 4]),
        outcome=[words.OUTCOME_FAILED, words.OUTCOME_SUCCEEDED],
        thing=[3],
    )
    found = list(decode(client.EventBatch(events=events)))
    assert [(each.kind, each.sequence, each.time, each.graph, each.operation, each.outcome)
            for each in found] == [
        ("FINISHED", 10, 1000, 3, 0, "FAILED"),
        ("GRAPH_FAILED", 11, 1005, 3, None, ""),
        ("FINISHED", 12, 1005, 3, 4, "SUCCEEDED"),
    ]


# Submissions of objects


def test_results_that_nobody_waits_for_gather() -> None:
    due = DueReads()
    assert due.wanted_at(10) is None and due.take(10) is None
    due.add(2, is_awaited=False, now=10)
    # What it may depend on is read before it.
    due.add(1, is_awaited=False, now=10 + GATHERING / 2)
    due.add(2, is_awaited=False, now=10 + GATHERING / 2)
    assert due.take(10 + GATHERING / 2) is None
    # The first one decides when.
    assert due.wanted_at(10 + GATHERING / 2) == 10 + GATHERING
    assert [due.take(10 + GATHERING) for _ in range(3)] == [1, 2, None]
    assert due.wanted_at(10 + GATHERING) is None


def test_results_that_somebody_waits_for_are_read_at_once() -> None:
    due = DueReads()
    due.hurry()
    due.add(1, is_awaited=False, now=10)
    assert due.take(10) is None
    due.hurry()
    due.add(2, is_awaited=False, now=10)
    assert due.wanted_at(10) is None
    assert [due.take(10) for _ in range(3)] == [1, 2, None]
    # What comes later gathers again.
    due.add(3, is_awaited=False, now=11)
    assert due.take(11) is None
    due.add(4, is_awaited=True, now=11)
    assert [due.take(11) for _ in range(3)] == [3, 4, None]


def test_a_graph_of_objects() -> None:
    first = Command(["true"], name="a b")
    second = Command("x", name="a b", count=3, retries=2, priority="high", timeout=1.5)
    second.depends_on(first, policy="finished")
    made = submission([first, second], key="k", name="n", queue="q")
    assert [each.name for each in made.templates] == ["a_b", "a_b.2"]
    assert made.templates[1].count == 3 and made.templates[1].is_array
    assert made.templates[1].retry.maximum == 2
    assert made.templates[1].timeout_nanoseconds == 1_500_000_000
    assert list(made.group_edges.policy) == [words.EDGE_POLICY_FINISHED]
    first.place, other = (4, 2), Join().depends_on(first)
    made = submission([other], key="k", name="n", queue=None)
    assert list(columns.operations(getattr(made.external_edges, "from"))) == [(4, 2)]
    with pytest.raises(ValueError, match="submitted"):
        first.depends_on(other)


# Where the cluster is


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config/opcluster/keys").mkdir(parents=True)
    return tmp_path


def around(home: Path, **variables: str) -> Surroundings:
    return Surroundings({"HOME": str(home), "XDG_RUNTIME_DIR": str(home), **variables})


def write(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text)
    path.chmod(mode)


def test_where_addresses_come_from(home: Path) -> None:
    key = home / ".config/opcluster/keys/own.key"
    assert configuration.address(surroundings=around(home)) is None
    write(key, f"# a comment\nname me\npublic {'p' * 40}\nsecret {'s' * 40}\nserver {'v' * 40}\n"
               "coordinator tcp://key:1\n")
    assert configuration.address(surroundings=around(home)) == "tcp://key:1"
    write(home / ".config/opcluster/config.yaml", 'coordinator: "tcp://file:1"  # mine\n')
    assert configuration.address(surroundings=around(home)) == "tcp://file:1"
    variables = around(home, OPBATCH_COORDINATOR="tcp://variable:1")
    assert configuration.address(surroundings=variables) == "tcp://variable:1"
    keys = configuration.own_keys(key.parent)
    assert keys is not None and keys.server == b"v" * 40


def test_files_that_others_can_read_or_write(home: Path) -> None:
    key = home / ".config/opcluster/keys/own.key"
    write(key, "secret x\nserver y\n", 0o644)
    with pytest.raises(ConnectionFailed, match="chmod 600"):
        configuration.own_keys(key.parent)
    write(home / ".config/opcluster/config.yaml", "coordinator: tcp://file:1\n", 0o666)
    with pytest.raises(ConnectionFailed, match="chmod go-w"):
        configuration.address(surroundings=around(home))


def test_the_cluster_in_the_background(home: Path) -> None:
    folder = home / "opcluster"
    folder.mkdir(mode=0o700)
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    write(folder / "daemons", f"opcoord {os.getpid()} {ticks}\n")
    assert configuration.address(surroundings=around(home)) == f"ipc://{folder}/client"
    write(folder / "daemons", f"opcoord {os.getpid()} 1\n")
    assert configuration.address(surroundings=around(home)) is None


# Limits


def test_limits_are_those_of_the_repository() -> None:
    root = os.environ.get("OPCLUSTER_REPOSITORY") or Path(__file__).parents[3]
    file = Path(root) / "Sources/OpClusterModel/Limits.swift"
    if not file.exists():
        pytest.skip("OPCLUSTER_REPOSITORY names no repository")
    text = file.read_text()

    def limit(name: str) -> int:
        found = re.search(rf"let {name}(?:: \w+)? = ([\d_* ]+)$", text, re.MULTILINE)
        assert found, name
        product = 1
        for factor in found[1].split("*"):
            product *= int(factor)
        return product

    assert {name: limit(name) for name in (
        "messageBytes", "payloadBytes", "elementArgumentBytes", "outputBytes", "outputFieldBytes",
        "diagnosticBytes", "templatesPerInterpreter", "rowsPerReply", "eventCredit",
        "eventsPerGrant", "requestsInFlightPerClient", "requestBytesInFlight", "logChunkBytes",
    )} == {
        "messageBytes": limits.MESSAGE_BYTES,
        "payloadBytes": limits.PAYLOAD_BYTES,
        "elementArgumentBytes": limits.ELEMENT_ARGUMENT_BYTES,
        "outputBytes": limits.OUTPUT_BYTES,
        "outputFieldBytes": limits.OUTPUT_FIELD_BYTES,
        "diagnosticBytes": limits.DIAGNOSTIC_BYTES,
        "templatesPerInterpreter": limits.TEMPLATES_PER_INTERPRETER,
        "rowsPerReply": limits.ROWS_PER_REPLY,
        "eventCredit": limits.EVENT_CREDIT,
        "eventsPerGrant": limits.EVENTS_PER_GRANT,
        "requestsInFlightPerClient": limits.REQUESTS_IN_FLIGHT,
        "requestBytesInFlight": limits.REQUEST_BYTES_IN_FLIGHT,
        "logChunkBytes": limits.LOG_CHUNK_BYTES,
    }


def test_payloads_are_json() -> None:
    made = json.loads(calls.payload("m:f", interpreter="py", arguments=[1], keywords={"a": 2}))
    assert made == {"interpreter": "py", "function": "m:f", "arguments": [1], "keywords": {"a": 2}}
    assert "interpreter" not in json.loads(calls.payload("m:f", interpreter="py", venv="/v"))


def test_a_request_that_is_too_large_is_refused_and_not_sent() -> None:
    requests, answers = Requests(), []
    large = words.Submission(name="x" * limits.MESSAGE_BYTES)
    requests.add(client.Request(submit=large), answers.append)
    assert len(requests) == 0 and requests.next(0.0) is None
    assert isinstance(answers[0], Refused) and answers[0].code == "LIMIT_EXCEEDED"


def test_one_asks_for_all_that_wait_for_a_worker() -> None:
    class Connection:
        keys = None
        asked = 0

        def ask(self, **body: Any) -> None:
            self.asked += 1
            raise Refused("WORKER_UNAVAILABLE", "none is there", retry_after=0.05)

        def post(self, body: Callable[[], None]) -> None:
            body()

    connection: Any = Connection()
    exchange = ContentExchange(connection)
    told: queue.Queue[bytes | BaseException] = queue.Queue()
    for number in range(100):
        exchange.leave([MemoryContent.of(bytes([number]))], told.put)
    while connection.asked < 5:
        time.sleep(0.01)
    # 100 of them have not asked 100 times, and nobody was told anything yet.
    assert connection.asked < 50 and told.empty()
    exchange.close()
    assert all(isinstance(told.get(timeout=30), ConnectionFailed) for _ in range(100))
