"""A connection to the cluster that a program means, and the cluster of its own if there is none."""

from __future__ import annotations

import threading

from opcluster import configuration
from opcluster.connection import Connection
from opcluster.local_cluster import LocalCluster
from opcluster.operation import current_operation, is_in_operation


class ClusterAccess:
    """Owns a connection, and perhaps the local cluster behind it."""

    def __init__(self, connection: Connection, local: LocalCluster | None) -> None:
        self.connection = connection
        self._local = local
        self._is_released = False
        self._has_ended = threading.Event()
        self._lock = threading.RLock()

    @classmethod
    def find(
        cls, address: str | None, *, keys: str | None = None, programs: str | None = None
    ) -> ClusterAccess:
        """Connects to the named cluster, the configured one, or one of our own.

        Inside an operation it is the cluster that runs it.

        :raises ConnectionFailed: if there is no way to one.
        """
        if address is None and is_in_operation() and current_operation().address:
            address = current_operation().address
        if address is None:
            address = configuration.address(keys)
        local = None
        if address is None:
            local = LocalCluster(programs=programs)
            address = local.address
        try:
            own = None
            if address.startswith("tcp://"):
                own = configuration.own_keys(
                    configuration.key_folder(keys, configuration.Surroundings())
                )
            return cls(Connection(address, own), local)
        except BaseException:
            if local is not None:
                local.close()
            raise

    def release(self) -> None:
        """Ends the connection and the local cluster, on a thread of its own. From any thread."""
        with self._lock:
            if self._is_released:
                return
            self._is_released = True
        threading.Thread(target=self._close, name="opcluster-end").start()

    def _close(self) -> None:
        try:
            self.connection.close()
            if self._local is not None:
                self._local.close()
        finally:
            self._has_ended.set()

    def join(self) -> None:
        """Waits for the end that `release` began, or that will begin."""
        self._has_ended.wait()
