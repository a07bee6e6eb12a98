"""Workers that are killed under running calls, and workers with operation types of their own."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import functions
import pytest
from conftest import PROGRAMS

from opcluster import Call, Cluster, ClusterExecutor, Command, PythonFunction, RemoteError
from opcluster.errors import ConnectionFailed
from opcluster.local_cluster import program
from opcluster.v1 import client_pb2

TIME = 90.0


class Worker:
    """A worker's process; its name and its folder outlive it."""

    def __init__(
        self, folder: Path, name: str, program_name: str = "opworker", more: Sequence[str] = ()
    ) -> None:
        self._command = [
            program(program_name, PROGRAMS), "serve", "--coordinator", f"ipc://{folder}/worker",
            "--name", name, "--cpus", "2", "--scratch", f"{folder}/{name}", "--allow-root",
            "--until-stdin-closes", *more,
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


class Machines:
    """A coordinator in a folder, and the workers that a test starts."""

    def __init__(self) -> None:
        coordinator = program("opcoord", PROGRAMS)
        made = subprocess.check_output(["mktemp", "-d", "/tmp/opc-XXXXXX"], text=True)
        self.folder = Path(made.strip())
        self.address = f"ipc://{self.folder}/client"
        self.workers: list[Worker] = []
        self._coordinator = subprocess.Popen(
            [coordinator, "serve", "--client", self.address,
             "--worker", f"ipc://{self.folder}/worker", "--state", f"{self.folder}/state",
             "--allow-root", "--until-stdin-closes"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        assert self._coordinator.stdout is not None
        self._coordinator.stdout.readline()

    def start(
        self, name: str, program_name: str = "opworker", more: Sequence[str] = ()
    ) -> Worker:
        self.workers.append(Worker(self.folder, name, program_name, more))
        return self.workers[-1]

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        self._coordinator.terminate()
        self._coordinator.wait()
        subprocess.run(["rm", "-rf", self.folder], check=True)


@pytest.fixture
def machines() -> Iterator[Machines]:
    try:
        made = Machines()
    except ConnectionFailed as error:
        pytest.skip(str(error))
    yield made
    made.close()


def await_file(path: Path) -> None:
    deadline = time.monotonic() + TIME
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path.name}"
        time.sleep(0.01)


def test_calls_of_a_lost_worker_run_again(machines: Machines, tmp_path: Path) -> None:
    lost = machines.start("one")
    with ClusterExecutor(machines.address) as executor:
        running = executor.submit(functions.wait_at_first, str(tmp_path / "first"))
        # Edges hold what has to run after it, also the second time.
        behind = executor.submit(functions.add, running, 10)
        others = [executor.submit(abs, -number) for number in range(50)]
        await_file(tmp_path / "first")
        assert running.running()
        lost.kill()
        lost.start()
        assert running.result(TIME) == 2
        assert behind.result(TIME) == 12
        assert [future.result(TIME) for future in others] == list(range(50))
        assert not running.cancelled() and running.done()


def test_what_must_not_run_twice_fails_with_its_worker(
    machines: Machines, tmp_path: Path
) -> None:
    lost = machines.start("one")
    with Cluster(machines.address) as cluster:
        once = PythonFunction(
            functions.wait_at_first, str(tmp_path / "first"), maximum_losses=0
        )
        rescue = Command(["true"], name="rescue").depends_on(once, policy="failed")
        graph = cluster.submit(once, rescue)
        await_file(tmp_path / "first")
        lost.kill()
        lost.start()
        with pytest.raises(RemoteError, match="lost: its worker was lost"):
            graph.result(once, TIME)
        graph.wait(TIME)
        assert graph.handle(rescue).state == "SUCCEEDED"


def test_registered_types(machines: Machines) -> None:
    machines.start("plain")
    machines.start("examples", "opexampleworker")
    with Cluster(machines.address) as cluster:
        # Only one of the two workers has these types.
        pairs = Call(
            "example.add-later", name="pair",
            elements=[{"first": number, "second": 10} for number in range(5)],
        )
        total = Call("example.total", {}).depends_on(pairs)
        summed = Call("example.sum", {"numbers": [1, 2, 3], "turns": 2})
        graph = cluster.submit(pairs, total, summed)
        assert graph.wait(TIME) == "SUCCEEDED"
        assert graph.result(pairs) == [10, 11, 12, 13, 14]
        assert graph.result(total) == 60
        assert graph.result(summed) == 12
        wrong = Call("example.sum", {"numbers": "many"})
        broken = cluster.submit(wrong)
        with pytest.raises(RemoteError):
            broken.result(wrong, TIME)


def test_files_wait_for_a_worker(machines: Machines, tmp_path: Path) -> None:
    source = tmp_path / "text"
    source.write_text("some text")
    command = Command('cat "$OP_INPUTS/text"', inputs={"text": str(source)})
    with Cluster(machines.address) as cluster, ThreadPoolExecutor(1) as pool:
        submitted = pool.submit(cluster.submit, command)
        await_wanted_stores(cluster)
        machines.start("w1")
        graph = submitted.result(60)
        assert graph.wait(60) == "SUCCEEDED"
        assert graph.handle(command).log() == "some text"


def await_wanted_stores(cluster: Cluster) -> None:
    deadline = time.monotonic() + 60
    while not cluster.ask(configuration=client_pb2.Nothing()).configuration.stores_are_wanted:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_waits_for_a_worker_can_be_given_up(machines: Machines) -> None:
    with ClusterExecutor(machines.address) as executor, Cluster(machines.address) as cluster:
        waiting = executor.submit(len, bytearray(1 << 20))
        await_wanted_stores(cluster)
        executor.shutdown(cancel_futures=True)
        assert waiting.cancelled()


def test_stores_that_no_worker_has_are_not_waited_for(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opcluster.contents._WORKER_SECONDS", 0.5)
    source = tmp_path / "text"
    source.write_text("some text")
    with Cluster(machines.address) as cluster, ThreadPoolExecutor(1) as pool:
        submitted = pool.submit(cluster.submit, Command("true", inputs={"text": str(source)}))
        await_wanted_stores(cluster)
        time.sleep(1)
        machines.start("w1", more=["--store", "0"])
        with pytest.raises(RemoteError, match="no connected worker has a store"):
            submitted.result(60)
