"""Futures among the arguments of a call: what stands for them in its pickle.

A future that has not ended is pickled as a call of `resolve` with a token of 16 bytes. Before the
call is submitted, the client puts the number of the operation in the token's place (`located`);
the interpreter gets the value of that dependency when it unpickles.
"""

from __future__ import annotations

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
    return operation.input_of(graph or operation.graph, index).value
