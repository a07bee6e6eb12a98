"""CPython's own tests of executors, run against ClusterExecutor.

    python tests/conformance/cpython_executor.py FOLDER [-v]

FOLDER has opcoord and opworker. The tests are those that the running interpreter has
(``test.test_concurrent_futures``, Python 3.12 or later); nothing of them is copied. What is left
out stands in `LEFT_OUT`, with the reasons.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from test.test_concurrent_futures import (
    test_as_completed,
    test_init,
    test_process_pool,
    test_shutdown,
    test_wait,
)
from test.test_concurrent_futures.util import BaseTestCase, ExecutorMixin

from opcluster import ClusterExecutor

_PROCESSES = "looks into the processes of ProcessPoolExecutor (_processes); ours are the workers'"
_OUTPUT = "expects what a call prints on the program's own output; it is the operation's log"
_START_METHOD = "is about the start methods of multiprocessing, or max_tasks_per_child"
_SEMAPHORE = "passes semaphores of multiprocessing, which only processes that it forks can have"

#: Tests that are not run, and why.
LEFT_OUT = {
    "test_killed_child": _PROCESSES,
    "test_saturation": _SEMAPHORE,
    "test_idle_process_reuse_one": _PROCESSES,
    "test_idle_process_reuse_multiple": _PROCESSES,
    "test_processes_terminate": _SEMAPHORE,
    "test_context_manager_shutdown": _PROCESSES,
    "test_del_shutdown": _PROCESSES,
    "test_shutdown_no_wait": _PROCESSES,
    "test_force_shutdown_workers_invalid_op": _PROCESSES,
    "test_force_shutdown_workers": _PROCESSES,
    "test_terminate_workers": _PROCESSES,
    "test_kill_workers": _PROCESSES,
    "test_process_pool_executor_terminate_workers": _PROCESSES,
    "test_max_tasks_per_child": _START_METHOD,
    "test_max_tasks_per_child_defaults_to_spawn_context": _START_METHOD,
    "test_max_tasks_early_shutdown": _START_METHOD,
    "test_python_finalization_error": "mocks how ProcessPoolExecutor starts its threads",
    "test_ressources_gced_in_workers": (
        "passes a manager of multiprocessing, whose key only processes that it starts have"
    ),
    "test_traceback": (
        "asks for the private class _RemoteTraceback; ours is opcluster.RemoteTraceback, and "
        "test_executor.py tests the same of it"
    ),
    "test_cancel_futures": (
        "expects that a call runs when submit returns; ours is on its way, and is cancelled. "
        "test_executor.py tests the same with calls that run"
    ),
    "test_interpreter_shutdown": _OUTPUT,
    "test_hang_gh83386": _OUTPUT,
    "FailingInitializer.test_initializer": (
        "expects the log lines of a process in a queue of multiprocessing; test_executor.py tests "
        "the rest of it"
    ),
}


class ClusterAdapter(ClusterExecutor):
    """Takes the arguments of ProcessPoolExecutor."""

    address: str | None = None

    def __init__(self, max_workers: int | None = None, **more: Any) -> None:
        super().__init__(self.address, max_workers=max_workers, cpus=0.1, **more)


class ClusterMixin(ExecutorMixin):  # type: ignore[misc]
    executor_type = ClusterAdapter


def _adapted(mixin: type, *bases: type, only: str = "") -> type[unittest.TestCase]:
    """A test case of CPython's tests for our executor."""
    name = mixin.__name__.removesuffix("Tests").removesuffix("Test").removesuffix("Mixin")
    made = type(f"Cluster{name}", (mixin, ClusterMixin, *bases, BaseTestCase), {})
    for test in unittest.defaultTestLoader.getTestCaseNames(made):
        reason = LEFT_OUT.get(test) or LEFT_OUT.get(f"{name}.{test}")
        if reason:
            setattr(made, test, unittest.skip(reason)(getattr(made, test)))
    return made




_CASES = [
    _adapted(test_process_pool.ProcessPoolExecutorTest),
    _adapted(test_wait.WaitTests),
    _adapted(test_as_completed.AsCompletedTests),
    _adapted(test_shutdown.ProcessPoolShutdownTest),
    _adapted(test_init.InitializerMixin),
    _adapted(test_init.FailingInitializerMixin),
]


def _in_programs(address: str) -> None:
    """Programs that the tests write find our executor where they look for one."""
    real = test_shutdown.assert_python_ok
    begin = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import concurrent.futures, cpython_executor\n"
        f"cpython_executor.ClusterAdapter.address = {address!r}\n"
        "concurrent.futures.ClusterAdapter = cpython_executor.ClusterAdapter\n"
    )
    test_shutdown.assert_python_ok = lambda option, code: real(option, begin + code)


def main(arguments: list[str]) -> int:
    """Runs the tests on a cluster of their own with room for eight calls at once."""
    programs = Path(arguments[0])
    with tempfile.TemporaryDirectory(prefix="opcluster-tests-") as folder:
        client, worker = f"ipc://{folder}/client", f"ipc://{folder}/worker"
        begin = ["--until-stdin-closes", "--allow-root"]
        coordinator = subprocess.Popen(
            [programs / "opcoord", "serve", "--client", client, "--worker", worker,
             "--state", f"{folder}/state", *begin],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        assert coordinator.stdout is not None
        coordinator.stdout.readline()
        machine = subprocess.Popen(
            [programs / "opworker", "serve", "--coordinator", worker, "--name", "tests",
             "--cpus", "8", "--scratch", f"{folder}/scratch", *begin],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        )
        ClusterAdapter.address = client
        _in_programs(client)
        try:
            suite = unittest.TestSuite(
                unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in _CASES
            )
            verbosity = 2 if "-v" in arguments else 1
            result = unittest.TextTestRunner(verbosity=verbosity).run(suite)
        finally:
            for process in (machine, coordinator):
                assert process.stdin is not None
                process.stdin.close()
                process.wait()
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
