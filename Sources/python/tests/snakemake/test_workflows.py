"""Snakemake's own tests of executors, and what they do not ask: failures, retries, resources, a
coordinator that dies, and Ctrl-C. Needs ``opcoord`` and ``opworker`` in PATH, or a cluster that
`opbatch` would find."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest

snakemake_tests = pytest.importorskip("snakemake.common.tests")

from opcluster import Cluster, selections  # noqa: E402
from opcluster.operations import PRIORITIES  # noqa: E402
from snakemake_executor_plugin_opcluster import ExecutorSettings, _priority  # noqa: E402


class TestWorkflows(snakemake_tests.TestWorkflowsLocalStorageBase):  # type: ignore[misc,name-defined]
    """The harness of Snakemake: a simple workflow and one of groups."""

    __test__ = True

    def get_executor(self) -> str:
        return "opcluster"

    def get_executor_settings(self) -> Optional[ExecutorSettings]:
        return ExecutorSettings()

    def get_assume_shared_fs(self) -> bool:
        return True


class OwnCluster:
    """A coordinator that can be killed, and a worker with two licenses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"ipc://{folder}/client"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.coordinator = self.serve()
        self.start(
            "opworker", "serve", "--allow-root", "--coordinator", f"ipc://{folder}/worker",
            "--cpus", "4", "--resource", "license=2",
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Starts a program that the end of the test ends."""
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def serve(self) -> subprocess.Popen[bytes]:
        """Starts the coordinator on its journal."""
        return self.start(
            "opcoord", "serve", "--allow-root", "--client", self.address, "--worker",
            f"ipc://{self.folder}/worker", "--state", f"{self.folder}/state",
        )

    def close(self) -> None:
        """Ends all of it, the workers first."""
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture
def cluster() -> Iterator[OwnCluster]:
    """A cluster of this test; its sockets need a short path."""
    with tempfile.TemporaryDirectory() as folder:
        own = OwnCluster(Path(folder))
        try:
            yield own
        finally:
            own.close()


def run(folder: Path, snakefile: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a workflow to its end."""
    (folder / "Snakefile").write_text(snakefile)
    return subprocess.run(
        command(*options), cwd=folder, text=True, capture_output=True, timeout=300, check=False
    )


def command(*options: str) -> list[str]:
    """The words of a run."""
    return [
        sys.executable, "-m", "snakemake", "--executor", "opcluster", "--jobs", "8",
        "--latency-wait", "5", *options,
    ]


def test_a_failure_names_its_reason_and_its_log(tmp_path: Path) -> None:
    ended = run(
        tmp_path, 'rule all:\n    output: "x"\n    shell: "echo it broke; exit 3"\n'
    )
    assert ended.returncode == 1
    assert "OpCluster " in ended.stderr and "opcluster_logs/all-" in ended.stderr
    logs = list((tmp_path / ".snakemake/opcluster_logs").iterdir())
    assert len(logs) == 1 and "it broke" in logs[0].read_text()


def test_retries_are_snakemakes(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    retries: 2\n    shell: "echo >> tries;'
        ' test $(wc -l < tries) -ge 3 && touch {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert len((tmp_path / "tries").read_text().splitlines()) == 3


def test_runtime_is_a_limit(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    resources: runtime="3s"\n    shell: "sleep 100"\n',
    )
    assert ended.returncode == 1
    assert "longer than its 'runtime'" in ended.stderr, ended.stderr


def test_resources_reach_the_cluster(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    threads: 2\n    resources: mem_mb=300\n'
        '    shell: "echo $OP_CPUS $OP_MEMORY_BYTES > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "x").read_text().split() == ["2", "550000000"]


def test_a_requirement_of_another_form_is_refused(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    resources: opcluster_require="fast"\n'
        '    shell: "touch x"\n',
    )
    assert ended.returncode == 1
    assert "is not KEY=VALUE" in ended.stderr + ended.stdout


def test_other_resources_and_priorities_reach_the_cluster(
    tmp_path: Path, cluster: OwnCluster
) -> None:
    # Two at once would need three licenses, and the second one would not get the folder.
    ended = run(
        tmp_path,
        'rule all:\n    input: "1", "2", "3"\n'
        'rule one:\n    output: "{n}"\n    wildcard_constraints: n="[0-9]"\n    priority: 5\n'
        '    resources: opcluster_resources="license=1.5"\n'
        '    shell: "mkdir one && sleep 1 && rmdir one && touch {output}"\n',
        "--opcluster-address", cluster.address,
    )
    assert ended.returncode == 0, ended.stderr
    with Cluster(cluster.address) as seen:
        rows = list(seen.rows(selections.of_graphs([1])))
    assert len(rows) == 3
    assert {row.priority for row in rows} == {PRIORITIES["high"]}


def test_priorities_are_levels() -> None:
    levels = [_priority(number) for number in (-3, 0, 7, sys.maxsize)]
    assert levels == ["low", "normal", "high", "very_high"]


@pytest.mark.parametrize("text", ["license", "=1", "license=many", "license=-1"])
def test_resources_of_another_form_are_refused(tmp_path: Path, text: str) -> None:
    ended = run(
        tmp_path,
        f'rule all:\n    output: "x"\n    resources: opcluster_resources="{text}"\n'
        '    shell: "touch x"\n',
    )
    assert ended.returncode == 1
    assert "is not NAME=AMOUNT" in ended.stderr + ended.stdout


def test_a_coordinator_that_dies_and_comes_back(tmp_path: Path, cluster: OwnCluster) -> None:
    (tmp_path / "Snakefile").write_text(
        'rule all:\n    input: expand("{n}.out", n=range(6))\n'
        'rule one:\n    output: "{n}.out"\n'
        '    shell: "echo >> {wildcards.n}.runs; sleep 4; touch {output}"\n'
    )
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(
            command("--opcluster-address", cluster.address), cwd=tmp_path, stdout=log, stderr=log
        )
    _until(lambda: len(list(tmp_path.glob("*.runs"))) >= 2)
    cluster.coordinator.kill()
    cluster.coordinator.wait()
    time.sleep(2)
    cluster.coordinator = cluster.serve()
    process.wait(timeout=120)
    assert process.returncode == 0, (tmp_path / "log").read_text()
    assert [len(file.read_text().splitlines()) for file in tmp_path.glob("*.runs")] == [1] * 6


def test_an_interrupt_ends_what_runs(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        'rule all:\n    output: "x"\n    shell: "echo $$ > pid; exec sleep 987"\n'
    )
    process = subprocess.Popen(
        command(), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    pid = tmp_path / "pid"
    _until(lambda: pid.exists() and pid.read_text().strip() != "")
    sleeping = int(pid.read_text())
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    _until(lambda: not os.path.exists(f"/proc/{sleeping}"))


def _until(is_so: object) -> None:
    assert callable(is_so)
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)
