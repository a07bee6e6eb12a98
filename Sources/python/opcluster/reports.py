"""What an interpreter tells its worker of attempts, as bytes. Pure.

Making a message of many parts costs more than a short function, so that the usual one is kept.
"""

from __future__ import annotations

import itertools
from typing import Final

from opcluster import columns
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2

_FINISHED: Final = bytes([worker_pb2.WorkerReport.KIND_FINISHED])
_PROGRESS: Final = bytes([worker_pb2.WorkerReport.KIND_PROGRESS])
_CONVERSATION: Final = worker_pb2.Conversation(epoch=1, session=1, increment=1)


class Reports:
    """The reports of one interpreter, numbered."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._without_output = _Success(())
        self._with_output = _Success((b"",))

    def finished(
        self,
        attempt: columns.AttemptKey,
        result: bytes | words.AttemptResults,
        started_at: int,
        duration: int,
    ) -> bytes:
        """The end of an attempt. In the main thread.

        :param result: the output of a success, or what went wrong.
        :param started_at: milliseconds since 1970; `duration`: milliseconds.
        """
        number = next(self._numbers)
        if isinstance(result, bytes):
            kept = self._with_output if result else self._without_output
            return kept.encoded(number, attempt, result, started_at, duration)
        result.started_at_delta.append(started_at)
        result.ended_after.append(duration)
        return _end(number, attempt, result).SerializeToString()

    def progress(self, attempt: columns.AttemptKey, fraction: float, text: str) -> bytes:
        """How far an attempt is. In any thread."""
        report = worker_pb2.WorkerReport(
            conversation=_CONVERSATION,
            number=next(self._numbers),
            kinds=_PROGRESS,
            attempts=_attempt_columns(attempt),
            progress_fraction=(fraction,),
            progress_text=(text,),
        )
        return worker_pb2.WorkerMessage(report=report).SerializeToString()


class _Success:
    """The message of a success, kept with its columns: they are filled anew each time."""

    def __init__(self, output: tuple[bytes, ...]) -> None:
        results = words.AttemptResults(
            started_at_delta=(0,), ended_after=(0,), output=output, output_at=(0,) * len(output)
        )
        self._message = _end(0, (0, 0, 1), results)
        self._report = self._message.report
        attempts, results = self._report.attempts, self._report.results
        self._graph, self._index = attempts.operations.graph, attempts.operations.index_delta
        self._attempt, self._output = attempts.number, results.output
        self._started_at, self._duration = results.started_at_delta, results.ended_after

    def encoded(
        self,
        number: int,
        attempt: columns.AttemptKey,
        output: bytes,
        started_at: int,
        duration: int,
    ) -> bytes:
        self._report.number = number
        self._graph[0] = attempt[0]
        self._index[0] = columns.signed(attempt[1])
        self._attempt[0] = attempt[2]
        self._started_at[0] = started_at
        self._duration[0] = duration
        if output:
            self._output[0] = output
        return self._message.SerializeToString()


def _end(
    number: int, attempt: columns.AttemptKey, results: words.AttemptResults
) -> worker_pb2.WorkerMessage:
    results.count = 1
    report = worker_pb2.WorkerReport(
        conversation=_CONVERSATION,
        number=number,
        kinds=_FINISHED,
        attempts=_attempt_columns(attempt),
        result_at=(0,),
        results=results,
    )
    return worker_pb2.WorkerMessage(report=report)


def _attempt_columns(attempt: columns.AttemptKey) -> words.Attempts:
    """The columns of one attempt."""
    graph, index, number = attempt
    return words.Attempts(
        operations=words.Operations(
            graph=(graph,), count=(1,), index_delta=(columns.signed(index),)
        ),
        number=(number,),
    )
