"""The interpreter's side of functions of Python at a worker: ``-m opcluster.interpreter``.

The worker starts it with a socket as standard input, and sends it one attempt after the other.
The main thread takes orders and calls the functions. While one runs, a signal (SIGIO) tells of
what comes: the only thing that may come then is a cancellation, or the end of the worker.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import signal
import socket
import stat
import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from types import CoroutineType, FrameType
from typing import Any, Final

from opcluster import calls, columns, limits, operation, trees
from opcluster.errors import BadCall, BadResult, Cancelled
from opcluster.frames import FrameChannel, FrameError
from opcluster.relative_paths import check_file_name, check_relative_path
from opcluster.reports import Reports
from opcluster.streams import Streams
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2

_WAS_STOPPED: Final = b"\x01"
#: EX_USAGE: started by hand.
_USAGE_STATUS: Final = 64


class Template:
    """A template as the worker announced it, with its function once that was needed."""

    __slots__ = ("name", "first_index", "trace_parent", "payload", "_function", "_problem")

    def __init__(self, announcement: worker_pb2.TemplateAnnouncement) -> None:
        # Each look into a message costs more than one at an attribute.
        self.name = announcement.name
        self.first_index = announcement.first_index
        self.trace_parent = announcement.trace_parent
        self.payload = announcement.payload
        self._function: calls.Function | None = None
        self._problem: BadCall | None = None

    def function(self) -> calls.Function | None:
        """Its function; None: the payload is empty, an element's argument says all.

        :raises BadCall: each time, if there is none.
        """
        if self._problem is not None:
            raise self._problem
        if self._function is None and self.payload:
            try:
                self._function = calls.function(self.payload, use_paths)
            except BadCall as problem:
                self._problem = problem
                raise
        return self._function


class Templates:
    """The newest templates, by graph and number. Pure."""

    def __init__(self, limit: int = limits.TEMPLATES_PER_INTERPRETER) -> None:
        self._limit = limit
        self._known: OrderedDict[tuple[int, int], Template] = OrderedDict()

    def add(self, announcement: worker_pb2.TemplateAnnouncement) -> None:
        """Remembers a template, instead of an earlier one of the same number."""
        key = (announcement.graph, announcement.template)
        self._known.pop(key, None)
        self._known[key] = Template(announcement)
        if len(self._known) > self._limit:
            self._known.popitem(last=False)

    def find(self, graph: int, number: int) -> Template | None:
        """The template; None: it was never told, or long ago."""
        return self._known.get((graph, number))


def use_paths(paths: tuple[str, ...]) -> None:
    """Lets modules be imported from the submitter's folders, behind the interpreter's own."""
    for path in paths:
        if path not in sys.path:
            sys.path.append(path)


class LeftFiles:
    """The files that an attempt leaves: as second names where the worker looks for them, which
    reads them and names them by their digests."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        #: What the output says of them.
        self.contents: list[words.Content] = []

    def add(self, name: str, path: str) -> None:
        """As `RunningOperation.leave_file`."""
        check_file_name(name)
        with self._lock:
            if any(known.file == name for known in self.contents):
                raise ValueError(f"the operation has left a file '{name}' already")
            files = list(trees.files(path))
            if not files:
                raise FileNotFoundError(f"the folder '{path}' has no files")
            # A large value is one more.
            most = limits.CONTENTS_PER_OPERATION - 1
            if len(self.contents) + len(files) > most:
                raise ValueError(f"more than {most} files of one operation; leave an archive")
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            begin = len(self.contents)
            left: list[words.Content] = []
            try:
                for inner, file in files:
                    if inner:
                        check_relative_path(inner)
                    left.append(self._named(f"{self._folder}/{begin + len(left)}", file))
                    left[-1].file, left[-1].path = name, inner
            except BaseException:
                # All of it, or nothing: their places are those of the next ones.
                for place in range(begin, begin + len(files)):
                    try:
                        os.unlink(f"{self._folder}/{place}")
                    except FileNotFoundError:
                        pass
                raise
            self.contents += left

    def _named(self, place: str, file: str) -> words.Content:
        """Gives a file a second name."""
        state = os.stat(file)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", file)
        try:
            os.link(os.path.realpath(file), place)
        except OSError as error:
            # On another disk, of somebody else, or with too many names.
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK):
                raise
            with open(file, "rb") as source, open(place, "xb") as made:
                shutil.copyfileobj(source, made, 1 << 20)
        return words.Content(
            digest=bytes(32),
            size=state.st_size,
            is_executable=bool(state.st_mode & stat.S_IXUSR),
        )

    def remove(self) -> None:
        """Nobody looks at what came to nothing."""
        if self.contents or os.path.isdir(self._folder):
            shutil.rmtree(self._folder, ignore_errors=True)


class Interpreter:
    """Calls functions for the worker at the other end of a channel."""

    def __init__(
        self, channel: FrameChannel, scratch: str, tasks: str, streams: str | None = None
    ) -> None:
        self._channel = channel
        self._scratch = scratch
        self._tasks = tasks
        self._streams = Streams(streams)
        self._templates = Templates()
        self._address = ""
        self._may_keep = False
        self._reports = Reports()
        self._due: deque[tuple[Template | None, Dispatch]] = deque()
        # Cancelled before they began.
        self._cancelled: set[columns.AttemptKey] = set()
        self._running: operation.RunningOperation | None = None
        self._process = os.getpid()
        # Something has come that was not read, and whether that is read now.
        self._has_news = self._is_reading = False

    def run(self) -> None:
        """Serves until the worker has gone."""
        signal.signal(signal.SIGIO, self._notice)
        self._channel.own_signals()
        while True:
            while self._due:
                self._serve(*self._due.popleft())
            frame = self._channel.receive()
            if frame is None:
                return
            self._take(frame)

    def _notice(self, number: int, frame: FrameType | None) -> None:
        """Something came while a function runs. In the main thread."""
        if self._running is None or os.getpid() != self._process:
            return
        # A signal may come amid this: what it tells of is read behind what is being read.
        self._has_news = True
        if self._is_reading:
            return
        while self._has_news:
            self._is_reading, self._has_news = True, False
            try:
                if not self._channel.drain(self._take):
                    os._exit(0)
            finally:
                self._is_reading = False
        running = self._running
        if (running.graph, running.operation, running.attempt) in self._cancelled:
            running._cancel()

    def _take(self, frame: bytes) -> None:
        message = worker_pb2.CoordinatorMessage.FromString(frame)
        kind = message.WhichOneof("body")
        if kind == "orders":
            self._take_orders(message.orders)
        elif kind == "welcome":
            self._address = message.welcome.client_endpoint
            self._may_keep = message.welcome.takes_contents
        else:
            raise FrameError(f"a message that is not for interpreters: {kind}")

    def _take_orders(self, orders: worker_pb2.WorkerOrders) -> None:
        for announcement in orders.templates:
            self._templates.add(announcement)
        if orders.HasField("dispatches"):
            for dispatch in dispatches(orders.dispatches):
                found = self._templates.find(dispatch.attempt[0], dispatch.template)
                self._due.append((found, dispatch))
        if orders.HasField("cancels"):
            self._cancelled.update(columns.attempts(orders.cancels))

    # One attempt

    def _serve(self, template: Template | None, dispatch: Dispatch) -> None:
        graph, index, number = dispatch.attempt
        folder_name = f"{graph}.{index}.{number}"
        value_file = f"{self._tasks}/{folder_name}.{self._process}.value"
        left = LeftFiles(value_file + ".files")
        running = operation.RunningOperation(
            dispatch.attempt,
            name=template.name if template else "",
            index=index - template.first_index if template else 0,
            address=self._address,
            folder=f"{self._tasks}/{folder_name}.{self._process}",
            input_folder=f"{self._scratch}/inputs/{folder_name}",
            inputs=dispatch.inputs,
            submission_parent=template.trace_parent if template else "",
            run=dispatch.run,
            report=lambda fraction, text: self._tell(dispatch.attempt, fraction, text),
            leaves=left.add if self._may_keep else None,
        )
        started_at = int(time.time() * 1000)
        result: bytes | words.AttemptResults
        try:
            self._streams.redirect(f"{self._scratch}/{graph}/{index}.{number}")
        except OSError as error:
            result = failure(words.FAILURE_CAUSE_CANNOT_START, f"cannot make its log: {error}")
        else:
            result = self._attempt(running, template, dispatch, value_file, left)
        self._streams.restore()
        self._clean(running)
        duration = int(time.time() * 1000) - started_at
        self._channel.send(
            self._reports.finished(dispatch.attempt, result, started_at, duration)
        )

    def _clean(self, running: operation.RunningOperation) -> None:
        if self._cancelled and not self._due:
            self._cancelled.clear()
        if running._has_folder:
            shutil.rmtree(running._folder, ignore_errors=True)
        try:
            os.chdir(self._tasks)
        except OSError:
            pass

    def _attempt(
        self,
        running: operation.RunningOperation,
        template: Template | None,
        dispatch: Dispatch,
        value_file: str,
        left: LeftFiles,
    ) -> bytes | words.AttemptResults:
        """Calls the function; every end of it is a result: its output, or what went wrong."""
        is_kept = False
        operation._set_current(running)
        self._running = running
        try:
            try:
                # What came before this attempt was known to run.
                self._notice(0, None)
                running._is_armed = True
                running._raise_if_due()
                if template is None:
                    raise BadCall("its template was never told: the worker is of another release")
                call = calls.call(template.function(), dispatch.argument, use_paths)
                value = call.function(*call.arguments, **call.keywords)
                if type(value) is CoroutineType:
                    # Imported with its first use: it takes a third of the start of this process.
                    import asyncio

                    value = asyncio.run(value)
                result = calls.result(value, call.is_pickled)
            finally:
                running._is_armed = False
                self._running = None
            success = self._success(result, value_file, left.contents)
            is_kept = isinstance(success, bytes)
            return success
        except Cancelled as error:
            if running.is_cancelled:
                return words.AttemptResults(flags=_WAS_STOPPED, diagnostic_at=(0,),
                                            diagnostic=("it was cancelled",))
            return exception_result(error)
        except BadCall as error:
            return problem(words.FAILURE_CAUSE_BAD_ARGUMENT, error)
        except BadResult as error:
            return problem(words.FAILURE_CAUSE_BAD_OUTPUT, error)
        except BaseException as error:
            return exception_result(error)
        finally:
            operation._set_current(None)
            if not is_kept:
                left.remove()

    def _success(
        self, result: calls.Result | None, value_file: str, files: list[words.Content]
    ) -> bytes | words.AttemptResults:
        if result is None:
            if not files:
                return b""
            result = calls.NOTHING
        # Room for the names of the fields around the value.
        if len(result.value) <= limits.OUTPUT_BYTES:
            output = result.encoded(files)
            if len(output) <= limits.OUTPUT_BYTES:
                return output
        if not self._may_keep:
            return failure(
                words.FAILURE_CAUSE_BAD_OUTPUT,
                f"its result has {len(result.value)} bytes, more than {limits.OUTPUT_BYTES}, and "
                "here is no store for larger ones; leave it in a file and return the file's name",
            )
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(os.open(value_file, flags, 0o600), "wb") as file:
                file.write(result.value)
        except OSError as error:
            return failure(words.FAILURE_CAUSE_BAD_OUTPUT, f"its result was not kept: {error}")
        output = result.referring(len(result.value), files)
        if len(output) > limits.OUTPUT_BYTES:
            os.unlink(value_file)
            return failure(
                words.FAILURE_CAUSE_BAD_OUTPUT,
                f"the names of its files and fields have {len(output)} bytes, more than "
                f"{limits.OUTPUT_BYTES}; leave an archive",
            )
        return output

    def _tell(self, attempt: columns.AttemptKey, fraction: float, text: str) -> None:
        self._channel.send(self._reports.progress(attempt, fraction, text))


class Dispatch:
    """One attempt that the worker wants to have run."""

    __slots__ = ("attempt", "template", "argument", "inputs", "run")

    def __init__(
        self,
        attempt: columns.AttemptKey,
        template: int,
        argument: bytes,
        inputs: worker_pb2.DependencyInputs | None,
        run: int,
    ) -> None:
        self.run = run
        self.attempt = attempt
        self.template = template
        self.argument = argument
        self.inputs = inputs


def dispatches(found: worker_pb2.Dispatches) -> list[Dispatch]:
    """The attempts of orders. Dependencies belong to a message of one attempt."""
    attempts = columns.attempts(found.attempts)
    if len(attempts) == 1:
        # The usual case, without what goes through columns.
        return [
            Dispatch(
                attempts[0],
                found.template[0] if found.template else 0,
                found.argument[0] if found.argument else b"",
                found.inputs if found.HasField("inputs") else None,
                found.run[0] if found.run else 1,
            )
        ]
    templates = list(columns.runs(found.template, found.template_count))
    arguments = dict(zip(columns.positions(found.argument_at), found.argument))
    return [
        Dispatch(
            attempt,
            templates[at] if at < len(templates) else 0,
            arguments.get(at, b""),
            None,
            found.run[at] if at < len(found.run) else 1,
        )
        for at, attempt in enumerate(attempts)
    ]


def failure(cause: words.FailureCause, diagnostic: str) -> words.AttemptResults:
    """A result that says what went wrong."""
    return words.AttemptResults(
        cause=(cause,), diagnostic_at=(0,), diagnostic=(calls.clipped(diagnostic),)
    )


def problem(cause: words.FailureCause, error: BaseException) -> words.AttemptResults:
    """A result of what is wrong with a call or its result; the traceback goes to its log."""
    if error.__cause__ is not None:
        sys.stderr.write("".join(traceback.format_exception(error.__cause__)))
    return failure(cause, str(error))


def exception_result(error: BaseException) -> words.AttemptResults:
    """A result of an exception: its traceback goes to the log, the exception to the client."""
    # The outermost frame is this module's.
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
    try:
        text = "".join(traceback.format_exception(type(error), error, inner))
        summary = traceback.format_exception_only(type(error), error)[-1].strip()
    except Exception:
        text = summary = f"{type(error).__name__} (which cannot be shown)"
    if not text.endswith("\n"):
        text += "\n"
    try:
        sys.stderr.write(text)
    except Exception:
        pass
    result = failure(words.FAILURE_CAUSE_FAILED, summary)
    output = calls.exception_pickle(error, text)
    if output:
        result.output_at.append(0)
        result.output.append(output)
    return result


def take_channel() -> FrameChannel | None:
    """The socket that is standard input, which is empty from then on; None: it is no socket."""
    if not stat.S_ISSOCK(os.fstat(0).st_mode):
        return None
    connection = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.close(null)
    # A process that a function forks must not hold the worker's channel.
    os.register_at_fork(after_in_child=connection.close)
    return FrameChannel(connection)


def main(arguments: list[str]) -> int:
    """Serves the worker that started this process."""
    channel = take_channel()
    if len(arguments) not in (2, 3) or channel is None:
        sys.stderr.write("opcluster.interpreter: it is started by workers only\n")
        return _USAGE_STATUS
    # Its logs are read while it runs.
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True, errors="backslashreplace")
    serving = Interpreter(channel, *arguments)
    # What is here now stays to the end: collections need not look at it again.
    gc.freeze()
    serving.run()
    return 0


if __name__ == "__main__":
    # The module is imported by its name as well: functions must meet the same current operation.
    status = main(sys.argv[1:])
    if status == 0:
        os._exit(0)
    sys.exit(status)
