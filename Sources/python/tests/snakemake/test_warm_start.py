"""Jobs whose Snakemake is a fork of a process that has imported it: that they are as jobs in
processes of their own. Needs ``opcoord`` and ``opworker`` in PATH."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("snakemake.common.tests")

from opcluster import Cluster, PythonFunction, RunningOperation  # noqa: E402
from opcluster.local_cluster import LocalCluster  # noqa: E402
from snakemake_executor_plugin_opcluster import warm_start  # noqa: E402

#: Tells the process above a job's shell: its words, its parent, its environment, folder and group.
_LOOK = r"""
import json, os, sys
up = os.getppid()
while True:
    words = open(f"/proc/{up}/cmdline").read().split("\0")
    if any("python" in word for word in words[:1]): break
    up = int(open(f"/proc/{up}/stat").read().rpartition(")")[2].split()[1])
status = open(f"/proc/{up}/stat").read().rpartition(")")[2].split()
print(json.dumps({
    "words": words, "parent": int(status[1]), "folder": os.getcwd(),
    "group": int(status[2]) == up, "environment": dict(os.environ),
}))
"""


def run(
    folder: Path, snakefile: str, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a workflow to its end."""
    (folder / "Snakefile").write_text(snakefile)
    (folder / "look.py").write_text(_LOOK)
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--executor", "opcluster", "--jobs", "1", *options],
        cwd=folder, text=True, capture_output=True, timeout=300, check=False,
        env={**os.environ, **environment},
    )


def looks(folder: Path, *options: str, **environment: str) -> list[dict[str, Any]]:
    """What three jobs see, one after the other."""
    import json

    ended = run(
        folder,
        'rule all:\n    input: expand("{n}.json", n=range(3))\n'
        'rule one:\n    output: "{n}.json"\n'
        f'    shell: "{sys.executable} look.py > {{output}}"\n',
        *options, **environment,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads((folder / f"{n}.json").read_text()) for n in range(3)]


def test_jobs_are_forks_of_one_process(tmp_path: Path) -> None:
    found = looks(tmp_path, OF_THE_USER="unseen", VIRTUAL_ENV="/a venv")
    assert all("opcluster.interpreter" in look["words"] for look in found)
    assert len({look["parent"] for look in found}) == 1
    assert all(look["group"] for look in found)
    assert all(look["folder"] == str(tmp_path) for look in found)
    environments = [look["environment"] for look in found]
    for seen in environments:
        assert isinstance(seen, dict)
        # As a command has it: of ours only what a job needs, and what tells it who it is.
        assert "OF_THE_USER" not in seen and seen["VIRTUAL_ENV"] == "/a venv"
        assert (seen["OP_CPUS"], seen["OP_QUEUE"], seen["OP_ATTEMPT"]) == ("1", "default", "1")
        assert seen["OP_NAME"] == "one" and seen["OP_SCRATCH"] == seen["TMPDIR"]
        assert not os.path.exists(str(seen["OP_SCRATCH"]))
    assert len({(seen["OP_GRAPH"], seen["OP_SCRATCH"]) for seen in environments}) == 3


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_jobs_start_cold(tmp_path: Path, is_asked_for: bool) -> None:
    # Modules that only a new interpreter would find first.
    found = (
        looks(tmp_path, "--opcluster-cold-start")
        if is_asked_for else looks(tmp_path, PYTHONPATH=str(tmp_path))
    )
    assert all("snakemake" in look["words"] for look in found)
    assert len({look["parent"] for look in found}) == 3


def test_what_was_installed_meanwhile_is_used(tmp_path: Path) -> None:
    import json

    import snakemake

    new = Path(snakemake.__file__).parent.parent / "opcluster_test_of_warm_starts"
    try:
        ended = run(
            tmp_path,
            'rule all:\n    input: "b.json"\n'
            'rule a:\n    output: "a.json"\n'
            f'    shell: "{sys.executable} look.py > {{output}}; mkdir {new}"\n'
            'rule b:\n    input: "a.json"\n    output: "b.json"\n'
            f'    shell: "{sys.executable} look.py > {{output}}"\n',
        )
    finally:
        if new.exists():
            new.rmdir()
    assert ended.returncode == 0, ended.stderr
    before, after = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    # Snakemake was imported anew, by an interpreter or by the job.
    assert before["parent"] != after["parent"]


def test_a_module_that_comes_later_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    before = warm_start._states(sys.path)
    assert before == warm_start._states(sys.path)
    (tmp_path / "new").mkdir()
    assert before != warm_start._states(sys.path)


def test_what_was_imported_before_is_not_run(tmp_path: Path) -> None:
    import snakemake

    log = tmp_path / "log"
    job = {
        "arguments": ["--version"], "environment": {}, "folder": str(tmp_path), "log": str(log),
    }
    operation = RunningOperation((1, 0, 1), folder=str(tmp_path / "scratch"))
    assert warm_start._imported_from is None
    process = warm_start._fork(job, operation)
    words = b""
    while b"--version" not in words and not os.waitid(
        os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT
    ):
        words = Path(f"/proc/{process}/cmdline").read_bytes()
    assert words.split(b"\0")[1:4] == [b"-m", b"snakemake", b"--version"]
    assert os.waitpid(process, 0)[1] == 0
    assert log.read_text().strip() == snakemake.__version__


def test_what_a_job_leaves_running_ends_with_it(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    input: "b"\n'
        'rule a:\n    output: "a"\n'
        "    shell: \"setsid sh -c 'echo $$ > pid; exec sleep 986' < /dev/null > /dev/null 2>&1 &"
        ' while ! test -s pid; do sleep 0.1; done; touch {output}"\n'
        'rule b:\n    input: "a"\n    output: "b"\n'
        '    shell: "! kill -0 $(cat pid) 2> /dev/null && touch {output}"\n',
    )
    assert ended.returncode == 0, ended.stderr


def test_a_job_that_is_killed_says_so_and_the_next_one_runs(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    input: "a"\n'
        'rule a:\n    output: "a"\n    retries: 1\n'
        "    shell: \"test -e tried && touch {output} && exit; touch tried; "
        "kill -KILL $(ps -o ppid= -p $$)\"\n",
    )
    assert ended.returncode == 0, ended.stderr
    assert "it was ended by signal 9" in ended.stderr


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_random_numbers_are_not_those_of_other_jobs(tmp_path: Path, module: str) -> None:
    pytest.importorskip(module)
    ended = run(
        tmp_path,
        'rule all:\n    input: expand("{n}", n=range(3))\n'
        f'rule one:\n    output: "{{n}}"\n    run:\n        import {module}\n'
        f'        open(output[0], "w").write(str({module}.random()))\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert len({(tmp_path / str(n)).read_text() for n in range(3)}) == 3


def test_a_status_is_told(tmp_path: Path) -> None:
    ended = run(tmp_path, 'rule all:\n    output: "x"\n    shell: "exit 3"\n')
    assert ended.returncode == 1
    assert "it ended with status 1. " in ended.stderr


def test_a_cancelled_job_may_clean_up(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        'rule all:\n    output: "x"\n'
        "    shell: \"trap 'touch cleaned; exit 1' TERM; touch began;"
        ' while true; do sleep 0.1; done"\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--executor", "opcluster", "--jobs", "1"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not (tmp_path / "began").exists():
        assert time.monotonic() < end, "it never began"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert (tmp_path / "cleaned").exists()


def test_files_are_written_out_at_the_end(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n'
        "    run:\n        global table\n        import atexit\n"
        '        table = open(output[0], "w")\n        table.write("the result\\n")\n'
        '        atexit.register(lambda: open("last", "w").close())\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "x").read_text() == "the result\n"
    assert (tmp_path / "last").exists()


def test_a_job_is_in_no_operation(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    run:\n        import opcluster\n'
        '        open(output[0], "w").write(str(opcluster.is_in_operation()))\n',
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "x").read_text() == "False"


def test_no_other_function_runs_where_jobs_do(tmp_path: Path) -> None:
    with LocalCluster() as cluster, Cluster(cluster.address) as connection:
        function = PythonFunction(os.getpid)
        process = connection.submit(function).handle(0).result()
        found = looks(tmp_path, "--opcluster-address", cluster.address)
    assert process not in {look["parent"] for look in found}


@pytest.mark.parametrize(
    ("language", "all_of_it", "chosen"),
    [("C", "", "C.UTF-8"), ("C.UTF-8", "", None), ("", "C", None)],
)
def test_the_language_is_as_in_a_new_interpreter(
    tmp_path: Path, language: str, all_of_it: str, chosen: str | None
) -> None:
    variables = {"LANG": language, "LC_ALL": all_of_it}
    for options in ((), ("--opcluster-cold-start",)):
        folder = tmp_path / str(len(options))
        folder.mkdir()
        for look in looks(folder, *options, **variables):
            assert look["environment"].get("LC_CTYPE") == chosen, options


def test_an_interpreter_that_is_named_is_found_as_by_a_shell(tmp_path: Path) -> None:
    found = looks(
        tmp_path, "--opcluster-python", "python3",
        PATH=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
    )
    assert len(found) == 3


def test_memory_that_is_used_up_is_told_of_the_job_that_did(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    input: "b"\n'
        'rule a:\n    output: "a"\n    resources: mem_mb=100\n    retries: 1\n'
        "    shell: \"if test -e tried; then touch {output}; else touch tried;"
        f" {sys.executable} -c 'x = bytearray(900_000_000)'; fi\"\n"
        'rule b:\n    input: "a"\n    output: "b"\n    resources: mem_mb=100\n    retries: 1\n'
        "    shell: \"test -e again && touch {output} && exit; touch again; "
        "kill -KILL $(ps -o ppid= -p $$)\"\n",
    )
    assert ended.returncode == 0, ended.stderr
    if "Error in rule a" not in ended.stderr:
        pytest.skip("memory is not limited here")
    assert ended.stderr.count("it used more memory than its 'mem_mb'") == 1, ended.stderr
    assert "it was ended by signal 9" in ended.stderr


def test_what_a_job_leaves_behind_is_waited_for(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        'rule all:\n    output: "x"\n    shell: "for n in $(seq 200); do (true &); done;'
        " sleep 0.3; ps -eo stat | grep -c '^Z' > {output} || true\"\n",
    )
    assert ended.returncode == 0, ended.stderr
    assert int((tmp_path / "x").read_text()) < 100


def test_groups_of_others_are_not_looked_at(tmp_path: Path) -> None:
    # This process is alone in no group: its tests run beside it.
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert warm_start._Refusals.of_this_process(True).counters == ()
    finally:
        child.kill()
        child.wait()


def test_a_job_that_is_cancelled_while_it_begins_does_not_run_on(tmp_path: Path) -> None:
    import psutil

    (tmp_path / "Snakefile").write_text('rule all:\n    output: "x"\n    shell: "sleep 985"\n')

    def left() -> list[int]:
        """What is of this workflow, or of its cluster."""
        return [
            found.pid for found in psutil.process_iter()
            if found.pid != os.getpid() and str(tmp_path) in _environment(found)
        ]

    for wait in (0.0, 0.4, 0.8, 1.2, 1.6):
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--executor", "opcluster", "--jobs", "1"],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        )
        end = time.monotonic() + 60
        while not any("opcluster.interpreter" in _words(one) for one in psutil.process_iter()):
            assert time.monotonic() < end, "no interpreter began"
            time.sleep(0.02)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        end = time.monotonic() + 60
        while left():
            assert time.monotonic() < end, f"{left()} run on"
            time.sleep(0.1)


def _words(process: object) -> list[str]:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _environment(process: object) -> str:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        return str(process.environ())
    except psutil.Error:
        return ""


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    for missing in ("folder", "log"):
        job = {
            "arguments": [], "environment": {}, "folder": str(tmp_path),
            "log": str(tmp_path / "x.log"), missing: str(tmp_path / "none" / "x"),
        }
        operation = RunningOperation((1, 0, 1), folder=str(tmp_path / "scratch"))
        with pytest.raises(warm_start.JobFailed, match="not here.*none/x"):
            warm_start._fork(job, operation)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/p -m snakemake --cores 'a b' x=1", ["--cores", "a b", "x=1"]),
        ("/p -m snakemake  a/'b'c base64//L+a=", ["a/bc", "base64//L+a="]),
        ("cd x && /p -m snakemake", None),
        ("A=1 /p -m snakemake", None),
        ("/q -m snakemake", None),
        ("/p -m snakemake $HOME", None),
        ("/p -m snakemake ~/x", None),
        ("/p -m snakemake *", None),
        ("/p -m snakemake 'it", None),
        ('/p -m snakemake "x"', None),
        ("/p -m snakemake a\nb", None),
        ("/p -m snakemake a\\ b", None),
        ("", None),
    ],
)
def test_only_what_a_shell_takes_as_it_stands_is_read(
    command: str, words: list[str] | None
) -> None:
    assert warm_start.arguments(command, "/p") == words
