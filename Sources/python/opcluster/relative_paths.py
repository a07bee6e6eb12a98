"""Names and paths that stay in the folder where they begin, whoever wrote them. Pure.

The coordinator refuses others as well; here whoever wrote one learns which.
"""

from __future__ import annotations

from opcluster import limits


def check_file_name(name: str) -> None:
    """Accepts the name by which an operation is given a file, or leaves one.

    :raises ValueError: for another; says why.
    """
    if "/" in name:
        raise ValueError(f"{_shown(name)} cannot be the name of a file: it has a '/'")
    check_relative_path(name)


def check_relative_path(path: str) -> None:
    """Accepts names with ``/`` between them.

    :raises ValueError: for another; says why.
    """
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{_shown(path)} is no UTF-8; rename it, or put it into an archive"
        ) from None
    names = encoded.split(b"/")
    if any(name in (b"", b".", b"..") or b"\0" in name for name in names):
        raise ValueError(f"{_shown(path)} cannot be the name of a file")
    if (
        any(len(name) > limits.FILE_NAME_BYTES for name in names)
        or len(encoded) > limits.RELATIVE_PATH_BYTES
        or len(names) > limits.PATH_DEPTH
    ):
        raise ValueError(
            f"{_shown(path)} is too long: a name of a file has at most {limits.FILE_NAME_BYTES} "
            f"bytes, a path {limits.RELATIVE_PATH_BYTES} and {limits.PATH_DEPTH} names; put it "
            "into an archive"
        )


def _shown(text: str) -> str:
    """Without what would steer a terminal, and not too long for a line."""
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:60]}…{shown[-10:]}"
