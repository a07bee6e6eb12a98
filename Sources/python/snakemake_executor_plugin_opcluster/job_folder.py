"""What happens in the folder of a job at a worker that does not have the folder of the workflow.

This file travels to the worker, where the plugin need not be installed: it uses nothing but Python.

    python job_folder.py lay DESCRIPTION      # before the job
    python job_folder.py collect DESCRIPTION  # after it
    python job_folder.py logs DESCRIPTION     # after it has failed
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tarfile
from typing import Any

#: The names of what travels to the worker, in ``$OP_INPUTS``.
SOURCES, INPUTS, ARCHIVE, DESCRIPTION = "sources", "inputs", "archive", "job.json"
#: The folder of what the job leaves, in its own; a file in it that is always there; an archive.
FOLDER, MARK, PACKED = ".opcluster_left", ".opcluster_end", ".opcluster_left.tar"
#: Files that travel one by one, and bytes of their names; more are an archive.
MOST_FILES, MOST_NAMES = 400, 24_000
#: FICLONE
_CLONE = 0x40049409
#: What a name costs besides its bytes: a digest, a size, the names of fields.
_NAME = 64


class Trouble(Exception):
    """What a job reads or leaves cannot travel, with the reason."""


def must_be_packed(paths: list[str]) -> bool:
    """Whether files are too many to travel one by one."""
    names = sum(len(os.fsencode(path)) + _NAME for path in paths)
    return len(paths) > MOST_FILES or names > MOST_NAMES


def tree(path: str) -> tuple[list[str], list[str]]:
    """The files below a path, and folders that have nothing in them; links are followed.

    :raises Trouble: for a link to nothing or around in a circle, and what is neither file nor
        folder.
    :raises OSError: if a folder cannot be read.
    """
    files: list[str] = []
    empty: list[str] = []
    _add_tree(path, files, empty, [])
    return files, empty


def _add_tree(path: str, files: list[str], empty: list[str], above: list[str]) -> None:
    if os.path.isfile(path):
        files.append(path)
        return
    if not os.path.exists(path):
        raise Trouble(f"'{path}' is a link to nothing" if os.path.islink(path) else
                      f"there is no '{path}'")
    if not os.path.isdir(path):
        raise Trouble(f"'{path}' is neither a file nor a folder")
    real = os.path.realpath(path)
    if real in above:
        raise Trouble(f"'{path}' is a link to a folder that it lies in")
    names = sorted(os.listdir(path))
    if not names:
        empty.append(path)
    for name in names:
        _add_tree(os.path.join(path, name), files, empty, [*above, real])


def pack(archive: str, files: list[str], folders: list[str], start: str = ".") -> None:
    """Makes an archive of files and empty folders, with their paths from `start`; no links."""
    with tarfile.open(archive, "w", dereference=True) as packed:
        for path in (*folders, *files):
            packed.add(path, arcname=os.path.relpath(path, start), recursive=False)


def unpack(archive: str, folder: str, *, skips_links: bool = False) -> None:
    """Lays an archive into a folder; nothing of it can leave the folder.

    :param skips_links: whether links that lead out of it are left out, instead of being an error.
    :raises tarfile.TarError: if it is none, or something in it would.
    :raises Trouble: likewise, by an older interpreter.
    """
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):

            def inside(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
                try:
                    return tarfile.data_filter(member, path)
                except tarfile.FilterError:
                    if skips_links and (member.issym() or member.islnk()):
                        return None
                    raise

            packed.extractall(folder, filter=inside)
            return
        # Python before 3.11.4.
        for member in packed.getmembers():
            names = member.name.split("/")
            if not (member.isfile() or member.isdir()) or ".." in names or names[0] == "":
                raise Trouble(f"'{member.name}' cannot be unpacked safely; use a newer Python")
        packed.extractall(folder)


def copy(file: str, target: str) -> None:
    """Copies a file with its permissions; its bytes are shared where the file system can do that.

    :raises OSError: if it cannot.
    """
    with open(file, "rb") as source, open(target, "xb") as made:
        try:
            fcntl.ioctl(made, _CLONE, source.fileno())
        except OSError:
            shutil.copyfileobj(source, made, 1 << 20)
    shutil.copymode(file, target)


def lay(inputs: str) -> None:
    """Lays what has travelled into the current folder, as files that the job may change."""
    for name in (SOURCES, ARCHIVE):
        archive = os.path.join(inputs, name)
        if os.path.exists(archive):
            unpack(archive, ".", skips_links=name == SOURCES)
    start = os.path.join(inputs, INPUTS)
    if not os.path.isdir(start):
        return
    for folder, _, names in os.walk(start):
        place = os.path.relpath(folder, start)
        # A link of the sources whose folder has not travelled.
        if os.path.islink(place) and not os.path.isdir(place):
            os.unlink(place)
        os.makedirs(place, exist_ok=True)
        for name in names:
            file = os.path.join(place, name)
            # Sources may have it already.
            if os.path.lexists(file):
                os.unlink(file)
            copy(os.path.join(folder, name), file)
            os.chmod(file, os.stat(file).st_mode | 0o200)


def collect(products: list[str]) -> None:
    """Moves what the job has left into one folder. Parents come before what lies in them.

    :raises Trouble: if something of it cannot travel.
    """
    os.mkdir(FOLDER)
    files: list[str] = []
    empty: list[str] = []
    for path in products:
        if not os.path.lexists(path):
            continue
        # A link leads elsewhere once it has been moved: what it leads to is moved in its place.
        found, folders = tree(path)
        # A folder that was protected could not be moved.
        for folder, _, _ in os.walk(path):
            os.chmod(folder, os.stat(folder).st_mode | 0o700)
        place = os.path.join(FOLDER, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if _has_links(path):
            _copy(path, place, found, folders)
        else:
            os.rename(path, place)
        files += (os.path.join(FOLDER, file) for file in found)
        empty += (os.path.join(FOLDER, folder) for folder in folders)
    if empty or must_be_packed(files):
        pack(PACKED, files, empty, FOLDER)
        shutil.rmtree(FOLDER)
        os.mkdir(FOLDER)
        os.rename(PACKED, os.path.join(FOLDER, PACKED))
    with open(os.path.join(FOLDER, MARK), "w", encoding="ascii"):
        pass


def _has_links(path: str) -> bool:
    if os.path.islink(path):
        return True
    return any(
        os.path.islink(os.path.join(folder, name))
        for folder, folders, names in os.walk(path)
        for name in (*folders, *names)
    )


def _copy(path: str, place: str, files: list[str], folders: list[str]) -> None:
    for file in files:
        target = os.path.normpath(os.path.join(place, os.path.relpath(file, path)))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        copy(file, target)
    for folder in folders:
        os.makedirs(os.path.normpath(os.path.join(place, os.path.relpath(folder, path))),
                    exist_ok=True)


def show_logs(logs: list[str]) -> None:
    """Writes what the rule has logged behind what the job has printed."""
    for path in logs:
        try:
            with open(path, "rb") as file:
                sys.stdout.buffer.write(b"--- " + os.fsencode(path) + b"\n")
                shutil.copyfileobj(file, sys.stdout.buffer)
        except OSError:
            pass


def main(words: list[str]) -> int:
    """Does one of the three; says what went wrong."""
    try:
        action, description = words
        if description == DESCRIPTION:
            with open(os.path.join(os.environ["OP_INPUTS"], DESCRIPTION), encoding="utf-8") as file:
                description = file.read()
        job: dict[str, Any] = json.loads(description)
        if action == "lay":
            lay(os.environ["OP_INPUTS"])
        elif action == "collect":
            collect(job["products"])
        else:
            show_logs(job["logs"])
    except (Trouble, OSError, tarfile.TarError) as error:
        print(f"OpCluster: the files of the job: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
