"""A cluster of our own on this machine, which lives no longer than this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType

from opcluster.errors import ConnectionFailed

_START_TIME = 15.0
_END_TIME = 15.0
#: Seconds before what has ended is started again: at first, and if it ends again and again.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


def program(name: str, folder: str | None = None) -> str:
    """The path of one of OpCluster's programs.

    :param folder: where it is; None: a folder of PATH.
    :raises ConnectionFailed: if it is not there.
    """
    found = shutil.which(name, path=folder)
    if found is None:
        place = f"in {folder}" if folder else "in a folder of PATH"
        raise ConnectionFailed(
            f"no cluster is configured, and to start one the program '{name}' is not {place}; "
            "install OpCluster, or name the cluster's address (OPBATCH_COORDINATOR)"
        )
    return found


class LocalCluster:
    """A coordinator and a worker. A context manager; `close` ends both."""

    def __init__(self, cpus: int | None = None, programs: str | None = None) -> None:
        """Starts them and returns when the coordinator's socket is there.

        :param cpus: processors that the worker offers; None: those of this process.
        :param programs: the folder of `opcoord` and `opworker`; None: PATH.
        :raises ConnectionFailed: if they are not found or end at once.
        """
        coordinator, worker = program("opcoord", programs), program("opworker", programs)
        base = os.environ.get("XDG_RUNTIME_DIR")
        if not base or len(base.encode()) > 64 or not os.access(base, os.W_OK):
            base = "/tmp"
        # The kernel takes 107 bytes for the path of a socket.
        self._folder = Path(tempfile.mkdtemp(prefix="opcluster-", dir=base))
        self._files = Path(tempfile.mkdtemp(prefix="opcluster-files-"))
        #: The address for clients.
        self.address = f"ipc://{self._folder}/client"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._commands: list[list[str]] = []
        # Held while one is started or all are ended.
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        workers = f"ipc://{self._folder}/worker"
        offered = cpus or len(os.sched_getaffinity(0))
        try:
            self._start(
                coordinator, "--client", self.address, "--worker", workers,
                "--state", str(self._files / "state"),
            )
            self._await_socket()
            self._start(
                worker, "--coordinator", workers, "--name", "local-1", "--cpus", str(offered),
                "--scratch", str(self._files / "scratch"),
            )
        except BaseException:
            self.close()
            raise
        for place in range(len(self._processes)):
            threading.Thread(
                target=self._keep, args=(place,), name=f"opcluster-local-{place}", daemon=True
            ).start()

    def _start(self, path: str, *arguments: str) -> None:
        root = ("--allow-root",) if os.geteuid() == 0 else ()
        command = [path, "serve", *arguments, "--until-stdin-closes", *root]
        self._commands.append(command)
        self._processes.append(self._process(command))

    def _process(self, command: list[str]) -> subprocess.Popen[bytes]:
        with open(self._files / f"{Path(command[0]).name}.log", "ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def _keep(self, place: int) -> None:
        """Starts a process again that has ended, such as by the kernel for want of memory; ever
        more slowly if it ends at once."""
        pause = _SHORTEST_PAUSE
        while True:
            started = time.monotonic()
            ended = self._processes[place]
            ended.wait()
            if time.monotonic() - started > _LONGEST_PAUSE:
                pause = _SHORTEST_PAUSE
            if self._is_closing.wait(pause):
                return
            pause = min(pause * 2, _LONGEST_PAUSE)
            with self._lock:
                if self._is_closing.is_set():
                    return
                try:
                    self._processes[place] = self._process(self._commands[place])
                except OSError:
                    continue  # It is tried again.
            if ended.stdin is not None:
                ended.stdin.close()

    def _await_socket(self) -> None:
        deadline = time.monotonic() + _START_TIME
        while not (self._folder / "client").exists():
            if self._processes[0].poll() is not None or time.monotonic() > deadline:
                log = (self._files / "opcoord.log").read_text(errors="replace")[-1000:]
                raise ConnectionFailed(f"the coordinator did not start: {log.strip()}")
            time.sleep(0.01)

    def close(self) -> None:
        """Ends the worker, then the coordinator, and removes their files."""
        with self._lock:
            self._is_closing.set()
        for process in reversed(self._processes):
            if process.stdin is not None:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_END_TIME)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for folder in (self._folder, self._files):
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
