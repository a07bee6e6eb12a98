"""Runs a job's Snakemake as a fork of a process that has imported it already.

Most of a short job is the start of its Snakemake. A worker keeps the interpreters of functions of
Python: in those of a pool of their own Snakemake is imported once, and each job is a fork of it.
What a process of its own would have is made anew in the fork: folder, environment, output, random
numbers, `sys.path`, and an end at which files are written out.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.util
import locale
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from opcluster import RunningOperation, current_operation
from opcluster.operation import _set_current

#: What a shell takes word by word, and as it stands.
_PLAIN: Final = re.compile(r"(?:'[^']*'|[A-Za-z0-9_./:=,@%+ -])*")
#: `PR_SET_CHILD_SUBREAPER` of Linux.
_BECOME_PARENT_OF_ORPHANS: Final = 36

#: Inode and time of change of folders.
_States = tuple[tuple[str, int, int], ...]


class JobFailed(Exception):
    """The Snakemake of a job has ended with another status than 0, or could not begin."""


#: Where modules were looked for when Snakemake was imported; None: it was not.
_imported_from: _States | None = None


def arguments(command: str, python: str) -> list[str] | None:
    """The arguments of a command ``PYTHON -m snakemake …``; None: a shell has to read it."""
    if not _PLAIN.fullmatch(command):
        return None
    words = shlex.split(command)
    return words[3:] if words[:3] == [python, "-m", "snakemake"] else None


def pool() -> str:
    """The pool of interpreters for this installation of Snakemake: no other function is called in
    them, and none of them has imported what was there before something was installed."""
    found = importlib.util.find_spec("snakemake")
    if found is None or found.origin is None:
        return "snakemake"
    state = os.stat(os.path.dirname(os.path.dirname(found.origin)))
    return f"snakemake-{state.st_ino:x}-{state.st_mtime_ns:x}"


def run(job: Mapping[str, Any]) -> None:
    """Runs the Snakemake of a job to its end. In an interpreter of a worker.

    :param job: `arguments` of Snakemake, the `folder` that it runs in, its `environment` beyond the
        interpreter's, and the file of its `log`.
    :raises JobFailed: if it ends with a status other than 0, or cannot begin.
    """
    operation = current_operation()
    with operation.deferring_cancellation():
        _import_once()
        # A cancellation may have come just before the last job's was killed.
        _kill_the_rest()
    refusals = _Refusals.of_this_process(job["environment"].get("OP_MEMORY_BYTES", "0") != "0")
    # 0: not begun.
    process = 0
    status = 0
    try:
        with operation.deferring_cancellation():
            if not operation.is_cancelled:
                process = _fork(job, operation)
        status = _wait(process)
    except BaseException:
        # A cancellation: the job may clean up, until the worker ends this process and all of its.
        if process:
            _terminate(process)
        raise
    finally:
        with operation.deferring_cancellation():
            _kill_the_rest()
    # The worker looks at how this process ends, and knows whether that was for its memory, or for
    # the number of its processes.
    if refusals.have_risen():
        _end_by(signal.SIGKILL)
    if status < 0:
        _end_by(-status)
    if status:
        raise JobFailed(f"it ended with status {status}; its log is {job['log']}")


def _import_once() -> None:
    """Imports Snakemake; makes this process the parent of what jobs leave behind."""
    global _imported_from
    if _imported_from is not None:
        return
    before = _states(sys.path)
    if importlib.util.find_spec("snakemake") is None:
        raise JobFailed(f"there is no Snakemake for {sys.executable}")
    import snakemake.cli

    try:
        # These import what most jobs import first: all plugins, and how sources are read.
        snakemake.cli.get_argument_parser()
        importlib.import_module("smart_open")
    except Exception as error:
        # Another release: a job imports it itself.
        print(f"Snakemake is not wholly warm: {error}", file=sys.stderr)
    # Collections in a fork would copy all of it.
    gc.collect()
    gc.freeze()
    ctypes.CDLL(None).prctl(_BECOME_PARENT_OF_ORPHANS, 1, 0, 0, 0)
    _imported_from = before


def _states(folders: Sequence[str]) -> _States:
    """What changes when a module is installed in one of these, or removed."""
    found = []
    for folder in folders:
        try:
            state = os.stat(folder)
        except OSError:
            continue
        # Attempts come and go in ours.
        if os.path.abspath(folder) != os.getcwd():
            found.append((folder, state.st_ino, state.st_mtime_ns))
    return tuple(found)


def _fork(job: Mapping[str, Any], operation: RunningOperation) -> int:
    """Begins the job; returns its process.

    :raises JobFailed: if its folder or its log is not there.
    """
    try:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        folder = os.open(job["folder"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise JobFailed(f"its folder is not here as it is for Snakemake: {error}") from error
    # This process removes it.
    variables = _variables(operation)
    is_new = _imported_from == _states(sys.path)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Nothing may be raised in the fork before it is known to be one.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(log)
        os.close(folder)
        return process
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # A group of its own, as a command has: a job that signals its group must not end us.
        os.setpgid(0, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.fchdir(folder)
        _finish(_become(job, variables, is_new))
    finally:
        # Whatever happens, the fork does not go on as the interpreter that it was.
        os._exit(1)


def _become(job: Mapping[str, Any], variables: Mapping[str, str], is_new: bool) -> int:
    """In the fork: becomes the job. Returns its status."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    _set_current(None)
    given: Mapping[str, str] = job["environment"]
    if not _keeps_language_of_interpreter(given):
        os.environ.pop("LC_CTYPE", None)
    os.environ.update(given)
    os.environ.update(variables)
    words: list[str] = job["arguments"]
    if not is_new:
        os.execv(sys.executable, [sys.executable, "-m", "snakemake", *words])
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        pass
    tempfile.tempdir = None
    if "numpy.random" in sys.modules:
        # Python's own generator is another one in each fork.
        sys.modules["numpy.random"].seed()
    # As of a module that is run: what lies beside the workflow is found.
    sys.path.insert(0, job["folder"])
    sys.argv = ["snakemake", *words]
    from snakemake.cli import main

    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        # Snakemake looks at its jobs again after a second, and would be waited for.
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer) and _is_of_snakemake(thread.function):
                thread.cancel()
    return 0


def _finish(status: int) -> NoReturn:
    """Ends the fork as a program of Python ends: files are written out, threads waited for."""
    ctypes.pythonapi.Py_Exit(ctypes.c_int(status))
    raise AssertionError("unreachable")


def _keeps_language_of_interpreter(given: Mapping[str, str]) -> bool:
    """Whether a new interpreter would choose a language itself, as this one has."""
    if given.get("LC_ALL"):
        return False
    return given.get("LANG", "") in ("", "C", "POSIX")


def _is_of_snakemake(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == "snakemake"


def _variables(operation: RunningOperation) -> dict[str, str]:
    """What a command is told by its environment, as far as it is known here."""
    return {
        "OP_GRAPH": str(operation.graph),
        "OP_NAME": operation.name,
        "OP_ATTEMPT": str(operation.run),
        "OP_SCRATCH": operation.scratch_folder,
        "TMPDIR": operation.scratch_folder,
    }


def _wait(process: int) -> int:
    """Its status; negative: the signal that ended it. It stays a zombie, so that its number is not
    another's; what it leaves behind does not, since the kernel counts zombies against its limit."""
    while True:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        assert found is not None
        if found.si_pid == process:
            return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        os.waitpid(found.si_pid, os.WNOHANG)


def _terminate(process: int) -> None:
    for end in (os.killpg, os.kill):
        try:
            end(process, signal.SIGTERM)
            break
        except ProcessLookupError:
            # It has not made its group yet.
            continue
    _wait(process)


def _kill_the_rest() -> None:
    """Kills what a job has left running: its processes are this one's children by now."""
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            # The usual case, in which nobody looks at all processes of the machine.
            return
        import psutil

        for child in psutil.Process().children():
            try:
                child.kill()
            except psutil.NoSuchProcess:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


@dataclass(frozen=True)
class _Refusals:
    """How often the kernel has ended processes of this one's control group for their memory, or
    has refused it more processes."""

    #: Files, with the word before their count.
    counters: tuple[tuple[str, str], ...]
    count: int

    @classmethod
    def of_this_process(cls, has_memory: bool) -> _Refusals:
        """Those of a group that is this process's own; without one, none.

        :param has_memory: whether the group's memory is the job's.
        """
        counters: list[tuple[str, str]] = []
        try:
            with open("/proc/self/cgroup", encoding="utf-8") as groups:
                lines = groups.read().splitlines()
        except OSError:
            lines = []
        for line in lines:
            _, controllers, path = line.split(":", 2)
            for name in controllers.split(",") if controllers else ("memory", "pids"):
                folder = f"/sys/fs/cgroup{'/' + name if controllers else ''}{path}"
                kills = "memory.oom_control" if controllers else "memory.events"
                file, word = {"memory": (kills, "oom_kill"), "pids": ("pids.events", "max")}.get(
                    name, ("", "")
                )
                if file and (has_memory or name != "memory") and _is_own(folder):
                    counters.append((f"{folder}/{file}", word))
        return cls(tuple(counters), cls._sum(counters))

    def have_risen(self) -> bool:
        return self._sum(self.counters) > self.count

    @staticmethod
    def _sum(counters: Sequence[tuple[str, str]]) -> int:
        total = 0
        for file, word in counters:
            try:
                with open(file, encoding="utf-8") as lines:
                    found = [line.split()[1] for line in lines if line.split()[:1] == [word]]
                total += int(found[0]) if found else 0
            except (OSError, ValueError, IndexError):
                continue
        return total


def _is_own(folder: str) -> bool:
    """Whether a control group has this process alone."""
    try:
        with open(f"{folder}/cgroup.procs", encoding="utf-8") as processes:
            return processes.read().split() == [str(os.getpid())]
    except OSError:
        return False


def _end_by(number: int) -> NoReturn:
    """Ends this process as its job was ended."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    while True:
        signal.pause()


__all__ = ["JobFailed", "arguments", "pool", "run"]
