"""Where an interpreter's standard output and standard error go."""

from __future__ import annotations

import fcntl
import os
import sys
from typing import Final

_TO_LOOK_AT: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class Streams:
    """Standard output and standard error, which go to the files of one attempt after the other.

    With files of its own, the process writes to these, and the worker moves away what an attempt
    has left there: making files for each attempt costs more than a short function.
    """

    def __init__(self, own: str | None) -> None:
        #: What the names of the own files begin with.
        self._beginning = own
        #: Own files to look at: they are empty between attempts, and nobody can write to them.
        self._own: dict[int, int] = {}
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.restore()

    def redirect(self, path: str) -> None:
        """Appends both to own files, or those of an attempt, ``path`` with .out and .err."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        for number, suffix in ((1, ".out"), (2, ".err")):
            if self._beginning is not None:
                own = self._beginning + suffix
                if number not in self._own:
                    self._own[number] = os.open(own, _TO_LOOK_AT)
                file = os.open(own, flags)
            else:
                file = os.open(path + suffix, flags | os.O_CREAT, 0o600)
            os.dup2(file, number)
            os.close(file)

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
        for number, file in list(self._own.items()):
            if is_empty(file):
                if is_at_rest(file):
                    continue
                os.fchmod(file, 0)
            # The worker takes it away, and a new one is there for the next attempt.
            del self._own[number]
            os.close(file)


def is_empty(file: int) -> bool:
    """Whether nobody has written to a file or removed it."""
    state = os.fstat(file)
    return state.st_size == 0 and state.st_nlink == 1


def is_at_rest(file: int) -> bool:
    """Whether nobody has a file open for writing: then the kernel grants a lease on it.

    Children alone would not tell: a shell leaves what it runs in the background to others.
    """
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return False
    return True
