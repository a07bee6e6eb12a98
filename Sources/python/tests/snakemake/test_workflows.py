"""Snakemake's own tests of executors, and what they do not ask: failures, retries, resources and
Ctrl-C. Needs ``opcoord`` and ``opworker`` in PATH, or a cluster that `opbatch` would find."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

import pytest

snakemake_tests = pytest.importorskip("snakemake.common.tests")

from snakemake_executor_plugin_opcluster import ExecutorSettings  # noqa: E402


class TestWorkflows(snakemake_tests.TestWorkflowsLocalStorageBase):  # type: ignore[misc,name-defined]
    """The harness of Snakemake: a simple workflow and one of groups."""

    __test__ = True

    def get_executor(self) -> str:
        return "opcluster"

    def get_executor_settings(self) -> Optional[ExecutorSettings]:
        return ExecutorSettings()

    def get_assume_shared_fs(self) -> bool:
        return True


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
    assert (tmp_path / "x").read_text().split() == ["2", "500000000"]


def test_a_requirement_of_another_form_is_refused(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    resources: opcluster_require="fast"\n'
        '    shell: "touch x"\n',
    )
    assert ended.returncode == 1
    assert "is not KEY=VALUE" in ended.stderr + ended.stdout


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
