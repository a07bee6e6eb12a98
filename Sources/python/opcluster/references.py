"""Futures among the arguments of a call: what stands for them in its pickle.

A future that has not ended is pickled as a call of `resolve` with a token of 16 bytes. Before the
call is submitted, the client puts the number of the operation in the token's place (`located`);
the interpreter gets the value of that dependency when it unpickles.

What is too large for a message lies in stores of workers, as contents by their digests: `opened` in
its place reads them.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
from typing import Any, Final

TOKEN_BYTES: Final = 16
_PLACE: Final = struct.Struct(">8sII")
_MARK: Final = b"\xa7opcl\x01\xd3\x8b"


def located(graph: int, operation: int) -> bytes:
    """What stands for an operation, as long as a token; graph 0: the graph of the call itself."""
    return _PLACE.pack(_MARK, graph, operation)


def resolve(place: bytes) -> Any:
    """The value of the dependency, in the process that runs the call."""
    from opcluster.errors import BadCall
    from opcluster.operation import current_operation

    if len(place) != TOKEN_BYTES or place[:8] != _MARK:
        raise BadCall("a future among its arguments was not submitted with it")
    _, graph, index = _PLACE.unpack(place)
    operation = current_operation()
    return operation.value_of(graph or operation.graph, index)


#: Digest and size of a content.
Place = tuple[bytes, int]


class Opening:
    """Is pickled as a call of `opened`."""

    def __init__(self, pickled: bytes | Place, buffers: tuple[Place, ...]) -> None:
        self._pickled = pickled
        self._buffers = buffers

    def __reduce__(self) -> tuple[Any, ...]:
        return opened, (self._pickled, self._buffers)


def opened(pickled: bytes | Place, buffers: tuple[Place, ...]) -> Any:
    """A value whose pickle, or whose buffers, lie in contents, in the process that runs the call.

    Buffers are the files of the contents, mapped into memory; what is written to them stays in
    this process.
    """
    found = pickled if isinstance(pickled, bytes) else _mapped(pickled)
    return pickle.loads(found, buffers=[_mapped(place) for place in buffers])


def _mapped(place: Place) -> mmap.mmap:
    from opcluster.errors import BadCall
    from opcluster.operation import current_operation

    digest, size = place
    descriptor = os.open(current_operation().content_path(digest), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_size != size:
            raise BadCall(f"the content {digest.hex()} has other than {size} bytes")
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
