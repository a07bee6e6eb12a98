"""Runs a job's Snakemake as a fork of a process that has imported it already.

Most of a short job is the start of its Snakemake. A worker keeps the interpreters of functions of
Python: there Snakemake is imported once, and each job is a fork of it. What a process of its own
would have is made anew in the fork: folder, environment, output, random numbers, `sys.path`.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.util
import locale
import multiprocessing
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from opcluster import RunningOperation, current_operation

#: What a shell takes word by word, and as it stands.
_PLAIN: Final = re.compile(r"(?:'[^']*'|[A-Za-z0-9_./:=,@%+ -])*")
#: `PR_SET_CHILD_SUBREAPER` of Linux.
_BECOME_PARENT_OF_ORPHANS: Final = 36


class JobFailed(Exception):
    """The Snakemake of a job has ended with another status than 0."""


@dataclass(frozen=True)
class _Installation:
    """The folder that Snakemake and what it uses lie in, as it was before they were imported."""

    folder: str
    state: tuple[int, int]

    @classmethod
    def of_snakemake(cls) -> _Installation:
        found = importlib.util.find_spec("snakemake")
        if found is None or found.origin is None:
            raise JobFailed(f"there is no Snakemake in {sys.executable}")
        folder = os.path.dirname(os.path.dirname(os.path.abspath(found.origin)))
        return cls(folder, cls._state(folder))

    def is_current(self) -> bool:
        """False: something was installed there, or removed, since."""
        return self._state(self.folder) == self.state

    @staticmethod
    def _state(folder: str) -> tuple[int, int]:
        found = os.stat(folder)
        return found.st_ino, found.st_mtime_ns


_installation: _Installation | None = None


def arguments(command: str, python: str) -> list[str] | None:
    """The arguments of a command ``PYTHON -m snakemake …``; None: a shell has to read it."""
    if not _PLAIN.fullmatch(command):
        return None
    words = shlex.split(command)
    return words[3:] if words[:3] == [python, "-m", "snakemake"] else None


def run(job: Mapping[str, Any]) -> None:
    """Runs the Snakemake of a job to its end. In an interpreter of a worker.

    :param job: `arguments` of Snakemake, the `folder` that it runs in, its `environment` beyond the
        interpreter's, and the file of its `log`.
    :raises JobFailed: if it ends with a status other than 0.
    """
    operation = current_operation()
    process = multiprocessing.get_context("fork").Process(target=_become, args=(job, operation))
    with operation.deferring_cancellation():
        _import_once()
        operation.scratch_folder  # Made by this process, which removes it.
        process.start()
    try:
        process.join()
    except BaseException:
        # A cancellation: the job may clean up, until the worker ends this process and all of its.
        _terminate(process)
        raise
    finally:
        with operation.deferring_cancellation():
            _kill_the_rest()
    status = process.exitcode or 0
    if status < 0:
        # The worker looks at how this process ends, and knows whether that was for its memory.
        _end_by(-status)
    if status:
        raise JobFailed(f"it ended with status {status}; its log is {job['log']}")


def _import_once() -> None:
    """Imports Snakemake; makes this process the parent of what jobs leave behind."""
    global _installation
    if _installation is not None:
        return
    before = _Installation.of_snakemake()
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
    _installation = before


def _become(job: Mapping[str, Any], operation: RunningOperation) -> None:
    """In the fork: becomes the job."""
    # A group of its own, as a command has: a job that signals its group must not end us.
    os.setpgid(0, 0)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(job["folder"])
    given: Mapping[str, str] = job["environment"]
    if "LANG" in given or "LC_ALL" in given:
        # An interpreter without a language has chosen one.
        os.environ.pop("LC_CTYPE", None)
    os.environ.update(given)
    os.environ.update(_variables(operation))
    words: list[str] = job["arguments"]
    if _installation is None or not _installation.is_current():
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
    finally:
        # Snakemake looks at its jobs again after a second, and would be waited for.
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer) and _is_of_snakemake(thread.function):
                thread.cancel()


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


def _terminate(process: multiprocessing.process.BaseProcess) -> None:
    assert process.pid is not None
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        # It has ended, or has not made its group yet.
        process.terminate()
    process.join()


def _kill_the_rest() -> None:
    """Kills what a job has left running: its processes are this one's children by now."""
    import psutil

    while children := psutil.Process().children():
        for child in children:
            child.kill()
        psutil.wait_procs(children)


def _end_by(number: int) -> None:
    """Ends this process as its job was ended."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


__all__ = ["JobFailed", "arguments", "run"]
