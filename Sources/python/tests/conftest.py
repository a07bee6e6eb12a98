"""A cluster for the tests: real programs, named by OPCLUSTER_PROGRAMS or found in PATH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opcluster.errors import ConnectionFailed
from opcluster.executor import ClusterExecutor
from opcluster.local_cluster import LocalCluster

sys.path.insert(0, str(Path(__file__).parent))
os.environ.pop("OPBATCH_COORDINATOR", None)
PROGRAMS = os.environ.get("OPCLUSTER_PROGRAMS")


def new_cluster(cpus: int) -> LocalCluster:
    """A cluster of a test alone; the test is skipped where there are no programs."""
    try:
        return LocalCluster(cpus=cpus, programs=PROGRAMS)
    except ConnectionFailed as error:
        pytest.skip(f"OPCLUSTER_PROGRAMS names no folder of programs: {error}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    with new_cluster(cpus=4) as local:
        yield local


@pytest.fixture
def executor(cluster: LocalCluster) -> Iterator[ClusterExecutor]:
    with ClusterExecutor(cluster.address) as made:
        yield made
