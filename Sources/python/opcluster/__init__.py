"""OpCluster for Python: operations, queues and functions over many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opcluster.errors import (
    Cancelled,
    ConnectionFailed,
    DependencyFailed,
    OpClusterError,
    Refused,
    RemoteError,
    RemoteTraceback,
)
from opcluster.operation import Input, RunningOperation, current_operation, is_in_operation

if TYPE_CHECKING:
    from opcluster.executor import ClusterExecutor, ClusterFuture

__all__ = [
    "Cancelled",
    "ClusterExecutor",
    "ClusterFuture",
    "ConnectionFailed",
    "DependencyFailed",
    "Input",
    "OpClusterError",
    "Refused",
    "RemoteError",
    "RemoteTraceback",
    "RunningOperation",
    "current_operation",
    "is_in_operation",
]

#: What the interpreter at a worker does not need is imported with its first use.
_LATER = {"ClusterExecutor": "executor", "ClusterFuture": "executor"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(f"opcluster.{_LATER[name]}"), name)
    raise AttributeError(f"module 'opcluster' has no attribute '{name}'")
