"""joblib's own tests of Parallel, run with the backend of OpCluster.

    python tests/conformance/joblib_parallel.py FOLDER [pytest options]

FOLDER has opcoord and opworker. The tests are those of the installed joblib, in a temporary copy in
which `opcluster` stands for the backends that they are run with. What is left out stands in
`LEFT_OUT`, with the reasons.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import pytest
from joblib import test

from opcluster.joblib import register
from opcluster.local_cluster import LocalCluster

_MEMORY_MAPS = "expects numpy's memory maps; our arrays are mapped, and are plain arrays to numpy"
_PROGRAM = "starts a program of its own, which does not register the backend"
_ALL = "expects that a backend without n_jobs runs one job; ours takes all workers, as dask's does"
_MANAGER = "passes a manager of multiprocessing, whose key only processes that it starts have"
_POOLS = "asks for the processes of joblib's own pools"
_MIXED = "names the backend in a process of loky, which does not register it"

#: Parts of the names of tests that are not run, and why.
LEFT_OUT = {
    "test_auto_memmap_on_arrays_from_generator": _MEMORY_MAPS,
    "test_memmapping_leaks": _MEMORY_MAPS,
    "test_parallel_with_interactively_defined_functions": _PROGRAM,
    "test_parallel_with_unpicklable_functions_in_args": _PROGRAM,
    "test_dispatch_multiprocessing": _MANAGER,
    "test_error_capture": _POOLS,
    "test_nested_loop[loky-opcluster]": _MIXED,
    "test_nested_loop[back_compat_backend-opcluster]": _MIXED,
    "test_nested_backend_in_sequential[parallel_config-opcluster-None]": _ALL,
    "test_nested_backend_in_sequential[parallel_backend-opcluster-None]": _ALL,
    "test_initializer_context": _MANAGER,
    "test_initializer_parallel": _MANAGER,
}

_REPLACED = [
    (r'PROCESS_BACKENDS = \["multiprocessing", "loky"\]', 'PROCESS_BACKENDS = ["opcluster"]'),
    (r"(PARALLEL_BACKENDS = PROCESS_BACKENDS) \+ .*", r"\1"),
    (r"(ALL_VALID_BACKENDS =) \[None\] \+ .*", r'\1 ["opcluster"]'),
    (r"ALL_VALID_BACKENDS \+= .*", ""),
    (r'ALL_VALID_BACKENDS.append\(mp.get_context\("spawn"\)\)', "pass"),
    (r"(RETURN_GENERATOR_BACKENDS =) BACKENDS.copy\(\)", r'\1 {"opcluster": None}'),
]


class _LeavesOut:
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keeps the tests with our backend, and skips those that are left out."""
        ours = [item for item in items if "opcluster" in item.name]
        config.hook.pytest_deselected(items=[item for item in items if item not in ours])
        items[:] = ours
        for item in items:
            for part, reason in LEFT_OUT.items():
                if item.name.startswith(part):
                    item.add_marker(pytest.mark.skip(reason=reason))


def main(arguments: list[str]) -> int:
    """Runs the tests on a cluster of their own with room for four calls at once."""
    text = (Path(test.__file__).parent / "test_parallel.py").read_text()
    for pattern, replacement in _REPLACED:
        text, count = re.subn(pattern, replacement, text)
        assert count, f"this joblib's tests have no {pattern}"
    with (
        LocalCluster(cpus=4, programs=arguments[0]) as cluster,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.environ["OPBATCH_COORDINATOR"] = cluster.address
        register()
        copy = Path(folder) / "test_parallel.py"
        copy.write_text(text)
        options = ["-p", "no:cacheprovider", "-q", *arguments[1:], str(copy)]
        return int(pytest.main(options, plugins=[_LeavesOut()]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
