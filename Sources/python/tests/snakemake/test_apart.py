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

from opcluster import Cluster, selections  # noqa: E402
from snakemake_executor_plugin_opcluster import ExecutorSettings  # noqa: E402

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
                "--allow-root", "--coordinator", f"ipc://{folder}/worker", "--cpus", "2",
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


def git(folder: Path, *files: str) -> None:
    """Makes a repository that knows these files."""
    for words in (("init", "-q"), ("add", *files)):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def test_outputs_that_are_updated_or_protected(hidden: Path, cluster: ApartCluster) -> None:
    (hidden / "history.txt").write_text("one\ntwo\n")
    ended = run(
        hidden, cluster,
        'rule all:\n    output: update("history.txt"), protected("kept"), touch("touched")\n'
        '    shell: "echo three >> history.txt; echo kept > kept"\n',
        "--forcerun", "all",
    )
    assert ended.returncode == 0, ended.stderr
    assert (hidden / "history.txt").read_text() == "one\ntwo\nthree\n"
    assert not os.stat(hidden / "kept").st_mode & 0o222
    assert (hidden / "touched").exists()


def test_a_job_may_change_what_it_reads(hidden: Path, cluster: ApartCluster) -> None:
    # With a link to the store each job would see what others have added.
    (hidden / "in").write_text("in\n")
    ended = run(
        hidden, cluster,
        'rule all:\n    input: expand("{n}.out", n=range(4))\n'
        'rule one:\n    input: "in"\n    output: "{n}.out"\n'
        '    shell: "echo {wildcards.n} >> {input}; cat {input} > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert [(hidden / f"{n}.out").read_text() for n in range(4)] == [
        f"in\n{n}\n" for n in range(4)
    ]
    assert (hidden / "in").read_text() == "in\n"


def test_inputs_that_are_sources_too(hidden: Path, cluster: ApartCluster) -> None:
    (hidden / "both.txt").write_text("both\n")
    (hidden / "other.txt").write_text("other\n")
    git(hidden, "both.txt")
    (hidden / "both.txt").write_text("changed\n")
    ended = run(
        hidden, cluster,
        'rule all:\n    input: "both.txt", "other.txt"\n    output: "out"\n'
        '    shell: "cat {input} > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert (hidden / "out").read_text() == "changed\nother\n"


def test_results_on_another_disk(hidden: Path, cluster: ApartCluster) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        (hidden / "results").symlink_to(other)
        ended = run(
            hidden, cluster,
            'rule all:\n    output: "results/deep/out", directory("results/all")\n'
            '    shell: "echo out > results/deep/out;'
            ' mkdir -p results/all; echo 1 > results/all/1"\n',
        )
        assert ended.returncode == 0, ended.stderr
        assert (Path(other) / "deep/out").read_text() == "out\n"
        assert (Path(other) / "all/1").read_text() == "1\n"
        assert sorted(os.listdir(other)) == ["all", "deep"]


def test_links_among_inputs_and_outputs(hidden: Path, cluster: ApartCluster) -> None:
    (hidden / "data/v2").mkdir(parents=True)
    (hidden / "data/v2/file").write_text("v2\n")
    (hidden / "data/current").symlink_to("v2")
    (hidden / "data/empty").mkdir()
    (hidden / "linked.txt").symlink_to("data/v2/file")
    ended = run(
        hidden, cluster,
        'rule all:\n    input: "use"\n'
        'rule link:\n    input: "linked.txt", "data"\n    output: "link", directory("tree")\n'
        '    shell: "test -d data/empty && ln -sr linked.txt link && mkdir -p tree/full'
        ' && cp data/current/file tree/full/file && ln -s full tree/linked && mkdir tree/none"\n'
        'rule use:\n    input: "link", "tree"\n    output: "use"\n'
        '    shell: "test -d tree/none && cat link tree/linked/file > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert (hidden / "use").read_text() == "v2\nv2\n"
    assert not (hidden / "link").is_symlink()


# Snakemake itself takes minutes for many outputs of many inputs.
@pytest.mark.parametrize(("count", "left"), [(350, 150), (950, 10)])
def test_many_inputs_with_long_names(
    hidden: Path, cluster: ApartCluster, count: int, left: int
) -> None:
    (hidden / "src").mkdir()
    (hidden / "in").mkdir()
    for n in range(count):
        (hidden / f"src/{n}").write_text("1\n")
        (hidden / f"in/{n}-{'x' * 150}").symlink_to(f"../src/{n}")
    ended = run(
        hidden, cluster,
        f'rule all:\n    input: expand("in/{{n}}-{"x" * 150}", n=range({count}))\n'
        f'    output: "sum", expand("out/{{n}}-{"y" * 100}", n=range({left}))\n'
        '    shell: "cat in/* | wc -l > sum; for n in $(seq 0 '
        + str(left - 1)
        + '); do echo $n > out/$n-' + "y" * 100 + '; done"\n',
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (hidden / "sum").read_text().strip() == str(count)
    assert len(os.listdir(hidden / "out")) == left


def test_what_cannot_travel_fails_its_job_alone(hidden: Path, cluster: ApartCluster) -> None:
    (hidden / "loop").mkdir()
    (hidden / "loop/again").symlink_to(".")
    ended = run(
        hidden, cluster,
        'rule all:\n    input: "good"\n'
        'rule good:\n    output: "good"\n    shell: "touch good"\n'
        f'rule absolute:\n    output: "{hidden}/absolute"\n    shell: "touch {{output}}"\n'
        'rule loop:\n    input: "loop"\n    output: "looped"\n    shell: "touch {output}"\n',
        "--keep-going", "good", "looped", f"{hidden}/absolute",
    )
    assert ended.returncode == 1
    assert (hidden / "good").exists()
    assert "is a link to a folder that it lies in" in ended.stderr
    assert "name it by its path from the folder of the workflow" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_folder_takes_the_place_of_a_file_and_a_strange_name(
    hidden: Path, cluster: ApartCluster
) -> None:
    (hidden / "was").write_text("a file\n")
    strange = "-q 'ä\" $x"
    ended = run(
        hidden, cluster,
        f'NAME = {strange!r}\n'
        'rule all:\n    output: directory("was"), NAME\n'
        '    run:\n        import os\n        os.makedirs("was/deep", exist_ok=True)\n'
        '        open("was/deep/file", "w").write("x")\n        open(NAME, "w").write("y")\n',
        "--forcerun", "all",
    )
    assert ended.returncode == 0, ended.stderr
    assert (hidden / "was/deep/file").read_text() == "x"
    assert (hidden / strange).read_text() == "y"


def test_pipes_of_groups_and_protected_folders(hidden: Path, cluster: ApartCluster) -> None:
    ended = run(
        hidden, cluster,
        'rule all:\n    input: "end", "kept"\n'
        'rule first:\n    output: pipe("p")\n    group: "both"\n'
        '    shell: "echo piped > {output}"\n'
        'rule second:\n    input: "p"\n    output: "end"\n    group: "both"\n'
        '    shell: "cat {input} > {output}"\n'
        'rule keep:\n    output: protected(directory("kept"))\n'
        '    shell: "mkdir -p kept/deep && echo x > kept/deep/x"\n',
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (hidden / "end").read_text() == "piped\n"
    assert not os.stat(hidden / "kept/deep/x").st_mode & 0o222


def test_links_that_git_knows(hidden: Path, cluster: ApartCluster) -> None:
    (hidden / "data_v2").mkdir()
    (hidden / "data_v2/file").write_text("v2\n")
    (hidden / "data").symlink_to("data_v2")
    (hidden / "elsewhere").symlink_to("/etc/hostname")
    (hidden / ".gitignore").write_text("data_v2\n")
    git(hidden, "data", "elsewhere", ".gitignore")
    ended = run(
        hidden, cluster,
        'rule all:\n    input: "data/file"\n    output: "out"\n'
        '    shell: "cat {input} > {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (hidden / "out").read_text() == "v2\n"


def test_a_worker_that_is_away_while_outputs_are_brought(hidden: Path) -> None:
    # A cluster of Snakemake's own, whose worker is killed when the job has ended.
    (hidden / "Snakefile").write_text(
        'rule all:\n    output: "out"\n    shell: "echo out > {output}"\n'
    )
    program = (
        "import os, signal, sys\n"
        "from snakemake_executor_plugin_opcluster.job_files import JobFiles\n"
        "bring = JobFiles.bring\n"
        "def late(self, job, handle):\n"
        "    if not os.path.exists('killed'):\n"
        "        open('killed', 'w').close()\n"
        "        for number in filter(str.isdigit, os.listdir('/proc')):\n"
        "            words = open(f'/proc/{number}/cmdline').read().split('\\0')\n"
        "            parent = open(f'/proc/{number}/stat').read().rpartition(')')[2].split()[1]\n"
        "            if words[0].endswith('opworker') and int(parent) == os.getpid():\n"
        "                os.kill(int(number), signal.SIGKILL)\n"
        "    bring(self, job, handle)\n"
        "JobFiles.bring = late\n"
        "from snakemake.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPBATCH_COORDINATOR"}
    ended = subprocess.run(
        [
            sys.executable, "-c", program, "--executor", "opcluster", "--jobs", "1",
            "--latency-wait", "5", "--shared-fs-usage", "software-deployment",
        ],
        cwd=hidden, text=True, capture_output=True, timeout=300, check=False, env=environment,
    )
    assert (hidden / "killed").exists()
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (hidden / "out").read_text() == "out\n"
