"""A coordinator that is killed and started again under a running executor."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import zmq
from conftest import PROGRAMS

from opcluster import ClusterExecutor, connection
from opcluster.errors import ConnectionFailed
from opcluster.local_cluster import program
from opcluster.v1 import client_pb2 as client

TIME = 90.0


class Coordinator:
    def __init__(self, folder: Path) -> None:
        self.client, self.worker = f"ipc://{folder}/client", f"ipc://{folder}/worker"
        self._state = f"{folder}/state"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [program("opcoord", PROGRAMS), "serve", "--client", self.client,
             "--worker", self.worker, "--state", self._state, "--allow-root",
             "--until-stdin-closes"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path) -> None:
    try:
        worker_program = program("opworker", PROGRAMS)
    except ConnectionFailed as error:
        pytest.skip(str(error))
    folder = Path(subprocess.check_output(["mktemp", "-d", "/tmp/opc-XXXXXX"], text=True).strip())
    coordinator = Coordinator(folder)
    worker = subprocess.Popen(
        [worker_program, "serve", "--coordinator", coordinator.worker, "--name", "one",
         "--cpus", "2", "--scratch", f"{folder}/scratch", "--allow-root", "--until-stdin-closes"],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )
    log = tmp_path / "log"

    def note(number: int) -> int:
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{number}\n".encode())
        os.close(descriptor)
        return number

    try:
        with ClusterExecutor(coordinator.client) as executor:
            futures = []
            for number in range(600):
                futures.append(executor.submit(note, number))
                if number in (150, 400):
                    # In the middle of submissions and of calls.
                    futures[number - 100].result(TIME)
                    coordinator.kill()
                    coordinator.start()
            assert [future.result(TIME) for future in futures] == list(range(600))
        assert sorted(map(int, log.read_text().split())) == list(range(600))
    finally:
        for process in (worker, coordinator.process):
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
        subprocess.run(["rm", "-rf", folder], check=True)


def test_a_starved_coordinator_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is reached may answer later than one who is not may be looked for."""
    monkeypatch.setattr(connection, "_OPENING_TIME", 5.0)
    folder = subprocess.check_output(["mktemp", "-d", "/tmp/opc-XXXXXX"], text=True).strip()
    router = zmq.Context.instance().socket(zmq.ROUTER)
    router.bind(f"ipc://{folder}/client")
    os.chmod(f"{folder}/client", 0o700)

    def answer() -> None:
        peer, _ = router.recv_multipart()
        time.sleep(6)
        welcome = client.ClientAnswer(welcome=client.ClientWelcome(version=1))
        router.send_multipart([peer, welcome.SerializeToString()])

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        connection.Connection(f"ipc://{folder}/client").close()
    finally:
        thread.join()
        router.close(0)
        subprocess.run(["rm", "-rf", folder], check=True)
