"""Runs the jobs of Snakemake as operations of an OpCluster: ``snakemake --executor opcluster``.

Jobs that are ready together are one graph. Their states are asked for together, and their logs are
files beside Snakemake's own. With ``--shared-fs-usage none`` the workers need not have the folder
of the workflow: what jobs read and leave travels (`job_files`). Where they have it, jobs are forks
of a process that has imported Snakemake (`warm_start`).
"""

# Annotations are values here: Snakemake makes its options of those of the settings.

import os
import re
import shlex
import sys
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import (
    CommonSettings,
    ExecutorSettingsBase,
    SharedFSUsage,
)

from opcluster import (
    Cluster,
    Command,
    OpClusterError,
    Operation,
    OperationHandle,
    PythonFunction,
    RemoteError,
    columns,
)
from opcluster.cluster import Graph
from opcluster.errors import ConnectionFailed, Refused
from opcluster.operations import PriorityName
from opcluster.v1 import client_pb2 as client
from opcluster.v1 import submission_pb2 as words
from snakemake_executor_plugin_opcluster import warm_start
from snakemake_executor_plugin_opcluster.job_ends import JobEnds, Place
from snakemake_executor_plugin_opcluster.job_files import JobFiles, Trouble

#: Times that a submission is repeated while nobody answers; each takes a minute or two.
_TRIES = 10
#: Seconds between two questions for the states of all jobs.
_PAUSE = 0.2
#: Bytes that the Snakemake takes which runs a job: its rule's `mem_mb` does not count them.
_OWN_MEMORY = 250_000_000
#: The function that runs jobs in processes that have Snakemake already.
_WARM_START = "snakemake_executor_plugin_opcluster.warm_start:run"
#: What a job needs of our environment; an operation's own is clean.
_LANGUAGE = ("LANG", "LC_ALL")
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_INHERITED = (
    *_LANGUAGE, "CONDA_EXE", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH",
    "SNAKEMAKE_PROFILE", "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
)
#: Why a job failed, beyond its exit status.
_CAUSES = {
    words.FAILURE_CAUSE_TIMEOUT: "it ran longer than its 'runtime'",
    words.FAILURE_CAUSE_OUT_OF_MEMORY: "it used more memory than its 'mem_mb'",
    words.FAILURE_CAUSE_LOST: "its worker was lost",
    words.FAILURE_CAUSE_CANNOT_START: "it could not be started",
}
#: Seconds in which what a job has left is tried to be brought, and between two tries.
_BRING_SECONDS, _BRING_PAUSE = 600.0, 3.0
#: Jobs of one message, which is at most 16 MiB; names of files are most of those with files.
_JOBS_PER_GRAPH = 500
_JOBS_WITH_FILES_PER_GRAPH = 100


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]
    """What ``--opcluster-…`` says."""

    address: Optional[str] = field(
        default=None,
        metadata={
            "help": "Where the coordinator is, tcp://HOST:PORT or ipc:///PATH; else what opbatch "
            "would use, or a cluster of this machine.",
            "env_var": False,
            "required": False,
        },
    )
    keys: Optional[str] = field(
        default=None,
        metadata={"help": "Folder of your key.", "env_var": False, "required": False},
    )
    queue: Optional[str] = field(
        default=None,
        metadata={
            "help": "The queue that jobs go to, if not the default one.",
            "env_var": False,
            "required": False,
        },
    )
    python: Optional[str] = field(
        default=None,
        metadata={
            "help": "The interpreter with Snakemake at the workers, where the software is not "
            "shared: a path, or a name that is in their PATH. Jobs find the programs beside it.",
            "env_var": False,
            "required": False,
        },
    )
    cold_start: bool = field(
        default=False,
        metadata={
            "help": "Start Snakemake anew for each job, instead of from a process that workers "
            "keep with all that it imports.",
            "env_var": False,
            "required": False,
        },
    )


common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=True,
    can_transfer_local_files=True,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)


class Executor(RemoteExecutor):  # type: ignore[misc]
    """Submits jobs, and follows them until they have ended."""

    def __post_init__(self) -> None:
        settings = self.workflow.executor_settings
        self.next_seconds_between_status_checks = _PAUSE
        try:
            self._cluster = Cluster(settings.address, keys=settings.keys)
        except OpClusterError as error:
            raise WorkflowError(f"no OpCluster: {error}") from error
        self._queue = (
            self._cluster.queue(settings.queue) if settings.queue else self._cluster.queue()
        )
        # Snakemake's own list is empty while it is being checked: a Ctrl-C then would miss them.
        self._places: set[Place] = set()
        self._places_lock = threading.Lock()
        self._ends = JobEnds(self._cluster)
        # Users find what one run has submitted by it.
        self._run = uuid.uuid4().hex[:12]
        self._starts_cold = bool(settings.cold_start)
        self._logs = os.path.abspath(".snakemake/opcluster_logs")
        os.makedirs(self._logs, exist_ok=True)
        shared = self.workflow.storage_settings.shared_fs_usage
        self._has_shared_software = SharedFSUsage.SOFTWARE_DEPLOYMENT in shared
        self._files: JobFiles | None = None
        if SharedFSUsage.INPUT_OUTPUT not in shared:
            self._files = JobFiles(
                self.workflow,
                self._cluster,
                self.get_python_executable(),
                SharedFSUsage.SOURCES not in shared,
                self.logger,
            )
        # What jobs have left is on its way.
        self._coming: dict[Place, Future[None]] = {}
        self._bringing = ThreadPoolExecutor(1, "opcluster-files")

    def get_python_executable(self) -> str:
        """The interpreter that runs jobs."""
        return str(self.workflow.executor_settings.python or super().get_python_executable())

    def additional_general_args(self) -> str:
        """What is said to each Snakemake that runs a job, after everything else."""
        # Ours may be a folder that is not there.
        return "" if self._files is None else "--directory ."

    # Submission

    def run_jobs(self, jobs: list[JobExecutorInterface]) -> None:
        """Submits jobs that are ready together as one graph, or as few as messages allow."""
        most = _JOBS_PER_GRAPH if self._files is None else _JOBS_WITH_FILES_PER_GRAPH
        for begin in range(0, len(jobs), most):
            self._run_some(jobs[begin : begin + most])

    def _run_some(self, jobs: list[JobExecutorInterface]) -> None:
        ready: list[tuple[JobExecutorInterface, Operation, str]] = []
        for job in jobs:
            self.run_job_pre(job)
            try:
                ready.append((job, *self._operation(job)))
            except (Trouble, OSError) as error:
                self.report_job_error(
                    SubmittedJobInfo(job), msg=f"OpCluster: its files cannot travel: {error}. "
                )
        if not ready:
            return
        graph = self._submit([operation for _, operation, _ in ready])
        if self._files is not None:
            self._files.submitted()
        with self._places_lock:
            self._places.update((graph.number, index) for index in range(len(ready)))
        for index, (job, _, log) in enumerate(ready):
            self.report_job_submission(
                SubmittedJobInfo(
                    job,
                    external_jobid=f"{graph.number}/{index}",
                    aux={"place": (graph.number, index), "log": log},
                )
            )

    def _submit(self, operations: Sequence[Operation]) -> Graph:
        """Submits them, and again under the same key while nobody answers: never twice."""
        key = uuid.uuid4().hex
        labels = {"snakemake_run": self._run}
        for attempt in range(_TRIES):
            try:
                graph = self._queue.submit(*operations, name="snakemake", key=key, labels=labels)
                self._ends.follow(graph.number)
                return graph
            except (ConnectionFailed, TimeoutError) as error:
                # A time that is over has no words.
                reason = str(error) or "nothing came in time"
                if attempt + 1 == _TRIES:
                    raise WorkflowError(f"the jobs were not taken: {reason}") from error
                self.logger.warning(f"OpCluster does not answer: {reason}")
            except RemoteError as error:
                # Files that no worker took: one may be back in a moment.
                if attempt + 1 == _TRIES:
                    raise WorkflowError(f"the jobs were not taken: {error}") from error
                self.logger.warning(f"OpCluster: {error}")
            except (OpClusterError, OSError, ValueError) as error:
                raise WorkflowError(f"the jobs were not taken: {error}") from error
        raise AssertionError("unreachable")

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submits a job alone."""
        self.run_jobs([job])

    def _operation(self, job: JobExecutorInterface) -> tuple[Operation, str]:
        """The operation of a job, and the file of its log.

        :raises Trouble: if its files cannot travel.
        :raises OSError: if what it reads cannot be read.
        """
        # Numbers of jobs begin again with each run, and groups do not tell their attempt.
        unique = uuid.uuid4().hex[:8]
        log = os.path.join(self._logs, f"{_file_name(job.name)}-{job.jobid}-{unique}.log")
        resources = job.resources
        settings: dict[str, Any] = {
            "name": job.name,
            "cpus": float(_number(resources.get("_cores", job.threads)) or 1),
            "memory": _memory(_number(resources.get("mem_mb"))),
            "gpus": float(_number(resources.get("gpus", resources.get("gpu")))),
            "timeout": _number(resources.get("runtime")) * 60 or None,
            "resources": _amounts(resources.get("opcluster_resources")),
            "requirements": _requirements(resources.get("opcluster_require")),
            "priority": _priority(job.priority),
            "labels": {"snakemake_job": str(job.jobid)},
        }
        command = self.format_job_exec(job)
        if self._files is not None:
            text, inputs = self._files.prepare(job, command)
            return Command(
                text, environment=self._environment(), folder="", inputs=inputs,
                output_files=self._files.output_files, **settings,
            ), log
        return self._warm(command, log, settings) or Command(
            f"exec > {shlex.quote(log)} 2>&1\n{command}\n", environment=self._environment(),
            folder=os.getcwd(), **settings,
        ), log

    def _warm(self, command: str, log: str, settings: dict[str, Any]) -> Operation | None:
        """The operation of a job whose Snakemake is forked; None: it has to be started anew."""
        environment = self._environment()
        # What an interpreter has of these it has from its start.
        is_usual = "PYTHONPATH" not in environment and sys.getfilesystemencoding() == "utf-8"
        if self._starts_cold or not self._has_shared_software or not is_usual:
            return None
        python = self.get_python_executable()
        words = warm_start.arguments(command, python)
        # The shell of a job finds a name in our PATH; a worker, in its own.
        if words is None or not os.path.isabs(python):
            return None
        job = {
            "arguments": words,
            "folder": os.getcwd(),
            "environment": {
                **environment,
                "OP_CPUS": f"{settings['cpus']:g}",
                "OP_MEMORY_BYTES": str(settings["memory"]),
                "OP_QUEUE": self._queue.name or "default",
            },
            "log": log,
        }
        try:
            return PythonFunction(
                _WARM_START, job, python=python, pool=warm_start.pool(), import_paths=(), **settings
            )
        except ValueError:
            # More than one message takes.
            return None

    def _environment(self) -> dict[str, str]:
        """The variables that a job is given: only those of the language where its worker has
        programs of its own."""
        if self._has_shared_software:
            return _environment()
        given = {name: os.environ[name] for name in _LANGUAGE if name in os.environ}
        folder = os.path.dirname(self.get_python_executable())
        return {**given, "PATH": f"{folder}:{_USUAL_PATH}"} if folder else given

    # States

    async def check_active_jobs(
        self, active_jobs: Sequence[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Reports jobs that have ended; yields the others. Costs those that have ended since."""
        # Snakemake begins to check before `__post_init__` has run.
        if not active_jobs:
            return
        ended: dict[Place, client.OperationRow] = {}
        try:
            ended = self._ends.take({info.aux["place"] for info in active_jobs})
        except Refused as error:
            # A right that is gone stays away.
            if error.code == "FORBIDDEN":
                for info in active_jobs:
                    self._end(info)
                    self.report_job_error(info, msg=f"OpCluster does not tell of it: {error}. ")
                return
            self.logger.warning(f"OpCluster does not tell of the jobs: {error}")
        except (OpClusterError, TimeoutError) as error:
            # They run on; it is asked again.
            self.logger.warning(f"OpCluster does not answer: {error or 'nothing came in time'}")
        for info in active_jobs:
            coming = self._coming.get(info.aux["place"])
            row = ended.get(info.aux["place"])
            if coming is not None:
                if not coming.done():
                    yield info
                    continue
                del self._coming[info.aux["place"]]
                problem = coming.exception()
                if isinstance(problem, (OpClusterError, TimeoutError)) and self._may_bring(info):
                    # Its worker, or the coordinator, may be back in a moment.
                    self._bring(info, pause=_BRING_PAUSE)
                    yield info
                    continue
                self._end(info)
                if problem is None:
                    self.report_job_success(info)
                    continue
                reason = f"what it has left cannot be brought: {problem or 'nothing came in time'}"
                # Of groups nothing else is shown.
                self.logger.error(f"OpCluster {info.external_jobid}: {reason}")
                self.report_job_error(info, msg=f"{reason}. ")
            elif row is None:
                yield info
            elif row.outcome == words.OUTCOME_SUCCEEDED and self._files is not None:
                info.aux["bring_until"] = time.monotonic() + _BRING_SECONDS
                self._bring(info)
                yield info
            else:
                self._end(info)
                if row.outcome == words.OUTCOME_SUCCEEDED:
                    self.report_job_success(info)
                    continue
                self._bring_log(info)
                self.report_job_error(
                    info, msg=_reason(row, info.external_jobid), aux_logs=[info.aux["log"]]
                )

    def _may_bring(self, info: SubmittedJobInfo) -> bool:
        return time.monotonic() < info.aux["bring_until"]

    def _bring(self, info: SubmittedJobInfo, pause: float = 0.0) -> None:
        """Has what a job has left brought, after a pause."""
        files = self._files
        assert files is not None

        def bring() -> None:
            time.sleep(pause)
            files.bring(info.job, self._handle(info))

        self._coming[info.aux["place"]] = self._bringing.submit(bring)

    def _handle(self, info: SubmittedJobInfo) -> OperationHandle:
        graph, index = info.aux["place"]
        return self._cluster.graph(graph).handle(index)

    def _bring_log(self, info: SubmittedJobInfo) -> None:
        """Writes the log of a job where it did not write it itself."""
        if self._files is None:
            return
        try:
            text = self._handle(info).log()
        except (OpClusterError, TimeoutError) as error:
            text = f"(its log cannot be read: {error})\n"
        with open(info.aux["log"], "w", encoding="utf-8") as file:
            file.write(text)

    def _end(self, info: SubmittedJobInfo) -> None:
        """Notes that a job needs no cancellation any more."""
        with self._places_lock:
            self._places.discard(info.aux["place"])

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """Cancels all jobs with all that they have started, in one request."""
        with self._places_lock:
            places = sorted(self._places)
        if not places:
            return
        target = client.OperationTarget(operations=columns.operation_columns(places))
        try:
            self._cluster.ask(cancel=client.Cancel(target=target, reason="snakemake has stopped"))
        except (OpClusterError, TimeoutError) as error:
            self.logger.error(f"the jobs may run on: {error}; see 'opbatch ls'")

    def shutdown(self) -> None:
        """Ends the thread of the checks, then the connection."""
        super().shutdown()
        self._bringing.shutdown(wait=False, cancel_futures=True)
        self._cluster.close()
        if self._files is not None:
            self._files.close()


def _environment() -> dict[str, str]:
    """The variables that a job is given. Folders of PATH that are not absolute are left out: they
    would be others there."""
    given = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    folders = [folder for folder in os.environ.get("PATH", "").split(":") if folder[:1] == "/"]
    return {**given, "PATH": ":".join(folders)} if folders else given


def _file_name(name: str) -> str:
    """The name of a rule or a group as a file's."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:100]


def _number(value: Any) -> float:
    """A resource as a number; 0 where it is none."""
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return 0.0


def _memory(megabytes: float) -> int:
    """The memory of a job in bytes; 0: it asks for none, and is not limited."""
    return int(megabytes * 1_000_000) + _OWN_MEMORY if megabytes else 0


def _priority(number: float) -> PriorityName:
    """Snakemake's numbers as one of five levels: that of a job that --prioritize names is beyond
    any number that a rule can have."""
    if number >= JobExecutorInterface.HIGHEST_PRIORITY:
        return "very_high"
    return "high" if number > 0 else "low" if number < 0 else "normal"


def _amounts(text: Any) -> dict[str, float]:
    """``name=amount,name=amount`` as resources that workers offer.

    :raises WorkflowError: for another form.
    """
    found: dict[str, float] = {}
    for part in str(text).split(",") if text else ():
        name, equals, amount = part.partition("=")
        try:
            number = float(amount)
        except ValueError:
            number = -1.0
        if not equals or not name.strip() or not 0 <= number < 1e9:
            raise WorkflowError(f"opcluster_resources: '{part}' is not NAME=AMOUNT")
        found[name.strip()] = number
    return found


def _requirements(text: Any) -> dict[str, list[str]]:
    """``key=value,key=value2`` as labels of workers.

    :raises WorkflowError: for another form.
    """
    found: dict[str, list[str]] = {}
    for part in str(text).split(",") if text else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise WorkflowError(f"opcluster_require: '{part}' is not KEY=VALUE")
        found.setdefault(key.strip(), []).append(value.strip())
    return found


def _reason(row: client.OperationRow, shown: str | None) -> str:
    """Why a job failed, for people."""
    result = row.result
    cause = result.cause[0] if result.cause else words.FAILURE_CAUSE_NONE
    said = result.diagnostic[0] if result.diagnostic else ""
    _, is_of_job, words_of_job = said.partition("warm_start.JobFailed: ")
    if cause in _CAUSES:
        reason = _CAUSES[cause]
    elif result.signal and result.signal[0]:
        reason = f"it was ended by signal {result.signal[0]}"
    elif is_of_job:
        reason, said = words_of_job.partition(";")[0], ""
    elif result.exit_status and result.exit_status[0]:
        reason = f"it ended with status {result.exit_status[0]}"
    else:
        reason = words.Outcome.Name(row.outcome).removeprefix("OUTCOME_").lower()
    return f"OpCluster {shown}: {reason}{': ' + said if said else ''}. "


__all__ = ["Executor", "ExecutorSettings", "common_settings"]
