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
    from opcluster.cluster import Cluster, Graph, OperationHandle, Queue
    from opcluster.events import Event
    from opcluster.executor import ClusterExecutor, ClusterFuture
    from opcluster.files import OutputFile
    from opcluster.operations import (
        INDEX,
        Call,
        Command,
        Join,
        Operation,
        PythonFunction,
        Settings,
    )

__all__ = [
    "Call",
    "Cancelled",
    "Cluster",
    "ClusterExecutor",
    "ClusterFuture",
    "Command",
    "ConnectionFailed",
    "current_operation",
    "DependencyFailed",
    "Event",
    "Graph",
    "INDEX",
    "Input",
    "is_in_operation",
    "Join",
    "OpClusterError",
    "Operation",
    "OperationHandle",
    "OutputFile",
    "PythonFunction",
    "Queue",
    "Refused",
    "RemoteError",
    "RemoteTraceback",
    "RunningOperation",
    "Settings",
]

#: What the interpreter at a worker does not need is imported with its first use.
_LATER = {
    **dict.fromkeys(("Cluster", "Graph", "OperationHandle", "Queue"), "cluster"),
    **dict.fromkeys(("ClusterExecutor", "ClusterFuture"), "executor"),
    **dict.fromkeys(
        ("INDEX", "Call", "Command", "Join", "Operation", "PythonFunction", "Settings"),
        "operations",
    ),
    "Event": "events",
    "OutputFile": "files",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(f"opcluster.{_LATER[name]}"), name)
    raise AttributeError(f"module 'opcluster' has no attribute '{name}'")
