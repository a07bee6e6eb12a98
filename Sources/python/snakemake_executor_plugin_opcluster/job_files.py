"""The files of jobs whose workers do not have the folder of the workflow.

A job runs in a folder of its own. What it reads travels there: the sources of the workflow in an
archive, its inputs as they are, which the workers keep by their digests, so that nothing is sent
twice. What it leaves is brought back into the folder of the workflow. `job_folder` is the
other end.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from logging import Logger
from pathlib import Path
from typing import Any

from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.workflow import WorkflowExecutorInterface

from opcluster import Cluster, OperationHandle, OutputFile
from opcluster.files import Inputs
from snakemake_executor_plugin_opcluster import job_folder
from snakemake_executor_plugin_opcluster.job_folder import Trouble

#: The name of what a job leaves, and of the program that lays and collects.
_LEFT, _PROGRAM = "left", "job_folder.py"
#: Bytes of a description that stands in the command; a longer one travels as a file.
_SHORT = 8_000
#: Archives of inputs that are kept for further jobs which read the same.
_ARCHIVES_KEPT = 4


class JobFiles:
    """Sends what jobs read, and brings what they leave."""

    def __init__(
        self,
        workflow: WorkflowExecutorInterface,
        cluster: Cluster,
        python: str,
        sends_sources: bool,
        logger: Logger,
    ) -> None:
        """
        :param python: the interpreter that runs jobs at the workers.
        :param sends_sources: whether the workers do not have the sources of the workflow.
        """
        self._workflow = workflow
        self._cluster = cluster
        self._python = python
        self._sends_sources = sends_sources
        self._logger = logger
        self._folder = tempfile.TemporaryDirectory(prefix="opcluster-snakemake-")
        self._sources: str | None = None
        self._archives: OrderedDict[bytes, str] = OrderedDict()
        self._descriptions = 0
        self._outside: set[str] = set()

    def close(self) -> None:
        """Removes the archives."""
        self._folder.cleanup()

    def submitted(self) -> None:
        """What was prepared for jobs has travelled: few archives are kept for others."""
        while len(self._archives) > _ARCHIVES_KEPT:
            os.unlink(self._archives.popitem(last=False)[1])

    def prepare(self, job: JobExecutorInterface, command: str) -> tuple[str, Inputs]:
        """The text for the shell that runs a job, and what travels to it.

        :raises Trouble: if its files cannot travel.
        :raises OSError: if they cannot be read.
        """
        description = json.dumps({
            "products": self._products(job),
            "logs": list(self._paths(job.log)),
        })
        inputs = self._inputs(job)
        if len(description) > _SHORT:
            self._descriptions += 1
            place = os.path.join(self._folder.name, f"job-{self._descriptions}.json")
            Path(place).write_text(description, encoding="utf-8")
            inputs[job_folder.DESCRIPTION] = place
            description = job_folder.DESCRIPTION
        program = f'{shlex.quote(self._python)} "$OP_INPUTS/{_PROGRAM}"'
        said = shlex.quote(description)
        text = f"""exec 2>&1
{program} lay {said} || exit 1
{command}
status=$?
if [ "$status" -ne 0 ]; then
  {program} logs {said}
  exit "$status"
fi
{program} collect {said}
"""
        return text, inputs

    @property
    def output_files(self) -> dict[str, str]:
        """What a job leaves."""
        return {_LEFT: job_folder.FOLDER}

    # There

    def _inputs(self, job: JobExecutorInterface) -> dict[str, Any]:
        found: dict[str, Any] = {_PROGRAM: job_folder.__file__}
        if self._sends_sources:
            found[job_folder.SOURCES] = self._source_archive()
        files: dict[str, None] = {}
        empty: list[str] = []
        updated = (file for file in _all_outputs(job) if _has_flag(file, "update"))
        for path in self._paths((*job.input, *updated)):
            # Pipes have no bytes, and what is missing is the job's to tell.
            if os.path.isfile(path) or os.path.isdir(path):
                of_path, folders = job_folder.tree(path)
                files.update(dict.fromkeys(of_path))
                empty += folders
        if empty or job_folder.must_be_packed(list(files)):
            found[job_folder.ARCHIVE] = self._archive(list(files), empty)
        elif files:
            found[job_folder.INPUTS] = {path: path for path in files}
        return found

    def _archive(self, files: list[str], folders: list[str]) -> str:
        """An archive of files; the same one for jobs that read the same."""
        states = [(path, *_state(path)) for path in (*files, *folders)]
        key = hashlib.sha256(repr(states).encode()).digest()
        known = self._archives.get(key)
        if known is None:
            known = os.path.join(self._folder.name, f"{key.hex()}.tar")
            job_folder.pack(known, files, folders)
            self._archives[key] = known
        self._archives.move_to_end(key)
        return known

    def _source_archive(self) -> str:
        if self._sources is None:
            place = os.path.join(self._folder.name, "sources.tar.xz")
            self._workflow.write_source_archive(Path(place))
            self._sources = place
        return self._sources

    def _products(self, job: JobExecutorInterface) -> list[str]:
        """Outputs, benchmarks and logs.

        :raises Trouble: if an output does not lie in the folder of the workflow.
        """
        outputs = {os.fspath(file) for file in _all_outputs(job)}
        products = []
        for file in _local(_all_products(job)):
            if _is_passing(file):
                continue
            path = _path(file)
            if path is not None:
                products.append(path)
            elif os.fspath(file) in outputs:
                raise Trouble(
                    f"the output '{file}' does not come from the worker; name it by its path from "
                    "the folder of the workflow"
                )
        # Folders come before what lies in them.
        return sorted(set(products))

    def _paths(self, files: Iterable[str]) -> Iterator[str]:
        """The paths of those that travel, each once; says of the others that they do not."""
        seen: set[str] = set()
        for file in _local(files):
            path = _path(file)
            if path is None:
                if os.fspath(file) not in self._outside:
                    self._outside.add(os.fspath(file))
                    self._logger.warning(
                        f"{file} does not travel: each worker needs it at this place. What travels "
                        "is named by its path from the folder of the workflow."
                    )
            elif path not in seen:
                seen.add(path)
                yield path

    # Back

    def bring(self, job: JobExecutorInterface, handle: OperationHandle) -> None:
        """Brings what a job has left, in place of what is there.

        :raises Trouble: if it has not left all its outputs.
        :raises OpClusterError: if no worker has it any more.
        :raises OSError: if it cannot be written.
        """
        left = {file.path: file for file in handle.files() if file.name == _LEFT}
        products = self._products(job)
        brought: set[str] = set()
        with tempfile.TemporaryDirectory(prefix=".opcluster-", dir=".") as folder:
            unpacked: str | None = None
            if job_folder.PACKED in left:
                archive = os.path.join(folder, job_folder.PACKED)
                self._cluster.save_file(left[job_folder.PACKED], archive)
                unpacked = os.path.join(folder, "all")
                job_folder.unpack(archive, unpacked)
            for product in products:
                if any(product.startswith(f"{other}/") for other in brought):
                    continue
                with _beside(product) as place:
                    if unpacked is not None:
                        source = os.path.join(unpacked, product)
                        if os.path.lexists(source):
                            shutil.move(source, place)
                    else:
                        self._save(left, product, place)
                    if os.path.lexists(place):
                        _put(place, product)
                        brought.add(product)
        for file in _local(_all_outputs(job)):
            # Others of a group may have needed it, and nobody else.
            is_gone = _is_passing(file) or (job.is_group() and _has_flag(file, "temp"))
            if not os.path.lexists(file) and not is_gone:
                raise Trouble(f"the job has not left its output '{file}'")
        for one in _jobs(job):
            for file in _local(one.protected_output):
                if os.path.lexists(file):
                    file.protect()

    def _save(self, left: dict[str, OutputFile], product: str, place: str) -> None:
        for path in left:
            if path != product and not path.startswith(f"{product}/"):
                continue
            inner = path[len(product) + 1 :]
            self._cluster.save_file(left[path], os.path.join(place, inner) if inner else place)


def _state(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _path(file: str) -> str | None:
    """The path of a file from the folder of the workflow; None: it is named in another way, or
    lies elsewhere."""
    path = os.path.normpath(file)
    is_outside = os.path.isabs(path) or path == ".." or path.startswith("../")
    return None if is_outside else path


def _local(files: Iterable[Any]) -> Iterator[Any]:
    """Those that lie in no storage."""
    return (file for file in files if not getattr(file, "is_storage", False))


def _has_flag(file: Any, flag: str) -> bool:
    return bool(getattr(file, "flags", {}).get(flag))


def _is_passing(file: Any) -> bool:
    """Whether it is there for others of a group alone."""
    return _has_flag(file, "pipe") or _has_flag(file, "service")


def _jobs(job: JobExecutorInterface) -> Iterable[Any]:
    """The job, or all jobs of a group."""
    return getattr(job, "jobs", (job,)) if job.is_group() else (job,)


def _all_outputs(job: JobExecutorInterface) -> Iterator[Any]:
    for one in _jobs(job):
        yield from one.output


def _all_products(job: JobExecutorInterface) -> Iterator[Any]:
    for one in _jobs(job):
        yield from one.products()


@contextmanager
def _beside(path: str) -> Iterator[str]:
    """A place for something new in the folder of a path, on the same file system."""
    parent = os.path.dirname(path) or "."
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".opcluster-", dir=parent) as folder:
        yield os.path.join(folder, "new")


def _put(place: str, path: str) -> None:
    """Puts something new in place of what is there, of whatever kind; as it was if that fails."""
    old = os.path.join(os.path.dirname(place), "old")
    if not os.path.lexists(path):
        os.rename(place, path)
        return
    os.rename(path, old)
    try:
        os.rename(place, path)
    except BaseException:
        os.rename(old, path)
        raise


__all__ = ["JobFiles", "Trouble"]
