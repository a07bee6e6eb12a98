"""Where an interpreter's standard output and standard error go."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
import threading
from typing import Final

_STREAMS: Final = ((1, ".out"), (2, ".err"))
_TO_WRITE: Final = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_TO_LOOK_AT: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class Streams:
    """Standard output and standard error, which go to the files of one attempt after the other.

    With files of its own, the process writes to these, and the worker moves away what an attempt
    has left there: making files for each attempt costs more than a short function, and so does
    opening them.
    """

    def __init__(self, own: str | None) -> None:
        #: What the names of the own files begin with.
        self._beginning = own
        #: Own files that stay open: they are empty between attempts, and nobody else has them open.
        self._open: dict[int, int] = {}
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._descendants = Descendants()
        self.restore()

    def redirect(self, path: str) -> None:
        """Appends both to own files, or those of an attempt, ``path`` with .out and .err."""
        for number, suffix in _STREAMS:
            if self._beginning is None:
                file = os.open(path + suffix, _TO_WRITE | os.O_CREAT, 0o600)
                os.dup2(file, number)
                os.close(file)
                continue
            if number not in self._open:
                self._open[number] = os.open(self._beginning + suffix, _TO_WRITE)
            os.dup2(self._open[number], number)

    def restore(self) -> None:
        """Writes out what is buffered, and drops what comes from now on.

        Own files that processes have open which the attempt has left are given up.
        """
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        os.dup2(self._null, 1)
        os.dup2(self._null, 2)
        if not self._open:
            return
        # Another thread may have opened them again, by /dev/stdout or as a copy.
        is_alone = threading.active_count() == 1 and not self._descendants.may_live()
        for number, suffix in _STREAMS:
            file = self._open.get(number)
            if file is None or is_alone and _is_empty(file):
                continue
            del self._open[number]
            os.close(file)
            if not is_alone:
                self._give_up_if_open(suffix)

    def _give_up_if_open(self, suffix: str) -> None:
        assert self._beginning is not None
        try:
            file = os.open(self._beginning + suffix, _TO_LOOK_AT)
        except OSError:
            return
        try:
            # What was written to is taken away by the worker in any case.
            if _is_empty(file) and not _is_at_rest(file):
                os.fchmod(file, 0)
        finally:
            os.close(file)


class Descendants:
    """Tells whether processes may live that this one, or one of those, has started."""

    def __init__(self) -> None:
        self._waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)

    def may_live(self) -> bool:
        """False: it has no children, and has waited for none since the last question.

        Children alone would not tell: a shell leaves what it runs in the background to others. But
        then the shell was waited for, which the kernel counts, unless it does not let anybody wait.
        """
        before = self._waited_for
        self._waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self._waited_for != before or signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            return True
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True


def _is_empty(file: int) -> bool:
    """Whether nobody has written to a file or removed it."""
    state = os.fstat(file)
    return state.st_size == 0 and state.st_nlink == 1


def _is_at_rest(file: int) -> bool:
    """Whether nobody has a file open for writing: then the kernel grants a lease on it."""
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return False
    return True
