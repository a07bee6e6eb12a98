"""Files that commands read and leave. Looks at the submitter's files, and reads them."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opcluster import limits, trees
from opcluster.contents import FileContent
from opcluster.relative_paths import check_file_name, check_relative_path
from opcluster.v1 import submission_pb2 as words

#: By its name what an operation is given: a file, all files of a folder, those that match a
#: pattern, or files by their paths in the folder of this name.
Inputs = Mapping[str, str | os.PathLike[str] | Mapping[str, str]]

#: In place of a dependency: the file is the submitter's. No operation has this name.
SUBMITTER = "."


@dataclass(frozen=True)
class SubmittedFile:
    """A file of the submitter, as a command finds it: ``$OP_INPUTS/name``, or ``name/path``."""

    name: str
    path: str
    is_executable: bool
    content: FileContent


@dataclass(frozen=True)
class OutputFile:
    """A file that an operation has left."""

    #: As the command's `output_files` call it.
    name: str
    #: Its place in the folder of this name; empty: it is the file itself.
    path: str
    #: Bytes.
    size: int
    #: SHA-256, 32 bytes.
    digest: bytes
    is_executable: bool

    @property
    def mode(self) -> int:
        """The permissions with which it is written."""
        return (0o777 if self.is_executable else 0o666) & ~_umask()


def _umask() -> int:
    """The mask of this process. To set it, as `os.umask` does, would disturb other threads."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    return 0o077


class FileReader:
    """Makes the digests of files, and remembers them while the files seem to be the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], FileContent]] = {}

    def content(self, path: str) -> FileContent:
        """The content of a file.

        :raises OSError: if it cannot be read, or is no plain file.
        """
        before = _identity(os.stat(path))
        known = self._known.get(path)
        if known is not None and known[0] == before:
            return known[1]
        content = FileContent.of(path)
        # Otherwise it was written meanwhile, and is read again the next time.
        if _identity(os.stat(path)) == before:
            self._known[path] = (before, content)
        return content

    def read(self, inputs: Inputs) -> list[SubmittedFile]:
        """The files of `inputs`.

        :raises FileNotFoundError: if there is nothing at a path.
        :raises OSError: if a file cannot be read, or is no plain file.
        :raises ValueError: if they are too many for one operation, or for a name that no file has.
        """
        found: list[SubmittedFile] = []
        places: dict[tuple[str, str], str] = {}
        for name, place in inputs.items():
            check_file_name(name)
            pairs = place.items() if isinstance(place, Mapping) else _search(os.fspath(place))
            for path, file in pairs:
                if path:
                    check_relative_path(path)
                if len(found) == limits.CONTENTS_PER_OPERATION:
                    raise ValueError(
                        f"more than {limits.CONTENTS_PER_OPERATION} files for one operation; put "
                        "them into an archive"
                    )
                other = places.setdefault((name, path), file)
                if other != file:
                    raise ValueError(
                        f"'{other}' and '{file}' would both be '{name}/{path}'; give one of them "
                        "another name"
                    )
                is_executable = bool(os.stat(file).st_mode & stat.S_IXUSR)
                found.append(SubmittedFile(name, path, is_executable, self.content(file)))
        return found


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return (
        state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
    )


def _search(place: str) -> Iterable[tuple[str, str]]:
    """Each file with its path in the folder of its name."""
    if not os.path.lexists(place):
        matches = sorted(glob.glob(place))
        if not matches:
            raise FileNotFoundError(f"there is no '{place}'")
        for match in matches:
            name = os.path.basename(match)
            for path, file in trees.files(match):
                yield (f"{name}/{path}" if path else name, file)
        return
    found = list(trees.files(place))
    if not found:
        raise FileNotFoundError(f"the folder '{place}' has no files")
    yield from found


def outputs(files: Iterable[SubmittedFile]) -> bytes:
    """Files of the submitter, as the output of something before the operation."""
    return words.Outputs(
        contents=[
            words.Content(
                digest=file.content.digest,
                size=file.content.size,
                file=file.name,
                path=file.path,
                is_executable=file.is_executable,
            )
            for file in files
        ]
    ).SerializeToString()


def output_files(output: bytes) -> list[OutputFile]:
    """The files among what an operation left.

    :raises ValueError: if one would lie outside of its folder.
    """
    found = []
    for content in words.Outputs.FromString(output).contents:
        if not content.file:
            continue
        names = content.path.split("/") if content.path else []
        if any(name in ("", ".", "..") or "\0" in name for name in names):
            raise ValueError(f"'{content.path}' is no path of an output file")
        found.append(
            OutputFile(
                content.file, content.path, content.size, content.digest, content.is_executable
            )
        )
    return found
