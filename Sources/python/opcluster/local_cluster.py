"""A cluster of our own on this machine, which lives no longer than this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
import weakref
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
        # They end when these pipes do.
        self._lifelines: list[int] = []
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
        # Whoever drops it without a word ends it: the threads must not hold it.
        weakref.finalize(self, _let_go, self._lifelines, self._is_closing)
        for place in range(len(self._processes)):
            threading.Thread(
                target=_keep, args=(weakref.ref(self), place), name=f"opcluster-local-{place}",
                daemon=True,
            ).start()

    def _start(self, path: str, *arguments: str) -> None:
        root = ("--allow-root",) if os.geteuid() == 0 else ()
        command = [path, "serve", *arguments, "--until-stdin-closes", *root]
        self._commands.append(command)
        self._processes.append(self._process(command))

    def _process(self, command: list[str]) -> subprocess.Popen[bytes]:
        ours, theirs = os.pipe()
        try:
            with open(self._files / f"{Path(command[0]).name}.log", "ab") as log:
                process = subprocess.Popen(
                    command, stdin=ours, stdout=log, stderr=log, start_new_session=True
                )
        except BaseException:
            os.close(theirs)
            raise
        finally:
            os.close(ours)
        self._lifelines.append(theirs)
        return process

    def _start_again(self, place: int) -> None:
        """Starts what has ended, unless all are being ended."""
        with self._lock:
            if not self._is_closing.is_set():
                self._processes[place] = self._process(self._commands[place])

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
            process.terminate()
            try:
                process.wait(_END_TIME)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _let_go(self._lifelines, self._is_closing)
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


def _let_go(lifelines: list[int], is_closing: threading.Event) -> None:
    """Lets the processes end, and starts none again."""
    is_closing.set()
    while lifelines:
        os.close(lifelines.pop())


def _keep(reference: weakref.ref[LocalCluster], place: int) -> None:
    """Starts a process again that has ended, such as by the kernel for want of memory; ever more
    slowly if it ends at once."""
    pause = _SHORTEST_PAUSE
    while True:
        cluster = reference()
        if cluster is None:
            return
        process, is_closing = cluster._processes[place], cluster._is_closing
        del cluster
        started = time.monotonic()
        process.wait()
        if time.monotonic() - started > _LONGEST_PAUSE:
            pause = _SHORTEST_PAUSE
        if is_closing.wait(pause):
            return
        pause = min(pause * 2, _LONGEST_PAUSE)
        cluster = reference()
        if cluster is None:
            return
        try:
            cluster._start_again(place)
        except OSError:
            pass  # It is tried again.
        del cluster
