"""The executor on a real cluster."""

from __future__ import annotations

import itertools
import os
import pickle
import queue
import subprocess
import sys
import time
from concurrent.futures import CancelledError, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import functions
import pytest

from opcluster import (
    Cluster,
    ClusterExecutor,
    DependencyFailed,
    Refused,
    RemoteError,
    RemoteTraceback,
)
from opcluster.local_cluster import LocalCluster

TIME = 60.0


def test_functions_of_modules_and_of_this_program(executor: ClusterExecutor) -> None:
    factor = 3
    assert executor.submit(pow, 2, 10).result(TIME) == 1024
    assert executor.submit(lambda x: x * factor, 5).result(TIME) == 15
    assert executor.submit(functions.Account("Ada").greeting, word="Hej").result(TIME) == "Hej, Ada"


def test_an_exception_has_its_remote_traceback(executor: ClusterExecutor) -> None:
    error = executor.submit(functions.fail, "no").exception(TIME)
    assert isinstance(error, ValueError) and error.args == ("no",)
    assert isinstance(error.__cause__, RemoteTraceback)
    assert "raise ValueError(text)" in str(error.__cause__)


def test_an_exception_that_cannot_be_unpickled(executor: ClusterExecutor) -> None:
    error = executor.submit(functions.fail_oddly).exception(TIME)
    assert isinstance(error, RemoteError)
    assert "OddError: 1 and 2" in str(error)


def test_a_process_that_ends(executor: ClusterExecutor) -> None:
    error = executor.submit(os._exit, 7).exception(TIME)
    assert isinstance(error, RemoteError) and "ended before it returned" in str(error)


def test_futures_among_arguments(executor: ClusterExecutor) -> None:
    first = executor.submit(list, range(3))
    second = executor.submit(sum, first)
    third = executor.submit(lambda values, key: sum(values) + key["x"], [second, 1], {"x": second})
    assert third.result(TIME) == 7
    # A result that is here goes as a value.
    assert executor.submit(sum, [third, third]).result(TIME) == 14


def test_a_chain(executor: ClusterExecutor) -> None:
    link = executor.submit(int)
    for _ in range(50):
        link = executor.submit(lambda x: x + 1, link)
    assert link.result(TIME) == 50


def test_all_of_a_chain_end_though_one_is_waited_for(executor: ClusterExecutor) -> None:
    chain = [executor.submit(functions.add, 0, 1)]
    for _ in range(40):
        chain.append(executor.submit(functions.add, chain[-1], 1))
    called: queue.Queue[int] = queue.Queue()
    chain[20].add_done_callback(lambda future: called.put(future.result()))
    assert chain[-1].result(TIME) == 41
    assert called.get(timeout=TIME) == 21
    assert not wait(chain, timeout=TIME).not_done
    assert [future.result() for future in chain] == list(range(1, 42))


def test_a_result_that_nobody_waits_for_comes(executor: ClusterExecutor) -> None:
    future = executor.submit(functions.add, 1, 2)
    deadline = time.monotonic() + TIME
    while not future.done():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert future.result() == 3


def test_a_failed_dependency(executor: ClusterExecutor) -> None:
    first = executor.submit(functions.fail, "first")
    second = executor.submit(str, first)
    error = second.exception(TIME)
    assert isinstance(error, DependencyFailed)
    later = executor.submit(str, first).exception(TIME)
    assert isinstance(later, DependencyFailed) and isinstance(later.__cause__, ValueError)


def test_a_large_value_goes_along_a_dependency(executor: ClusterExecutor) -> None:
    large = executor.submit(bytes, 3_000_000)
    assert executor.submit(len, large).result(TIME) == 3_000_000
    assert len(large.result(TIME)) == 3_000_000


def test_large_arguments_lie_in_stores(executor: ClusterExecutor) -> None:
    assert executor.submit(len, bytes(70_000)).result(TIME) == 70_000
    array = bytearray(os.urandom(5_000_000))
    buffer = pickle.PickleBuffer(array)
    futures = [executor.submit(functions.first_and_size, buffer, add) for add in range(3)]
    assert [future.result(TIME) for future in futures] == [
        (array[0] + add, 5_000_000) for add in range(3)
    ]
    lists = [bytes([number]) * 30_000 for number in range(9)]
    assert list(executor.map(len, lists, chunksize=9)) == [30_000] * 9


def test_large_arguments_with_futures(executor: ClusterExecutor) -> None:
    small = executor.submit(functions.slow_two)
    array = pickle.PickleBuffer(bytearray(100_000))
    assert executor.submit(functions.first_and_size, array, small).result(TIME) == (2, 100_000)
    error = executor.submit(functions.first_and_size, "x" * 100_000, small).exception(TIME)
    assert isinstance(error, ValueError) or small.done()


def test_what_cannot_be_pickled(executor: ClusterExecutor) -> None:
    error = executor.submit(len, (item for item in [])).exception(TIME)
    assert isinstance(error, (TypeError, pickle.PicklingError))


def test_map(executor: ClusterExecutor) -> None:
    assert list(executor.map(pow, range(20), range(20), chunksize=7)) == [
        number**number for number in range(20)
    ]
    assert list(executor.map(str, [])) == []


def test_map_takes_no_more_than_its_buffer(executor: ClusterExecutor) -> None:
    taken = []

    def numbers() -> object:
        for number in range(20):
            taken.append(number)
            yield number

    results = executor.map(abs, numbers(), buffersize=3)  # type: ignore[arg-type]
    assert len(taken) == 3
    assert next(results) == 0
    assert len(taken) == 4
    assert list(results) == list(range(1, 20))
    endless = executor.map(pow, itertools.count(), itertools.count(), buffersize=2)
    assert [next(endless) for _ in range(4)] == [1, 1, 4, 27]
    assert list(executor.map(abs, [], buffersize=2)) == list(executor.map(abs, buffersize=2)) == []
    for size in (1, 2, 4, 8):
        assert list(executor.map(str, range(4), chunksize=2, buffersize=size)) == list("0123")
    for wrong, error in ((0, ValueError), (-1, ValueError), (2.0, TypeError), ("x", TypeError)):
        with pytest.raises(error):
            executor.map(str, range(4), buffersize=wrong)  # type: ignore[arg-type]


def test_many_calls_are_few_graphs(executor: ClusterExecutor) -> None:
    futures = [executor.submit(abs, -number) for number in range(3000)]
    assert [future.result(TIME) for future in futures] == list(range(3000))
    graphs = {future.operation[0] for future in futures if future.operation}
    # They gather while a submission is on its way.
    assert len(graphs) < 150


def test_as_completed_and_wait(executor: ClusterExecutor) -> None:
    futures = [executor.submit(abs, number) for number in range(10)]
    assert {future.result() for future in as_completed(futures, TIME)} == set(range(10))
    assert not wait(futures, TIME).not_done


def test_cancel(cluster: LocalCluster, tmp_path: Path) -> None:
    with ClusterExecutor(cluster.address, max_workers=1) as executor:
        stop = tmp_path / "stop"
        first = executor.submit(functions.wait_for, str(stop))
        while not first.running():
            time.sleep(0.01)
        second = executor.submit(abs, 1)
        third = executor.submit(abs, 2)
        assert not first.cancel()
        assert second.cancel() and second.cancelled()
        with pytest.raises(CancelledError):
            second.result(TIME)
        stop.touch()
        assert third.result(TIME) == 2
        assert first.result(TIME) == str(stop)
        assert not first.cancel()


def test_stop_a_running_call(executor: ClusterExecutor, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    future = executor.submit(functions.sleep_until_cancelled, str(mark))
    while not mark.exists():
        time.sleep(0.01)
    future.stop()
    with pytest.raises(CancelledError):
        future.result(TIME)


def test_shutdown_cancels_what_does_not_run(cluster: LocalCluster, tmp_path: Path) -> None:
    executor = ClusterExecutor(cluster.address, max_workers=1)
    stop = tmp_path / "stop"
    first = executor.submit(functions.wait_for, str(stop))
    others = [executor.submit(abs, number) for number in range(20)]
    while not first.running():
        time.sleep(0.01)
    executor.shutdown(wait=False, cancel_futures=True)
    wait(others, TIME)
    assert all(future.cancelled() for future in others)
    stop.touch()
    executor.shutdown()
    assert first.result(TIME) == str(stop)
    with pytest.raises(RuntimeError):
        executor.submit(abs, 1)


def test_an_initializer(cluster: LocalCluster) -> None:
    with ClusterExecutor(
        cluster.address, initializer=functions.begin, initargs=("begun",)
    ) as executor:
        assert executor.submit(functions.started).result(TIME) == "begun"


def test_an_initializer_that_fails(cluster: LocalCluster) -> None:
    with ClusterExecutor(cluster.address, initializer=functions.begin_badly) as executor:
        assert isinstance(executor.submit(abs, 1).exception(TIME), BrokenProcessPool)
        with pytest.raises(BrokenProcessPool):
            executor.submit(abs, 1)


def test_a_program_that_ends_waits_for_its_calls(cluster: LocalCluster, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = (
        "from opcluster import ClusterExecutor; import pathlib, time\n"
        f"executor = ClusterExecutor({cluster.address!r})\n"
        f"executor.submit(lambda: (time.sleep(0.3), pathlib.Path({str(mark)!r}).touch()))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=TIME)
    assert mark.exists()


def test_a_forked_process_ends_and_is_refused(executor: ClusterExecutor) -> None:
    assert executor.submit(abs, -1).result(TIME) == 1
    child = os.fork()
    if child == 0:
        try:
            executor.submit(abs, 1)
        except RuntimeError:
            executor.shutdown()
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert executor.submit(abs, -2).result(TIME) == 2


def test_an_interpreter_without_the_package(cluster: LocalCluster) -> None:
    with ClusterExecutor(cluster.address, python="/usr/bin/python3") as executor:
        error = executor.submit(abs, 1).exception(TIME)
        assert isinstance(error, RemoteError) and "opcluster" in str(error)
    with ClusterExecutor(cluster.address, python="/no/such/python") as executor:
        error = executor.submit(abs, 1).exception(TIME)
        assert isinstance(error, RemoteError) and "/no/such/python" in str(error)


def nested(queue: str | None) -> int:
    with ClusterExecutor(queue=queue) as executor:
        return executor.submit(abs, -5).result(TIME)


def test_calls_of_calls(cluster: LocalCluster) -> None:
    with Cluster(cluster.address) as client, ClusterExecutor(cluster.address) as executor:
        assert executor.submit(nested, None).result(TIME) == 5
        queue = client.queue("narrow", max_concurrent=1)
        with ClusterExecutor(cluster.address, queue="narrow") as narrow:
            # It keeps the only place that the call it waits for could have.
            error = narrow.submit(nested, "narrow").exception(TIME)
            assert isinstance(error, Refused) and error.code in ("WOULD_STARVE", "WOULD_DEADLOCK")
        queue.remove()


def test_an_unknown_queue_and_address(cluster: LocalCluster) -> None:
    from opcluster import ConnectionFailed

    with pytest.raises(Refused, match="no queue 'nowhere'"):
        ClusterExecutor(cluster.address, queue="nowhere")
    with pytest.raises(ConnectionFailed, match="nobody listens there"):
        ClusterExecutor("ipc:///tmp/opcluster-no-such-socket")
