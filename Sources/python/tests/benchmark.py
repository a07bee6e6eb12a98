"""Times of ClusterExecutor beside other executors, in one run on this machine.

    python tests/benchmark.py FOLDER [--runs N] [--calls N] [KIND ...]

FOLDER has opcoord and opworker. Kinds: opcluster, processes (ProcessPoolExecutor), dask, ray; those
that are not installed are left out. Each figure is the median of the runs, all with as many workers
as there are processors. Before the clock runs, every worker process has been started and has run
something.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from opcluster import ClusterExecutor
from opcluster.local_cluster import LocalCluster

WORKERS = len(os.sched_getaffinity(0))
MAPPED, CHUNK = 100_000, 1_000
HOPS, ROUND_TRIPS = 1_000, 200


def empty() -> None:
    """The function of the many calls."""


def double(value: int) -> int:
    """The function of the map."""
    return value * 2


def add_one(value: int) -> int:
    """One hop of the chain."""
    return value + 1


def rest() -> None:
    """Takes so long that each of as many calls as there are workers has one of its own."""
    time.sleep(0.3)


Results = dict[str, float]


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes, after a second in which what was before can be cleared away."""
    time.sleep(1)
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def of_executor(executor: Any, calls: int, can_chain: bool) -> Results:
    """Times of an executor of concurrent.futures."""
    for future in [executor.submit(rest) for _ in range(2 * WORKERS)]:
        future.result()

    def submit_all() -> None:
        for future in [executor.submit(empty) for _ in range(calls)]:
            future.result()

    def chain() -> None:
        link = executor.submit(add_one, 0)
        for _ in range(HOPS - 1):
            # Without futures as arguments each hop waits here for the one before.
            link = executor.submit(add_one, link if can_chain else link.result())
        assert link.result() == HOPS

    def one_by_one() -> None:
        for _ in range(ROUND_TRIPS):
            executor.submit(empty).result()

    return {
        "calls": timed(submit_all),
        "map": timed(lambda: list(executor.map(double, range(MAPPED), chunksize=CHUNK))),
        "hop": timed(chain) / HOPS,
        "round trip": timed(one_by_one) / ROUND_TRIPS,
    }


@contextmanager
def opcluster(programs: str) -> Iterator[Callable[[int], Results]]:
    with LocalCluster(cpus=WORKERS, programs=programs) as cluster:
        with ClusterExecutor(cluster.address) as executor:
            yield lambda calls: of_executor(executor, calls, can_chain=True)


@contextmanager
def processes(programs: str) -> Iterator[Callable[[int], Results]]:
    with ProcessPoolExecutor(WORKERS) as executor:
        yield lambda calls: of_executor(executor, calls, can_chain=False)


@contextmanager
def dask(programs: str) -> Iterator[Callable[[int], Results]]:
    from distributed import Client

    with Client(
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=40
    ) as client:

        def run(calls: int) -> Results:
            client.gather([client.submit(rest, pure=False) for _ in range(2 * WORKERS)])

            def submit_all() -> None:
                client.gather([client.submit(empty, pure=False) for _ in range(calls)])

            def mapped() -> None:
                chunks = [range(at, at + CHUNK) for at in range(0, MAPPED, CHUNK)]
                client.gather(
                    client.map(lambda chunk: [double(value) for value in chunk], chunks, pure=False)
                )

            def chain() -> None:
                link = client.submit(add_one, 0, pure=False)
                for _ in range(HOPS - 1):
                    link = client.submit(add_one, link, pure=False)
                assert link.result() == HOPS

            def one_by_one() -> None:
                for _ in range(ROUND_TRIPS):
                    client.submit(empty, pure=False).result()

            return {
                "calls": timed(submit_all),
                "map": timed(mapped),
                "hop": timed(chain) / HOPS,
                "round trip": timed(one_by_one) / ROUND_TRIPS,
            }

        yield run


@contextmanager
def ray(programs: str) -> Iterator[Callable[[int], Results]]:
    import ray as module

    module.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level=40)
    far_empty, far_add = module.remote(empty), module.remote(add_one)
    far_map = module.remote(lambda chunk: [double(value) for value in chunk])

    def run(calls: int) -> Results:
        far_rest = module.remote(rest)
        module.get([far_rest.remote() for _ in range(2 * WORKERS)])

        def mapped() -> None:
            chunks = [range(at, at + CHUNK) for at in range(0, MAPPED, CHUNK)]
            module.get([far_map.remote(chunk) for chunk in chunks])

        def chain() -> None:
            link = far_add.remote(0)
            for _ in range(HOPS - 1):
                link = far_add.remote(link)
            assert module.get(link) == HOPS

        def one_by_one() -> None:
            for _ in range(ROUND_TRIPS):
                module.get(far_empty.remote())

        return {
            "calls": timed(lambda: module.get([far_empty.remote() for _ in range(calls)])),
            "map": timed(mapped),
            "hop": timed(chain) / HOPS,
            "round trip": timed(one_by_one) / ROUND_TRIPS,
        }

    try:
        yield run
    finally:
        module.shutdown()


KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "opcluster": ("opcluster", opcluster),
    "processes": ("concurrent", processes),
    "dask": ("distributed", dask),
    "ray": ("ray", ray),
}


def main() -> int:
    """Runs the kinds one after the other, as often as asked, and prints a table."""
    parser = argparse.ArgumentParser(prog="benchmark.py")
    parser.add_argument("programs", help="the folder of opcoord and opworker")
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help="of " + ", ".join(KINDS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_intermixed_args()
    rows: dict[str, list[Results]] = {}
    for run in range(options.runs):
        for kind in options.kinds:
            module, make = KINDS[kind]
            if importlib.util.find_spec(module) is None:
                continue
            with make(options.programs) as measure:
                rows.setdefault(kind, []).append(measure(options.calls))
            print(f"run {run + 1} {kind}: {rows[kind][-1]}", file=sys.stderr)
    head = (f"{options.calls:,} calls, s", f"map of {MAPPED:,} by {CHUNK:,}, s", "hop, ms",
            "round trip, ms")
    print(f"| {WORKERS} workers, median of {options.runs} | " + " | ".join(head) + " |")
    print("|---|" + "---:|" * len(head))
    for kind, results in rows.items():
        middle = {key: statistics.median(row[key] for row in results) for key in results[0]}
        print(
            f"| {kind} | {middle['calls']:.2f} | {middle['map']:.3f} | "
            f"{middle['hop'] * 1000:.2f} | {middle['round trip'] * 1000:.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
