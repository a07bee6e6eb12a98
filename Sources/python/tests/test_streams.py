"""Where an interpreter's output goes from one attempt to the next, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from opcluster.streams import Streams


def own_streams(folder: Path) -> tuple[Streams, list[Path]]:
    files = [folder / "own.out", folder / "own.err"]
    for file in files:
        file.touch(mode=0o600)
    return Streams(str(folder / "own")), files


def modes(files: list[Path]) -> list[int]:
    return [file.stat().st_mode & 0o777 for file in files]


def serve_again(folder: Path) -> None:
    """Own files that nobody has open stay, whatever the attempts have started."""
    streams, files = own_streams(folder)
    for _ in range(3):
        streams.redirect("unused")
        streams.restore()
        assert modes(files) == [0o600] * 2
    streams.redirect("unused")
    subprocess.run(["true"], check=True)
    streams.restore()
    assert modes(files) == [0o600] * 2
    streams.redirect("unused")
    with open(os.devnull, "w", encoding="ascii") as null:
        other = subprocess.Popen(["sleep", "60"], stdout=null, stderr=null)
    try:
        streams.restore()
        assert modes(files) == [0o600] * 2
        # What was written is for the worker to take; the next attempt has a new file.
        streams.redirect("unused")
        os.write(1, b"first")
        streams.restore()
        os.rename(files[0], folder / "taken")
        files[0].touch(mode=0o600)
        streams.redirect("unused")
        os.write(1, b"second")
        os.write(2, b"third")
        streams.restore()
    finally:
        other.kill()
    found = [file.read_text() for file in (folder / "taken", *files)]
    assert found == ["first", "second", "third"], found


def give_up(folder: Path, kind: str) -> None:
    """Own files that a process has open which the attempt has left."""
    streams, files = own_streams(folder)
    streams.redirect("unused")
    streams.restore()
    streams.redirect("unused")
    if kind == "child":
        left = subprocess.Popen(["sleep", "60"]).pid
    elif kind == "thread":
        copy, stop = [os.dup(1), os.dup(2)], threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        streams.restore()
        assert modes(files) == [0] * 2
        stop.set()
        thread.join()
        assert len(copy) == 2
        return
    elif kind == "forked":
        left = os.fork()
        if left == 0:
            time.sleep(60)
            os._exit(0)
    else:
        # The shell has ended: what it leaves is nobody's child here.
        place = folder / "left"
        subprocess.run(["sh", "-c", f"sleep 60 & echo $! >'{place}'"], check=True)
        left = int(place.read_text())
    try:
        streams.restore()
        assert modes(files) == [0] * 2
    finally:
        os.kill(left, signal.SIGKILL)


def run(*arguments: str) -> None:
    found = subprocess.run(
        [sys.executable, __file__, *arguments], stderr=subprocess.PIPE, text=True, timeout=60,
        stdout=subprocess.DEVNULL,
    )
    assert found.returncode == 0, found.stderr


def test_own_files_serve_again(tmp_path: Path) -> None:
    run(str(tmp_path))


@pytest.mark.parametrize("kind", ["child", "orphan", "forked", "thread"])
def test_own_files_that_a_process_has_open_are_given_up(tmp_path: Path, kind: str) -> None:
    run(str(tmp_path), kind)


if __name__ == "__main__":
    # Standard error shows no more than the end: the streams have taken it.
    told = os.dup(2)
    try:
        if len(sys.argv) > 2:
            give_up(Path(sys.argv[1]), sys.argv[2])
        else:
            serve_again(Path(sys.argv[1]))
    except BaseException as error:
        os.write(told, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
