"""Operations as objects on a real cluster."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import functions
import pytest
from conftest import new_cluster

import opcluster
from opcluster import (
    INDEX,
    Call,
    Cluster,
    Command,
    Join,
    Operation,
    PythonFunction,
    Refused,
    RemoteError,
    operations,
)
from opcluster.local_cluster import LocalCluster
from opcluster.v1 import submission_pb2 as words

TIME = 60.0


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Cluster]:
    with Cluster(cluster.address) as made:
        yield made


def test_a_graph_of_commands_and_functions(client: Cluster) -> None:
    write = Command('echo "size=12" >> "$OP_OUTPUT"; echo said; echo wrong >&2', outputs=["size"])
    show = Command(["echo", ["size is ", write.output("size")]], name="show").depends_on(write)

    def total(*extra: int) -> int:
        inputs = opcluster.current_operation().inputs
        return sum(int(each.value["size"]) for each in inputs) + sum(extra)

    add = PythonFunction(total, 1, 2).depends_on(write)
    graph = client.submit(write, show, add, Join("all").depends_on(show, add), name="mixed")
    assert graph.wait(TIME) == "SUCCEEDED"
    assert graph.handle(show).log() == "size is 12\n"
    assert graph.handle(write).log("error") == "wrong\n"
    assert graph.result(write) == {"size": "12"}
    assert graph.result(add) == 15
    # A later graph may depend on an earlier one.
    later = PythonFunction(total).depends_on(write)
    assert client.submit(later).result(later, TIME) == 12


def test_arrays(client: Cluster) -> None:
    squares = PythonFunction(pow, elements=[(number, 2) for number in range(5)])
    echo = Command(["echo", INDEX], count=3)
    plus = PythonFunction("builtins:abs", -7)
    graph = client.submit(squares, echo, plus)
    assert graph.result(squares, TIME) == [0, 1, 4, 9, 16]
    assert graph.result(plus, TIME) == 7
    graph.wait(TIME)
    assert [graph.handle(echo, at).log() for at in range(3)] == ["1\n", "2\n", "3\n"]


def test_policies(client: Cluster) -> None:
    fails = PythonFunction(functions.fail, "no", may_fail=True)
    on_failure = Command(["true"], name="rescue").depends_on(fails, policy="failed")
    on_success = Command(["true"], name="never").depends_on(fails)
    always = Command(["true"], name="always").depends_on(fails, policy="finished")
    graph = client.submit(fails, on_failure, on_success, always)
    graph.wait(TIME)
    assert graph.handle(on_failure).state == graph.handle(always).state == "SUCCEEDED"
    assert graph.handle(on_success).state == "SKIPPED"
    with pytest.raises(ValueError, match="no"):
        graph.result(fails)
    with pytest.raises(RemoteError, match="skipped"):
        graph.result(on_success)


def test_why_there_is_no_result(client: Cluster, tmp_path: Path) -> None:
    ends: dict[str, tuple[Operation, str]] = {
        "exit": (Command("exit 7", name="exit"), "failed: exit status 7"),
        "kill": (Command("kill -9 $$", name="kill"), "killed by signal 9"),
        "slow": (Command(["sleep", "60"], name="slow", timeout=0.05), "ran into its timeout"),
        "bad": (Command(["/nonexistent/program"], name="bad"), "/nonexistent/program"),
    }
    held = Command(["true"], name="held", is_held=True)
    ends["behind"] = (Command(["true"], name="behind"), "on which it depends")
    ends["behind"][0].depends_on(ends["exit"][0])
    graph = client.submit(held, *(operation for operation, _ in ends.values()))
    for operation, text in ends.values():
        with pytest.raises(RemoteError, match=text):
            graph.result(operation, TIME)
    graph.handle(held).cancel()
    with pytest.raises(RemoteError, match="cancelled: "):
        graph.result(held, TIME)


def test_queues_suspend_and_limit(client: Cluster) -> None:
    queue = client.queue("tests-queue", max_concurrent=2)
    queue.suspend()
    operations = [Command(["true"], name=f"t{number}") for number in range(4)]
    graph = queue.submit(*operations)
    assert queue.operation_count == 4
    with pytest.raises(TimeoutError):
        graph.wait(0.2)
    queue.set_max_concurrent(1)
    queue.resume()
    assert graph.wait(TIME) == "SUCCEEDED"
    assert "tests-queue" in client.queue_names()
    queue.remove()
    assert "tests-queue" not in client.queue_names()


def test_cancel_hold_and_priority(client: Cluster, tmp_path: Path) -> None:
    held = Command(["true"], is_held=True, priority="low")
    sleeps = PythonFunction(functions.sleep_until_cancelled, str(tmp_path / "mark"))
    graph = client.submit(held, sleeps)
    handle = graph.handle(held)
    assert handle.state == "HELD"
    handle.set_priority("high")
    handle.release()
    handle.wait(TIME)
    while not (tmp_path / "mark").exists():
        os.sched_yield()
    assert graph.handle(sleeps).cancel("enough") == "EXECUTING"
    assert graph.wait(TIME) == "CANCELLED"
    assert handle.cancel() == "ALREADY_FINISHED"


def test_suspended_graphs(client: Cluster) -> None:
    operation = Command(["true"])
    graph = client.queue().submit(operation, is_suspended=True)
    assert graph.state == "SUSPENDED"
    graph.resume()
    assert graph.wait(TIME) == "SUCCEEDED"
    graph = client.queue().submit(Command(["true"]), is_suspended=True)
    assert graph.cancel() == 1
    assert graph.wait(TIME) == "CANCELLED"


def test_events(client: Cluster) -> None:
    async def kinds() -> list[str]:
        stream = client.events()
        graph = await asyncio.to_thread(client.submit, Command(["true"], name="one"))
        found = []
        async for event in stream:
            if event.graph == graph.number:
                found.append(f"{event.kind} {event.outcome}".strip())
                if event.kind == "GRAPH_SUCCEEDED":
                    break
        stream.close()
        return found

    found = asyncio.run(asyncio.wait_for(kinds(), TIME))
    assert "FINISHED SUCCEEDED" in found and "EXECUTING" in found


def test_a_large_result(client: Cluster) -> None:
    operation = PythonFunction(bytes, 200_000)
    assert client.submit(operation).result(operation, TIME) == bytes(200_000)


def test_what_is_refused(client: Cluster) -> None:
    with pytest.raises(Refused) as caught:
        a, b = Command(["true"], name="a"), Command(["true"], name="b")
        client.submit(a.depends_on(b), b.depends_on(a))
    assert caught.value.code == "CYCLE"
    with pytest.raises(ValueError, match="not submitted"):
        client.submit(Command(["true"]).depends_on(Call("nothing")))


#: Each is refused at once, or fails and says why: nothing waits for ever.
@pytest.mark.parametrize(
    "settings",
    [
        {"labels": {"": "v"}}, {"labels": {"k": "a\nb"}}, {"labels": {"x" * 300: "v"}},
        {"labels": {f"k{at}": "" for at in range(5_000)}},
        {"resources": {"": 1}}, {"resources": {"x" * 300: 1}}, {"memory": 2**63},
        {"cpus": float("nan")}, {"cpus": float("inf")}, {"cpus": 2.0**62}, {"cpus": -1},
        {"requirements": {"k": []}}, {"requirements": {"k": ["v"] * 5_000}},
        {"retries": -1}, {"retries": 101}, {"timeout": 1e300}, {"timeout": -1.0},
        {"timeout": float("nan")}, {"maximum_losses": 2**32}, {"count": 2**31},
        {"priority": "urgent"}, {"qos": ""}, {"environment": {"": "1"}},
        {"environment": {"A": "\0"}}, {"folder": "x" * 100_000}, {"outputs": ["x" * 100_000]},
    ],
    ids=lambda settings: ascii(settings)[:30],
)
def test_values_that_nobody_sends(client: Cluster, settings: dict[str, Any]) -> None:
    with pytest.raises((Refused, ValueError, OverflowError, RemoteError)) as error:
        command = Command("true", **settings)
        client.submit(command).result(command, 60)
    assert str(error.value)
    assert client.submit(Command("true")).wait(60) == "SUCCEEDED"


def test_a_text_alone_is_one() -> None:
    first = Command("true", outputs="key", requirements={"zone": "north"})
    second = Command("true", name="second").depends_on(first, files="all")
    made = operations.submission([first, second], key="k", name="n", queue=None)
    assert [(need.key, list(need.values)) for need in made.templates[0].requirements] == [
        ("zone", ["north"])
    ]
    assert [file.file for file in made.templates[1].input_files] == ["all"]
    assert words.Command.FromString(made.templates[0].payload).outputs == ["key"]


def test_an_empty_command() -> None:
    for command in ("", []):
        with pytest.raises(ValueError, match="at least a word"):
            Command(command)


def test_parts_of_a_cluster_of_our_own_that_are_killed_come_back() -> None:
    with new_cluster(cpus=1) as local, Cluster(local.address) as connected:
        for place in (1, 0):
            old = local._processes[place]
            old.kill()
            old.wait()
            echo = Command("echo ran", name="echo")
            graph = connected.submit(echo)
            assert graph.wait(120) == "SUCCEEDED"
        closing = list(local._processes)
    # Nobody starts what was ended on purpose.
    assert all(process.poll() is not None for process in closing)
    assert local._processes == closing


def test_a_cluster_of_our_own_that_is_dropped_ends() -> None:
    local = new_cluster(cpus=1)
    processes = list(local._processes)
    del local
    gc.collect()
    for process in processes:
        process.wait(60)
