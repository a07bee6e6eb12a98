"""The files of jobs whose workers do not have the folder of the workflow.

A job runs in a folder of its own. What it reads travels there: the sources of the workflow in an
archive, its inputs as they are, which the workers keep by their digests, so that nothing is sent
twice. What it leaves is brought back into the folder of the workflow.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from logging import Logger
from pathlib import Path
from typing import Any

from opcluster import OperationHandle, limits
from opcluster.files import Inputs
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.workflow import WorkflowExecutorInterface

#: The names of what travels.
_SOURCES, _INPUTS, _ARCHIVE, _LEFT = "sources", "inputs", "archive", "left"
#: The folder of what a job leaves, in its own; a file in it that is always there; an archive.
_FOLDER, _MARK, _PACKED = ".opcluster_left", ".opcluster_end", ".opcluster_left.tar"
#: Files that travel one by one; more are an archive.
_MOST = limits.CONTENTS_PER_OPERATION - 100


class JobFiles:
    """Sends what jobs read, and brings what they leave."""

    def __init__(
        self, workflow: WorkflowExecutorInterface, python: str, sends_sources: bool, logger: Logger
    ) -> None:
        """
        :param python: the interpreter that runs jobs at the workers.
        :param sends_sources: whether the workers do not have the sources of the workflow.
        """
        self._workflow = workflow
        self._python = python
        self._sends_sources = sends_sources
        self._logger = logger
        self._folder = tempfile.TemporaryDirectory(prefix="opcluster-snakemake-")
        self._sources: str | None = None
        self._archives = 0
        self._outside: set[str] = set()

    def close(self) -> None:
        """Removes the archives."""
        self._folder.cleanup()

    def inputs(self, job: JobExecutorInterface) -> Inputs:
        """What travels to a job.

        :raises OSError: if it cannot be read.
        """
        found: dict[str, Any] = {}
        if self._sends_sources:
            found[_SOURCES] = self._source_archive()
        files = {path: path for path in self._files(job.input)}
        if len(files) > _MOST:
            self._archives += 1
            archive = os.path.join(self._folder.name, f"inputs-{self._archives}.tar")
            with tarfile.open(archive, "w") as packed:
                for path in files:
                    packed.add(path)
            found[_ARCHIVE] = archive
        elif files:
            found[_INPUTS] = files
        return found

    def output_files(self) -> dict[str, str]:
        """What a job leaves."""
        return {_LEFT: _FOLDER}

    def script(self, job: JobExecutorInterface, command: str) -> str:
        """A text for the shell: lays what has travelled where it was, and runs the job."""
        python, left = shlex.quote(self._python), shlex.quote(_FOLDER)
        products = " ".join(shlex.quote(path) for path in self._paths(_products(job)))
        logs = " ".join(shlex.quote(path) for path in self._paths(job.log))
        return f"""exec 2>&1
laid=1
for archive in {_SOURCES} {_ARCHIVE}; do
  if [ -f "$OP_INPUTS/$archive" ]; then
    {python} -m tarfile -e "$OP_INPUTS/$archive" . || laid=
  fi
done
if [ -d "$OP_INPUTS/{_INPUTS}" ]; then
  cp -al "$OP_INPUTS/{_INPUTS}/." . 2> /dev/null || cp -a "$OP_INPUTS/{_INPUTS}/." . || laid=
fi
find . -type d ! -perm -u+wx -exec chmod u+wx {{}} + || laid=
if [ -z "$laid" ]; then echo "what the job reads could not be laid into its folder"; exit 1; fi
{command}
status=$?
if [ "$status" -ne 0 ]; then
  for log in {logs}; do
    if [ -f "$log" ]; then echo "--- $log"; cat "$log"; fi
  done
  exit "$status"
fi
mkdir {left} && : > {left}/{_MARK} || exit 1
for path in {products}; do
  if [ -e "$path" ]; then
    mkdir -p "$(dirname {left}/"$path")" && mv "$path" {left}/"$path" || exit 1
  fi
done
if [ "$(find {left} ! -type d | wc -l)" -gt {_MOST} ]; then
  {python} -m tarfile -c {_PACKED} {left} && rm -rf {left} && mkdir {left} \\
    && mv {_PACKED} {left}/ || exit 1
fi
"""

    def bring(self, job: JobExecutorInterface, handle: OperationHandle) -> None:
        """Brings what a job has left, in place of what is there.

        :raises OpClusterError: if no worker has it any more.
        :raises OSError: if it cannot be written.
        """
        # What has come as a whole takes the place of what is there.
        with tempfile.TemporaryDirectory(prefix=".opcluster-", dir=".") as folder:
            handle.fetch(_LEFT, folder)
            packed = os.path.join(folder, _PACKED)
            if os.path.exists(packed):
                with tarfile.open(packed) as archive:
                    archive.extractall(folder, filter="data")
                folder = os.path.join(folder, _FOLDER)
            for path in self._paths(_products(job)):
                place = os.path.join(folder, path)
                if os.path.lexists(place):
                    if os.path.isdir(path) and not os.path.islink(path):
                        shutil.rmtree(path)
                    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
                    os.replace(place, path)
        for output in job.output:
            # A folder that has no files does not travel.
            if getattr(output, "is_directory", False):
                os.makedirs(output, exist_ok=True)

    def _source_archive(self) -> str:
        if self._sources is None:
            self._sources = os.path.join(self._folder.name, "sources.tar.xz")
            self._workflow.write_source_archive(Path(self._sources))
        return self._sources

    def _paths(self, files: Iterable[str]) -> Iterator[str]:
        """Those that lie in the folder of the workflow, from there, each once, folders first."""
        local = {
            os.path.relpath(file): file for file in files if not getattr(file, "is_storage", False)
        }
        for path, file in sorted(local.items()):
            if not path.startswith(".."):
                yield path
            elif path not in self._outside:
                self._outside.add(path)
                self._logger.warning(
                    f"{file} lies outside of {os.getcwd()} and does not travel: each worker needs "
                    "it at this place."
                )

    def _files(self, inputs: Iterable[str]) -> Iterator[str]:
        """The files of inputs, also those of folders. Pipes and what is missing have none."""
        for path in self._paths(inputs):
            if not os.path.isdir(path):
                if os.path.isfile(path):
                    yield path
                continue
            for folder, _, names in os.walk(path):
                for name in sorted(names):
                    file = os.path.join(folder, name)
                    if os.path.isfile(file):
                        yield file


def _products(job: JobExecutorInterface) -> Iterator[str]:
    """The outputs, benchmarks and logs of a job, or of all jobs of a group."""
    for one in getattr(job, "jobs", (job,)) if job.is_group() else (job,):
        yield from one.products()
