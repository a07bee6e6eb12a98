"""The files of folders. Looks at the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator


def files(place: str) -> Iterator[tuple[str, str]]:
    """A file, or each file below a folder, in order: its path from there (empty for the file
    itself), and where it is.

    :raises OSError: if a folder cannot be read.
    :raises ValueError: for a link to a folder, which may lead anywhere, and around.
    """
    if not os.path.isdir(place):
        yield "", place
        return
    for folder, folders, names in os.walk(place, onerror=_raise):
        folders.sort()
        for name in folders:
            if os.path.islink(os.path.join(folder, name)):
                raise ValueError(
                    f"'{os.path.join(folder, name)}' is a link to a folder; put it into an archive"
                )
        for name in sorted(names):
            file = os.path.join(folder, name)
            yield os.path.relpath(file, place), file


def _raise(error: OSError) -> None:
    raise error
