"""What goes wrong, for callers: each error says what to do next."""

from __future__ import annotations


class OpClusterError(Exception):
    """Anything that this package reports."""


class Cancelled(BaseException):
    """The running operation was cancelled. Raised in its main thread, as KeyboardInterrupt is.

    A function that catches it may clean up, and should raise it again: an operation that ends by
    it has ended as cancelled.
    """


class BadCall(OpClusterError):
    """The argument of an operation names no function that can be called."""


class BadResult(OpClusterError):
    """What a function returned cannot be passed on."""


class RemoteTraceback(Exception):
    """The traceback of an exception as it was at the worker: the __cause__ of that exception."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class RemoteError(OpClusterError):
    """A call failed at the worker, and its exception could not be brought here."""


class DependencyFailed(OpClusterError):
    """A call did not run since a future among its arguments did not succeed (its __cause__)."""


class ConnectionFailed(OpClusterError):
    """There is no way to the coordinator."""


class Refused(OpClusterError):
    """The coordinator refused a request.

    :ivar code: the name of its code, such as ``BAD_REQUEST``.
    :ivar retry_after: seconds after which the same may be accepted; None: waiting does not help.
    :ivar hint: the next step, for people at a shell; may be empty.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.retry_after = retry_after
        self.code = code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.code, self.message, self.hint, self.retry_after)


class InitializerFailed(OpClusterError):
    """The initializer of an executor raised an exception in a process of a worker."""
