"""What an operation of the type ``python`` calls, and what it leaves, as bytes. Pure."""

from __future__ import annotations

import base64
import importlib
import json
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opcluster import limits
from opcluster.errors import BadCall, BadResult, InitializerFailed
from opcluster.v1 import submission_pb2 as words

PICKLE_NAME: Final = "pickle"
JSON_NAME: Final = "python"
#: The newest protocol of pickles that all supported interpreters read.
PICKLE_PROTOCOL: Final = 5

_VERSION: Final = (sys.version_info.major, sys.version_info.minor)
#: Is in the pickle of a function that does not come from a module.
_COMPILED: Final = b"_make_function"
_PICKLE_START: Final = 0x80
_OBJECT_START: Final = ord("{")


@dataclass(frozen=True)
class Function:
    """What the payload of a template names."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the function itself was pickled: then its results are, too.
    is_pickled: bool = False
    #: Folders of the submitter's ``sys.path``.
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """One call, ready to be made."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    #: Whether the result is left as a pickle, else as JSON.
    is_pickled: bool


def payload(
    function: str | bytes,
    *,
    interpreter: str | None = None,
    venv: str | None = None,
    arguments: list[Any] | None = None,
    keywords: Mapping[str, Any] | None = None,
    paths: tuple[str, ...] = (),
    pool: str | None = None,
) -> bytes:
    """The payload of a template: a JSON object.

    :param function: ``module:name``, or the cloudpickle of a function.
    :raises ValueError: beyond 256 KiB.
    """
    value: dict[str, Any] = {}
    if venv is not None:
        value["venv"] = venv
    elif interpreter is not None:
        value["interpreter"] = interpreter
    if isinstance(function, str):
        value["function"] = function
    else:
        value["pickle"] = base64.b64encode(function).decode("ascii")
        value["version"] = list(_VERSION)
    if arguments:
        value["arguments"] = arguments
    if keywords:
        value["keywords"] = dict(keywords)
    if paths:
        value["paths"] = list(paths)
    if pool is not None:
        value["pool"] = pool
    encoded = json.dumps(value, separators=(",", ":")).encode()
    if len(encoded) > limits.PAYLOAD_BYTES:
        raise ValueError(
            f"the function, with what it refers to, has {len(encoded)} bytes, more than "
            f"{limits.PAYLOAD_BYTES}; put it into a module that the workers can import, and pass "
            "large data by the name of a file"
        )
    return encoded


def function(payload: bytes, use_paths: Callable[[tuple[str, ...]], None]) -> Function:
    """Reads a payload and imports, or unpickles, its function.

    :param use_paths: is given the submitter's folders of modules, before anything is imported.
    :raises BadCall: if there is no such function, or the payload is not understood.
    """
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise BadCall(f"its argument is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadCall("its argument is no JSON object with 'function' or 'pickle'")
    arguments, keywords = value.get("arguments") or [], value.get("keywords") or {}
    paths = value.get("paths") or []
    if not isinstance(arguments, list) or not isinstance(keywords, dict):
        raise BadCall("'arguments' must be a list, and 'keywords' an object")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise BadCall("'paths' must be a list of folders")
    use_paths(tuple(paths))
    pickled = value.get("pickle")
    if isinstance(pickled, str):
        found, is_pickled = _unpickled(pickled, value.get("version")), True
    elif isinstance(value.get("function"), str):
        found, is_pickled = imported(value["function"]), False
    else:
        raise BadCall("it names no function; write 'function': 'module:name'")
    return Function(found, tuple(arguments), keywords, is_pickled, tuple(paths))


def imported(name: str) -> Callable[..., Any]:
    """The function of this name, ``package.module:qualified.name``.

    :raises BadCall: if it cannot be imported.
    """
    module_name, colon, qualified = name.partition(":")
    if not module_name or not colon or not qualified:
        raise BadCall(f"'{name}' names no function; write MODULE:NAME")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise BadCall(
            f"cannot import '{module_name}', of the function '{name}': "
            f"{type(error).__name__}: {error}"
        ) from error
    for part in qualified.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise BadCall(f"there is no '{qualified}' in the module '{module_name}'") from error
    if not callable(found):
        raise BadCall(f"'{name}' cannot be called: it is of the type {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def _unpickled(text: str, version: Any) -> Callable[..., Any]:
    try:
        pickled = base64.b64decode(text)
    except ValueError as error:
        raise BadCall(f"'pickle' is no base64: {error}") from error
    # Compiled code means something else in another version, and may crash it.
    if _COMPILED in pickled and isinstance(version, list) and tuple(version) != _VERSION:
        raise BadCall(
            f"its function was compiled by Python {'.'.join(map(str, version))}, and this is "
            f"{'.'.join(map(str, _VERSION))} ({sys.executable}); name an interpreter of that "
            "version, or put the function into a module that it can import"
        )
    try:
        found = pickle.loads(pickled)
    except Exception as error:
        raise BadCall(
            f"cannot unpickle its function: {type(error).__name__}: {error}{_advice(error)}"
        ) from error
    if not callable(found):
        raise BadCall(f"its pickle is no function: it is of the type {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def _advice(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return "; install that module where the workers' interpreter finds it"
    return ""


def call(
    known: Function | None, argument: bytes, use_paths: Callable[[tuple[str, ...]], None]
) -> Call:
    """The call that an element's own argument and the function of its template make.

    :param known: of the template; None: the element's argument says all.
    :param argument: empty, a pickle of the pair of arguments and keywords, or a JSON object.
    :raises BadCall: if it is none of these, or cannot be unpickled here.
    """
    if not argument:
        if known is None:
            raise BadCall("it names no function; write 'function': 'module:name'")
        return Call(known.function, known.arguments, known.keywords, known.is_pickled)
    if argument[0] == _OBJECT_START:
        own = function(argument, use_paths)
        return Call(own.function, own.arguments, own.keywords, own.is_pickled)
    if argument[0] != _PICKLE_START or known is None:
        raise BadCall("its argument is neither a JSON object nor a pickle")
    try:
        arguments, keywords = pickle.loads(argument)
    except BadCall:
        raise
    except Exception as error:
        raise BadCall(
            f"cannot unpickle its arguments: {type(error).__name__}: {error}{_advice(error)}"
        ) from error
    return Call(known.function, arguments, keywords, True)


def pickled(value: Any) -> bytes:
    """The pickle of a value, of functions and classes without a module of their own as well.

    :raises Exception: whatever the value's own methods raise, if it cannot be pickled.
    """
    try:
        return pickle.dumps(value, PICKLE_PROTOCOL)
    except Exception:
        # Most values need no more than that; cloudpickle takes ten times as long.
        import cloudpickle

        return cloudpickle.dumps(value, PICKLE_PROTOCOL)  # type: ignore[no-any-return]


_NONE_PICKLED: Final = pickle.dumps(None, PICKLE_PROTOCOL)


@dataclass(frozen=True)
class Result:
    """What a call left: the name of the form, the bytes, and fields for commands."""

    type_name: str
    value: bytes
    fields: tuple[tuple[str, str], ...] = ()

    def encoded(self, files: Sequence[words.Content] = ()) -> bytes:
        """The output of the operation, an encoded ``Outputs``; of any size."""
        return words.Outputs(
            key=[key for key, _ in self.fields],
            value=[value for _, value in self.fields],
            type_name=self.type_name,
            typed_value=self.value,
            contents=files,
        ).SerializeToString()

    def referring(self, size: int, files: Sequence[words.Content] = ()) -> bytes:
        """The output if the value is a content, of this size; its digest is left open."""
        return words.Outputs(
            key=[key for key, _ in self.fields],
            value=[value for _, value in self.fields],
            type_name=self.type_name,
            # Values are named before files.
            contents=[words.Content(digest=bytes(32), size=size), *files],
            value_at=1,
        ).SerializeToString()


#: Of a call that returned nothing.
NOTHING: Final = Result("", b"")


def result(value: Any, is_pickled: bool) -> Result | None:
    """What is left of a returned value; None: nothing.

    :raises BadResult: if it cannot be pickled, or is no JSON.
    """
    if value is None:
        return None
    if is_pickled:
        try:
            return Result(PICKLE_NAME, pickled(value))
        except Exception as error:
            raise BadResult(
                f"its result, of the type {type(value).__name__}, cannot be pickled: "
                f"{type(error).__name__}: {error}"
            ) from error
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return Result(JSON_NAME, text.encode(), _fields(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadResult(
            f"its result, of the type {type(value).__name__}, is no JSON: {error}; "
            "return numbers, texts, lists and dictionaries"
        ) from error


def _fields(value: Any) -> tuple[tuple[str, str], ...]:
    """The texts, numbers and truth values directly in an object."""
    if not isinstance(value, dict):
        return ()
    fields = []
    room = limits.OUTPUT_BYTES // 4
    for key, item in value.items():
        if isinstance(item, str):
            text = item
        elif isinstance(item, (bool, int, float)):
            text = json.dumps(item)
        else:
            continue
        size = len(text.encode())
        room -= size + len(str(key).encode()) + 8
        if size <= limits.OUTPUT_FIELD_BYTES and room >= 0:
            fields.append((str(key), text))
    return tuple(fields)


def value(output: bytes, content: Callable[[bytes, int], bytes]) -> Any:
    """The value of an output: what the function returned, or the fields of a command.

    :param content: gives the bytes of a content by its digest and size.
    :raises BadResult: if it is not understood.
    """
    if not output:
        return None
    try:
        opened = words.Outputs.FromString(output)
    except Exception as error:
        raise BadResult("the output is not understood") from error
    return opened_value(opened, content)


def opened_value(opened: words.Outputs, content: Callable[[bytes, int], bytes]) -> Any:
    """As `value`, of a decoded output."""
    found = opened.typed_value
    if opened.value_at:
        if opened.value_at > len(opened.contents):
            raise BadResult("the output names a content that it does not have")
        place = opened.contents[opened.value_at - 1]
        found = content(place.digest, place.size)
    if opened.type_name == PICKLE_NAME:
        return pickle.loads(found)
    if opened.type_name or found:
        return json.loads(found) if found else None
    return dict(zip(opened.key, opened.value)) if opened.key else None


def clipped(text: str, size: int = limits.DIAGNOSTIC_BYTES) -> str:
    """The beginning of a text, in at most so many bytes."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= size:
        return encoded.decode()
    return encoded[: size - 3].decode("utf-8", "ignore") + "..."


def exception_pickle(error: BaseException, text: str) -> bytes:
    """An output that holds an exception and its traceback; empty if it cannot be brought so."""
    try:
        pair = pickled((error, text))
        if len(pair) > limits.EXCEPTION_BYTES:
            pair = pickled((error, "..." + text[-4096:]))
    except Exception:
        return b""
    if len(pair) > limits.EXCEPTION_BYTES:
        return b""
    return Result(PICKLE_NAME, pair).encoded()


def apply(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Any:
    """Calls what came with the arguments: a bound method, a partial function, any callable."""
    return function(*arguments, **keywords)


class Chunk:
    """Calls a function for each entry of a list, and returns the list of what it returned."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, entries: list[tuple[Any, ...]]) -> list[Any]:
        function = self.function
        return [function(*entry) for entry in entries]


class Initialized:
    """A function before whose first call in each process an initializer is called."""

    _done: dict[str, BaseException | None] = {}

    def __init__(
        self,
        key: str,
        initializer: Callable[..., Any],
        arguments: tuple[Any, ...],
        function: Callable[..., Any],
    ) -> None:
        self.key = key
        self.initializer = initializer
        self.arguments = arguments
        self.function = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.key not in self._done:
            try:
                self.initializer(*self.arguments)
                self._done[self.key] = None
            except BaseException as error:
                self._done[self.key] = error
        problem = self._done[self.key]
        if problem is not None:
            raise InitializerFailed(f"{type(problem).__name__}: {problem}") from problem
        return self.function(*arguments, **keywords)
