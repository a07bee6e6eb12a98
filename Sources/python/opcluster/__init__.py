"""OpCluster for Python: operations, queues and functions over many machines."""

from __future__ import annotations

from opcluster.errors import Cancelled, OpClusterError
from opcluster.operation import Input, RunningOperation, current_operation, is_in_operation

__all__ = [
    "Cancelled",
    "Input",
    "OpClusterError",
    "RunningOperation",
    "current_operation",
    "is_in_operation",
]
