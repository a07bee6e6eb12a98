"""Functions that the tests call in other processes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import opcluster


class Account:
    def __init__(self, owner: str) -> None:
        self.owner = owner

    def greeting(self, word: str) -> str:
        return f"{word}, {self.owner}"


class OddError(Exception):
    """Its pickle cannot be read: it has another number of arguments."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def fields(count: int) -> dict[str, object]:
    return {"count": count, "name": "värde", "ok": True, "nested": [1, 2]}


def speak() -> None:
    print("to the output")
    print("to the error", file=sys.stderr)
    os.system("echo from a child")


def trace() -> list[object]:
    """Its span and its run."""
    running = opcluster.current_operation()
    return [running.traceparent, running.run]


def haunt(awaited: str, made: str) -> None:
    """Leaves a process behind that speaks when a file is there."""
    script = f"while [ ! -e {awaited} ]; do sleep 0.01; done; echo late; touch {made}"
    os.system(f"({script}) &")


def say(word: str, made: str, awaited: str) -> None:
    """Speaks, and waits for a file."""
    print(word)
    Path(made).touch()
    while not Path(awaited).exists():
        time.sleep(0.005)


def fail(text: str) -> None:
    raise ValueError(text)


def fail_oddly() -> None:
    raise OddError(1, 2)


def leave() -> None:
    sys.exit(3)


def sleep_until_cancelled(mark: str) -> str:
    Path(mark).touch()
    time.sleep(60)
    return "slept"


def sees_flag(mark: str) -> str:
    operation = opcluster.current_operation()
    with operation.deferring_cancellation():
        Path(mark).touch()
        while not operation.is_cancelled:
            time.sleep(0.01)
        return "clean"


def wait_for(path: str) -> str:
    while not os.path.exists(path):
        time.sleep(0.01)
    return path


def where() -> tuple[int, int, int, int]:
    operation = opcluster.current_operation()
    return operation.graph, operation.operation, operation.attempt, os.getpid()


def uses_folder() -> str:
    folder = opcluster.current_operation().scratch_folder
    Path(folder, "file").write_text("x")
    return folder


def tells_progress() -> None:
    operation = opcluster.current_operation()
    operation.progress(0.5, "half")
    operation.progress(0.6, "too soon")


def unpicklable() -> object:
    return (item for item in [1])


async def later(value: int) -> int:
    return value + 1


STARTED = ""


def begin(word: str) -> None:
    global STARTED
    STARTED = word


def begin_badly() -> None:
    raise ValueError("a bad begin")


def started() -> str:
    return STARTED


def first_and_size(data: bytes | bytearray, add: int) -> tuple[int, int]:
    return data[0] + add, len(data)


def slow_two() -> int:
    time.sleep(0.2)
    return 2


def wait_at_first(path: str) -> int:
    """Never returns from the first attempt, and makes a file; returns the number of another one."""
    attempt = opcluster.current_operation().attempt
    if attempt == 1:
        Path(path).touch()
        time.sleep(600)
    return attempt


def add(first: int, second: int) -> int:
    return first + second
