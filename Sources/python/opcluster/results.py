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
        + f" {outcome}: {diagnostic or reason(row)}"
    )


#: What an attempt ended by, where it left no words of its own.
_CAUSES: dict[words.FailureCause, str] = {
    words.FAILURE_CAUSE_TIMEOUT: "it ran into its timeout",
    words.FAILURE_CAUSE_OUT_OF_MEMORY: "it ran out of memory",
    words.FAILURE_CAUSE_LOST: "its worker was lost",
    words.FAILURE_CAUSE_CANNOT_START: "it could not be started",
    words.FAILURE_CAUSE_BAD_ARGUMENT: "its argument could not be decoded",
    words.FAILURE_CAUSE_UNKNOWN_TYPE: "its worker knows no such operation type",
    words.FAILURE_CAUSE_MISSING_INPUT: "an output that it needs is absent",
    words.FAILURE_CAUSE_INPUT_UNAVAILABLE: "no worker has an output that it needs",
    words.FAILURE_CAUSE_STORE_FULL: "its worker's store had no room",
    words.FAILURE_CAUSE_BAD_OUTPUT: "its outputs are too large or malformed",
    words.FAILURE_CAUSE_WORKER_STOPPED: "its worker was stopped",
}


def reason(row: client.OperationRow) -> str:
    """Why an ended operation did not succeed, in words."""
    if row.HasField("reason"):
        match row.reason.kind:
            case words.CancelReason.KIND_REQUEST:
                return row.reason.text or "somebody asked for it"
            case words.CancelReason.KIND_DEPENDENCY:
                other = row.reason.dependency
                place = f"{other.graph}/{other.index}"
                return f"operation {place}, on which it depends, did not succeed"
            case words.CancelReason.KIND_FAILURE_POLICY:
                return "another operation of its graph failed"
    results = row.result
    cause = results.cause[0] if results.cause else words.FAILURE_CAUSE_UNSPECIFIED
    if cause == words.FAILURE_CAUSE_FAILED and results.exit_status:
        return f"exit status {results.exit_status[0]}"
    if cause == words.FAILURE_CAUSE_SIGNAL and results.signal:
        return f"killed by signal {results.signal[0]}"
    if row.outcome == words.OUTCOME_LOST:
        return _CAUSES[words.FAILURE_CAUSE_LOST]
    return _CAUSES.get(cause, "see its log")


def outcome_exception(row: client.OperationRow) -> BaseException:
    """Why an operation has no result."""
    output = row.result.output[0] if row.result.output else b""
    diagnostic = row.result.diagnostic[0] if row.result.diagnostic else ""
    return remote_exception(output, diagnostic, row)
