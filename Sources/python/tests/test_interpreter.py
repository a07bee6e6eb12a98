"""A real interpreter process, and a worker's side of its channel."""

from __future__ import annotations

import json
import pickle
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from worker_stand_in import Worker

from opcluster import calls, columns, interpreter, references, traces
from opcluster.frames import FrameChannel
from opcluster.operation import RunningOperation
from opcluster.reports import Reports
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path)
    yield made
    assert made.end() == 0


def opened(result: words.AttemptResults) -> words.Outputs:
    assert not result.cause, result
    return words.Outputs.FromString(result.output[0])


def pair(*arguments: Any, **keywords: Any) -> bytes:
    return pickle.dumps((arguments, keywords), 5)


def await_file(path: Path) -> None:
    while not path.exists():
        time.sleep(0.005)


def test_a_named_function_leaves_json_and_fields(worker: Worker) -> None:
    outputs = opened(worker.call(calls.payload("functions:fields", arguments=[7])))
    assert outputs.type_name == "python"
    assert json.loads(outputs.typed_value)["nested"] == [1, 2]
    assert dict(zip(outputs.key, outputs.value)) == {"count": "7", "name": "värde", "ok": "true"}


def test_its_span(worker: Worker) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    graph = worker.new_graph()
    payload = calls.payload("functions:trace")
    worker.begin(payload, graph=graph, trace_parent=parent, run=2)
    span, run = json.loads(opened(worker.result()).typed_value)
    assert run == 2 and span == traces.attempt_parent(parent, graph, 0, 2)
    assert span.startswith(parent[:36]) and span.endswith("-01") and span != parent
    # As the worker computes it.
    assert traces.attempt_parent(parent, 12, 7, 2) == (
        "00-0af7651916cd43dd8448eb211c80319c-9f91e02899d181e0-01"
    )
    assert json.loads(opened(worker.call(payload)).typed_value) == ["", 1]


def test_own_files_are_used_again(tmp_path: Path) -> None:
    worker = Worker(tmp_path, has_own_files=True)

    def call(*words: str) -> str:
        result = worker.call(calls.payload(f"functions:{words[0]}", arguments=list(words[1:])))
        assert not result.cause, result
        return worker.output.read_text()

    assert call("speak") == "to the output\nfrom a child\n"
    # It makes no file itself, and one that was moved away is not written to again.
    worker.output.rename(tmp_path / "kept")
    worker.make_files()
    assert call("haunt", str(tmp_path / "now"), str(tmp_path / "said")) == ""
    # Somebody was left behind: the file is given up.
    assert worker.output.stat().st_mode & 0o777 == 0
    for name in ("own.out", "own.err"):
        (tmp_path / name).unlink(missing_ok=True)
    worker.make_files()
    assert call("say", "own", str(tmp_path / "now"), str(tmp_path / "said")) == "own\n"
    assert (tmp_path / "kept").read_text() == "to the output\nfrom a child\n"
    worker.channel.close()
    worker.process.wait(timeout=20)


def test_keywords_of_the_template(worker: Worker) -> None:
    outputs = opened(worker.call(calls.payload("builtins:dict", keywords={"a": 1})))
    assert json.loads(outputs.typed_value) == {"a": 1}


def test_a_pickled_function_is_told_once(worker: Worker) -> None:
    graph = worker.new_graph()
    payload = calls.payload(cloudpickle.dumps(lambda x: x * 2))
    first = opened(worker.call(payload, pair(4), graph=graph))
    second = opened(worker.call(None, pair("a"), graph=graph, index=1))
    assert first.type_name == "pickle"
    assert [pickle.loads(each.typed_value) for each in (first, second)] == [8, "aa"]


def test_an_untold_template_is_refused(worker: Worker) -> None:
    assert worker.call(None).cause == [words.FAILURE_CAUSE_BAD_ARGUMENT]


def test_none_leaves_nothing(worker: Worker) -> None:
    result = worker.call(calls.payload("functions:speak"))
    assert not result.output and not result.cause
    assert worker.log(1, "out") == "to the output\nfrom a child\n"
    assert worker.log(1, "err") == "to the error\n"


def test_an_object_replaces_the_template(worker: Worker) -> None:
    argument = calls.payload("math:sqrt", arguments=[9])
    outputs = opened(worker.call(calls.payload("functions:leave"), argument))
    assert outputs.typed_value == b"3.0"


def test_a_coroutine_is_awaited(worker: Worker) -> None:
    assert opened(worker.call(calls.payload("functions:later", arguments=[1]))).typed_value == b"2"


def test_an_exception_comes_with_its_traceback(worker: Worker) -> None:
    result = worker.call(calls.payload("functions:fail", arguments=["no"]))
    assert result.cause == [words.FAILURE_CAUSE_FAILED]
    assert result.diagnostic == ["ValueError: no"]
    error, text = pickle.loads(words.Outputs.FromString(result.output[0]).typed_value)
    assert isinstance(error, ValueError) and error.args == ("no",)
    assert "raise ValueError(text)" in text and "interpreter.py" not in text
    assert worker.log(1, "err") == text


def test_an_exit_is_a_failure_and_the_process_lives(worker: Worker) -> None:
    assert worker.call(calls.payload("functions:leave")).diagnostic == ["SystemExit: 3"]
    assert opened(worker.call(calls.payload("math:sqrt", arguments=[4]))).typed_value == b"2.0"


@pytest.mark.parametrize(
    ("payload", "words_of_it"),
    [
        (calls.payload("no_such_module:f"), "cannot import 'no_such_module'"),
        (calls.payload("math:no_such"), "there is no 'no_such' in the module 'math'"),
        (calls.payload("math:pi"), "cannot be called"),
        (calls.payload("math"), "write MODULE:NAME"),
        (calls.payload(b"\x80\x05garbage"), "cannot unpickle its function"),
        (b"[]", "no JSON object"),
        (b"{", "no JSON"),
    ],
)
def test_a_bad_function(worker: Worker, payload: bytes, words_of_it: str) -> None:
    result = worker.call(payload)
    assert result.cause == [words.FAILURE_CAUSE_BAD_ARGUMENT]
    assert words_of_it in result.diagnostic[0]


def test_code_of_another_version(worker: Worker) -> None:
    payload = json.loads(calls.payload(cloudpickle.dumps(lambda: 1)))
    payload["version"] = [3, 1]
    result = worker.call(json.dumps(payload).encode())
    assert result.cause == [words.FAILURE_CAUSE_BAD_ARGUMENT]
    assert "compiled by Python 3.1" in result.diagnostic[0]


def test_bad_arguments(worker: Worker) -> None:
    result = worker.call(calls.payload("math:sqrt"), b"\x80\x05nonsense")
    assert result.cause == [words.FAILURE_CAUSE_BAD_ARGUMENT]
    assert worker.call(calls.payload("math:sqrt"), b"nonsense").cause == result.cause


def test_a_result_that_is_no_value(worker: Worker) -> None:
    as_json = worker.call(calls.payload("functions:unpicklable"))
    as_pickle = worker.call(calls.payload("functions:unpicklable"), pair())
    assert as_json.cause == as_pickle.cause == [words.FAILURE_CAUSE_BAD_OUTPUT]
    assert "is no JSON" in as_json.diagnostic[0]
    assert "cannot be pickled" in as_pickle.diagnostic[0]


def test_a_large_result_is_left_in_a_file(worker: Worker) -> None:
    outputs = opened(worker.call(calls.payload("builtins:bytes"), pair(100_000)))
    assert outputs.value_at == 1 and not outputs.typed_value
    file = worker.tasks / f"1.0.1.{worker.process.pid}.value"
    assert file.stat().st_size == outputs.contents[0].size
    assert pickle.loads(file.read_bytes()) == bytes(100_000)


def test_a_large_result_without_a_store(tmp_path: Path) -> None:
    worker = Worker(tmp_path, takes_contents=False)
    result = worker.call(calls.payload("builtins:bytes"), pair(100_000))
    assert result.cause == [words.FAILURE_CAUSE_BAD_OUTPUT]
    assert "leave it in a file" in result.diagnostic[0]
    worker.end()


def test_cancel_interrupts_a_sleep(worker: Worker, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    payload = calls.payload("functions:sleep_until_cancelled", arguments=[str(mark)])
    attempts = worker.begin(payload)
    await_file(mark)
    worker.cancel(attempts)
    result = worker.result()
    assert result.flags == b"\x01" and not result.cause
    # The next one is not touched by it.
    assert opened(worker.call(calls.payload("math:sqrt", arguments=[4]))).typed_value == b"2.0"


def test_cancel_before_the_begin(worker: Worker, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    first = worker.begin(
        calls.payload("functions:sleep_until_cancelled", arguments=[str(mark)])
    )
    second = worker.begin(calls.payload("math:sqrt", arguments=[4]))
    await_file(mark)
    worker.cancel(second)
    worker.cancel(first)
    assert worker.result().flags == b"\x01"
    assert worker.result().flags == b"\x01"


def test_a_function_that_looks_at_the_flag(worker: Worker, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    attempts = worker.begin(calls.payload("functions:sees_flag", arguments=[str(mark)]))
    await_file(mark)
    worker.cancel(attempts)
    # It leaves its section after the cancellation.
    assert worker.result().flags == b"\x01"


def test_the_current_operation(worker: Worker) -> None:
    worker.graph = 11
    outputs = opened(worker.call(calls.payload("functions:where"), pair(), index=5))
    assert pickle.loads(outputs.typed_value) == (12, 5, 1, worker.process.pid)


def test_the_folder_is_removed(worker: Worker) -> None:
    folder = json.loads(opened(worker.call(calls.payload("functions:uses_folder"))).typed_value)
    assert folder == str(worker.tasks / f"1.0.1.{worker.process.pid}")
    assert not Path(folder).exists()


def test_progress_is_told_at_most_each_tenth_of_a_second(worker: Worker) -> None:
    worker.begin(calls.payload("functions:tells_progress"))
    report = worker.next_report()
    assert report.kinds == b"\x06" and report.number == 1
    assert list(report.progress_fraction) == [0.5] and list(report.progress_text) == ["half"]
    assert worker.next_report().kinds == b"\x02"


def test_references_are_replaced_by_outputs(worker: Worker) -> None:
    class Reference:
        def __init__(self, index: int) -> None:
            self.index = index

        def __reduce__(self) -> tuple[Any, ...]:
            return references.resolve, (references.located(0, self.index),)

    inputs = worker_pb2.DependencyInputs(
        operations=words.Operations(graph=[1, 1], count=[1, 1], index_delta=[0, 1]),
        names=["a", "b"],
        name=[0, 1],
        output_at=[0, 1],
        output=[
            calls.Result("pickle", pickle.dumps([1, 2])).encoded(),
            calls.Result("python", b"[3]").encoded(),
        ],
    )
    argument = pair([Reference(0), Reference(1)], [])
    worker.begin(calls.payload("builtins:sum"), argument, inputs=inputs, index=2)
    assert pickle.loads(opened(worker.result()).typed_value) == [1, 2, 3]


def test_an_end_of_the_worker_ends_a_running_function(worker: Worker, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    worker.begin(calls.payload("functions:sleep_until_cancelled", arguments=[str(mark)]))
    await_file(mark)
    # The fixture closes the channel and waits for status 0.


def test_what_comes_amid_reading_is_read_behind_it(tmp_path: Path) -> None:
    """As if a signal came in the middle of a read: nothing is read in between, nor left."""
    ours, theirs = socket.socketpair()
    serving = interpreter.Interpreter(FrameChannel(ours), str(tmp_path), str(tmp_path))
    read: list[str] = []

    class Channel:
        def drain(self, use: object) -> bool:
            read.append("begin")
            if len(read) == 1:
                serving._notice(0, None)
            read.append("end")
            return True

    serving._channel = Channel()  # type: ignore[assignment]
    serving._running = RunningOperation((1, 0, 1))
    serving._notice(0, None)
    assert read == ["begin", "end"] * 2
    theirs.close()
    ours.close()


def test_reports_of_one_kind_do_not_mix() -> None:
    reports = Reports()

    def told(encoded: bytes) -> worker_pb2.WorkerReport:
        return worker_pb2.WorkerMessage.FromString(encoded).report

    failed = interpreter.failure(words.FAILURE_CAUSE_FAILED, "x")
    made = [
        told(reports.finished((3, 7, 2), b"output", 1_000, 5)),
        told(reports.finished((2**32 - 1, 2**32 - 1, 1), b"", 2_000, 0)),
        told(reports.finished((4, 1, 9), b"other", 3_000, 1)),
        told(reports.finished((4, 2, 1), failed, 5, 6)),
        told(reports.progress((4, 3, 1), 0.5, "half")),
        told(reports.finished((4, 4, 1), b"", 7, 8)),
    ]
    assert [report.number for report in made] == [1, 2, 3, 4, 5, 6]
    assert [columns.attempts(report.attempts) for report in made] == [
        [(3, 7, 2)], [(2**32 - 1, 2**32 - 1, 1)], [(4, 1, 9)], [(4, 2, 1)], [(4, 3, 1)], [(4, 4, 1)]
    ]
    assert [list(report.results.output) for report in made] == [
        [b"output"], [], [b"other"], [], [], []
    ]
    assert [list(report.results.started_at_delta) for report in made] == [
        [1_000], [2_000], [3_000], [5], [], [7]
    ]
    assert [list(report.results.ended_after) for report in made] == [[5], [0], [1], [6], [], [8]]
    assert [list(report.results.diagnostic) for report in made][3:] == [["x"], [], []]
