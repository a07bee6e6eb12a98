"""What became of a call, as a value or an exception."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from opcluster import calls
from opcluster.errors import RemoteError, RemoteTraceback
from opcluster.futures import ClusterFuture
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words



def end_as_cancelled(future: ClusterFuture[Any]) -> None:
    if not future._cancel_locally():
        future.set_exception(CancelledError("it was cancelled while it ran"))


def no_content(digest: bytes, size: int) -> bytes:
    raise RemoteError("its result lies in a store")


def unreadable(error: Exception) -> RemoteError:
    failure = RemoteError(f"its result cannot be read here: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def remote_exception(output: bytes, diagnostic: str, row: client.OperationRow) -> BaseException:
    """The exception of a failed call, with its traceback at the worker as its cause."""
    if output:
        try:
            error, text = calls.value(output, no_content)
            if isinstance(error, BaseException):
                error.__cause__ = RemoteTraceback(text)
                return error
        except Exception:
            pass
    outcome = words.Outcome.Name(row.outcome).removeprefix("OUTCOME_").lower().replace("_", " ")
    return RemoteError(
        f"operation {row.operation.graph}/{row.name}"
        + (f"/{row.index}" if row.HasField("index") else "")
        + f" {outcome}: {diagnostic or 'no reason is known'}"
    )


def outcome_exception(row: client.OperationRow) -> BaseException:
    """Why an operation has no result."""
    output = row.result.output[0] if row.result.output else b""
    diagnostic = row.result.diagnostic[0] if row.result.diagnostic else ""
    return remote_exception(output, diagnostic, row)
