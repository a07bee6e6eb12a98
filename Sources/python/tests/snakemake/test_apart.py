"""Workflows on workers that do not have the folder of the workflow: Snakemake's own tests, and two
workers that find an empty folder where it is, each with a store of its own. The latter needs root,
or user namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest

snakemake_tests = pytest.importorskip("snakemake.common.tests")

from snakemake_executor_plugin_opcluster import ExecutorSettings  # noqa: E402

from opcluster import Cluster, selections  # noqa: E402

_CAN_HIDE = subprocess.run(
    ["unshare", "--map-root-user", "--mount", "true"], capture_output=True, check=False
).returncode == 0


class TestWorkflowsApart(snakemake_tests.TestWorkflowsLocalStorageBase):  # type: ignore[misc,name-defined]
    """The harness of Snakemake, without a shared file system and without a storage."""

    __test__ = True

    def get_executor(self) -> str:
        return "opcluster"

    def get_executor_settings(self) -> Optional[ExecutorSettings]:
        return ExecutorSettings(python=sys.executable)

    def get_assume_shared_fs(self) -> bool:
        return False


class ApartCluster:
    """A coordinator, and two workers to whom a folder is hidden."""

    def __init__(self, folder: Path, hidden: Path) -> None:
        self.address = f"ipc://{folder}/client"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.log = folder / "log"
        self._start(
            "opcoord", "serve", "--allow-root", "--client", self.address, "--worker",
            f"ipc://{folder}/worker", "--state", f"{folder}/state",
        )
        for number in (1, 2):
            self._start(
                "unshare", "--map-root-user", "--mount", "sh", "-c",
                'mount -t tmpfs none "$0" && exec "$@"', str(hidden), "opworker", "serve",
                "--allow-root", "--coordinator", f"ipc://{folder}/worker", "--cpus", "1",
                "--name", f"w{number}", "--scratch", f"{folder}/w{number}",
            )

    def _start(self, *words: str) -> None:
        with open(self.log, "ab") as log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log))

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """The folder of a workflow."""
    folder = tmp_path / "workflow"
    folder.mkdir()
    return folder


@pytest.fixture
def cluster(hidden: Path) -> Iterator[ApartCluster]:
    """Two workers that do not see it; their sockets need a short path."""
    if not _CAN_HIDE:
        pytest.skip("this account cannot make namespaces")
    with tempfile.TemporaryDirectory() as folder:
        own = ApartCluster(Path(folder), hidden)
        try:
            yield own
        finally:
            own.close()


def run(
    folder: Path, cluster: ApartCluster, snakefile: str, *options: str
) -> subprocess.CompletedProcess[str]:
    """Runs a workflow to its end. The workers have the same programs."""
    (folder / "Snakefile").write_text(snakefile)
    return subprocess.run(
        [
            sys.executable, "-m", "snakemake", "--executor", "opcluster", "--jobs", "8",
            "--latency-wait", "5", "--opcluster-address", cluster.address,
            "--shared-fs-usage", "software-deployment", *options,
        ],
        cwd=folder, text=True, capture_output=True, timeout=300, check=False,
    )


_PIPELINE = """
configfile: "settings/config.yaml"
SAMPLES = ["a", "b", "c"]
rule all:
    input: "report/all.txt", "plots"
rule count:
    input: "reads/{sample}.txt"
    output: "counts/{sample}.txt"
    log: "logs/{sample}.log"
    benchmark: "benchmarks/{sample}.txt"
    shell: "wc -w < {input} > {output} && echo counted > {log} && test ! -e reads/other.txt"
rule split:
    input: expand("counts/{sample}.txt", sample=SAMPLES)
    output: directory("parts"), directory("empty")
    shell: "mkdir -p {output} && cp {input} parts"
rule plot:
    input: "parts"
    output: directory("plots")
    script: "scripts/plot.py"
rule merge:
    input: expand("counts/{sample}.txt", sample=SAMPLES), "parts"
    output: "report/all.txt"
    params: greeting=config["greeting"]
    shell: "(echo {params.greeting}; cat counts/*.txt parts/*.txt) > {output}"
"""


def test_a_pipeline_on_workers_that_share_no_disk(hidden: Path, cluster: ApartCluster) -> None:
    for name, text in (
        ("reads/a.txt", "one two"), ("reads/b.txt", "one"), ("reads/c.txt", "1 2 3"),
        ("reads/other.txt", "nobody reads it"), ("settings/config.yaml", "greeting: hello\n"),
        (
            "scripts/plot.py",
            "import os, shutil\nos.makedirs(snakemake.output[0] + '/deep')\n"
            "for name in os.listdir(snakemake.input[0]):\n"
            "    if name.startswith('.'): continue\n"
            "    shutil.copy(f'{snakemake.input[0]}/{name}', f'{snakemake.output[0]}/deep/{name}')"
            "\n",
        ),
    ):
        (hidden / name).parent.mkdir(exist_ok=True)
        (hidden / name).write_text(text)
    ended = run(hidden, cluster, _PIPELINE)
    assert ended.returncode == 0, ended.stderr
    assert (hidden / "report/all.txt").read_text().split() == [
        "hello", "2", "1", "3", "2", "1", "3",
    ]
    assert sorted(os.listdir(hidden / "plots/deep")) == ["a.txt", "b.txt", "c.txt"]
    assert (hidden / "empty").is_dir()
    assert (hidden / "logs/a.log").read_text() == "counted\n"
    assert "s\t" in (hidden / "benchmarks/c.txt").read_text()
    assert not list(hidden.glob(".opcluster*"))
    # Both took part, and nothing has to be made again.
    with Cluster(cluster.address) as seen:
        rows = list(seen.rows(selections.of_graphs(range(1, 5))))
    assert len(rows) == 6
    again = run(hidden, cluster, _PIPELINE)
    assert again.returncode == 0 and "Nothing to be done" in again.stderr, again.stderr


def test_a_failed_job_shows_its_log_and_the_rules(hidden: Path, cluster: ApartCluster) -> None:
    ended = run(
        hidden, cluster,
        'rule all:\n    output: "x"\n    log: "rule.log"\n'
        '    shell: "echo said by the rule > {log}; echo it broke; exit 3"\n',
    )
    assert ended.returncode == 1
    assert "OpCluster " in ended.stderr
    logs = list((hidden / ".snakemake/opcluster_logs").iterdir())
    assert len(logs) == 1
    assert "it broke" in logs[0].read_text() and "said by the rule" in logs[0].read_text()
    assert not (hidden / "x").exists()


def test_thousands_of_files_travel_as_an_archive(hidden: Path, cluster: ApartCluster) -> None:
    ended = run(
        hidden, cluster,
        'rule all:\n    input: "sum"\n'
        'rule make:\n    output: directory("many")\n'
        '    shell: "mkdir many && for n in $(seq 1200); do echo $n > many/$n; done"\n'
        'rule sum:\n    input: "many"\n    output: "sum"\n'
        '    shell: "cat many/* | paste -sd+ | bc > {output} || (cat many/* | '
        'python3 -c \'import sys; print(sum(map(int, sys.stdin)))\' > {output})"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert len(os.listdir(hidden / "many")) == 1_200 + (
        1 if (hidden / "many/.snakemake_timestamp").exists() else 0
    )
    assert (hidden / "sum").read_text().strip() == str(1200 * 1201 // 2)


def test_groups_and_inputs_elsewhere(hidden: Path, cluster: ApartCluster) -> None:
    elsewhere = hidden.parent / "reference.txt"
    elsewhere.write_text("reference\n")
    ended = run(
        hidden, cluster,
        f'rule all:\n    input: "second"\n'
        f'rule first:\n    input: "{elsewhere}"\n    output: "first"\n    group: "both"\n'
        '    shell: "cp {input} {output}"\n'
        'rule second:\n    input: "first"\n    output: "second"\n    group: "both"\n'
        '    shell: "cat {input} {input} > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    # Both workers are on this machine, and find it.
    assert (hidden / "second").read_text() == "reference\n" * 2
    assert "does not travel: each worker needs it" in ended.stderr


def test_a_large_input_of_many_jobs(hidden: Path, cluster: ApartCluster) -> None:
    (hidden / "large").write_bytes(os.urandom(30_000_000))
    ended = run(
        hidden, cluster,
        'rule all:\n    input: expand("{n}.out", n=range(4))\n'
        'rule one:\n    input: "large"\n    output: "{n}.out"\n'
        '    shell: "sha256sum < {input} > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert len({(hidden / f"{n}.out").read_text() for n in range(4)}) == 1
