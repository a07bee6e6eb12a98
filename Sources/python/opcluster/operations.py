"""Operations as objects, and the submission that they make. Pure."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

import cloudpickle

from opcluster import calls, columns, files, limits
from opcluster.batches import valid_name
from opcluster.contents import Content
from opcluster.files import FileReader, Inputs, SubmittedFile
from opcluster.relative_paths import check_file_name
from opcluster.v1 import submission_pb2 as words

Policy = Literal["finished", "succeeded", "failed"]
PriorityName = Literal["very_low", "low", "normal", "high", "very_high"]
QualityName = Literal["background", "utility", "default", "user_initiated", "user_interactive"]


_POLICIES: Final[Mapping[Policy, words.EdgePolicy]] = {
    "finished": words.EDGE_POLICY_FINISHED,
    "succeeded": words.EDGE_POLICY_SUCCEEDED,
    "failed": words.EDGE_POLICY_FAILED,
}
PRIORITIES: Final[Mapping[PriorityName, words.Priority]] = {
    "very_low": words.PRIORITY_VERY_LOW,
    "low": words.PRIORITY_LOW,
    "normal": words.PRIORITY_NORMAL,
    "high": words.PRIORITY_HIGH,
    "very_high": words.PRIORITY_VERY_HIGH,
}
QUALITIES: Final[Mapping[QualityName, words.QualityOfService]] = {
    "background": words.QUALITY_OF_SERVICE_BACKGROUND,
    "utility": words.QUALITY_OF_SERVICE_UTILITY,
    "default": words.QUALITY_OF_SERVICE_DEFAULT,
    "user_initiated": words.QUALITY_OF_SERVICE_USER_INITIATED,
    "user_interactive": words.QUALITY_OF_SERVICE_USER_INTERACTIVE,
}

N = TypeVar("N", bound=str)
E = TypeVar("E")


def several(texts: str | Iterable[str]) -> tuple[str, ...]:
    """A text alone is one, and not as many as it has letters."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def named(choices: Mapping[N, E], name: N) -> E:
    """The choice of this name.

    :raises ValueError: if there is none; says which there are.
    """
    try:
        return choices[name]
    except (KeyError, TypeError):
        raise ValueError(f"{name!r} is none of {', '.join(choices)}") from None


class Index:
    """In a text of an array's command: the element's number, from 1."""


INDEX: Final = Index()


@dataclass(frozen=True)
class OutputText:
    """In a text of a command: the value of an output of a dependency."""

    operation: Operation
    key: str




@dataclass
class Settings:
    """How an operation is to be run."""

    #: Processors; `memory` in bytes; `gpus`. None: one processor.
    cpus: float | None = None
    memory: int = 0
    gpus: float = 0
    #: Amounts of other resources that workers offer (``opworker --resource NAME=AMOUNT``).
    resources: Mapping[str, float] = field(default_factory=dict)
    #: The worker's label of this key must have one of the values.
    requirements: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    priority: PriorityName = "normal"
    qos: QualityName | None = None
    #: Further attempts after a failure, 0 to 100.
    retries: int = 0
    #: Seconds from the start of an attempt to being asked to stop.
    timeout: float | None = None
    #: Losses of its worker before it ends as lost: 0 lets the first one end it, None means five.
    maximum_losses: int | None = None
    #: Elements of an array that run at once; None: any number.
    maximum_parallel: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Its failure does not count against the graph.
    may_fail: bool = False
    #: It waits until it is released.
    is_held: bool = False
    #: Never two of it at once, whatever becomes of its worker.
    is_exclusive: bool = False


class Operation:
    """One operation of a graph, or an array of them."""

    def __init__(
        self, name: str, count: int | None, settings: Settings, inputs: Inputs | None = None
    ) -> None:
        #: Its name in the graph.
        self.name = valid_name(name)
        #: Elements of the array; None: a plain operation.
        self.count = count
        self.settings = settings
        self.dependencies: list[tuple[Operation, Policy, bool]] = []
        #: Files of dependencies that it reads: whose, their name, and whether by index.
        self._needed: list[tuple[Operation, str, bool]] = []
        self._inputs: Inputs = inputs or {}
        for input_name in self._inputs:
            check_file_name(input_name)
        self._read: list[SubmittedFile] = []
        #: Graph and index of the (first) operation once it was submitted.
        self.place: columns.OperationKey | None = None
        self._final_name = self.name

    def depends_on(
        self,
        *others: Operation,
        policy: Policy = "succeeded",
        by_index: bool = False,
        files: str | Sequence[str] = (),
    ) -> Operation:
        """Lets it begin when others have ended so. Returns itself.

        :param by_index: each element waits for the element of the same number alone.
        :param files: names of what they leave; a command finds it at ``$OP_INPUTS/OPERATION/NAME``,
            a function by `RunningOperation.input_file` of ``OPERATION/NAME``. Of an array that is
            ``OPERATION/INDEX/NAME``, unless by index.
        :raises ValueError: if it was submitted already, or no file can have such a name.
        """
        if self.place is not None:
            raise ValueError(f"'{self.name}' was submitted already")
        names = several(files)
        for file in names:
            check_file_name(file)
        self.dependencies += [(other, policy, by_index) for other in others]
        self._needed += [(other, name, by_index) for other in others for name in names]
        return self

    def output(self, key: str) -> OutputText:
        """The value of one of its outputs, for the text of a command that depends on it."""
        return OutputText(self, key)

    def read_inputs(self, reader: FileReader) -> Sequence[Content]:
        """Reads its files of this program. Returns what has to lie in stores of workers.

        :raises OSError: if one is not there, or cannot be read.
        :raises ValueError: if they are too many.
        """
        self._read = reader.read(self._inputs)
        return [file.content for file in self._read]

    def _fill(self, template: words.Template, names: Callable[[Operation], str]) -> None:
        raise NotImplementedError


class Command(Operation):
    """A command: a list of arguments, or a text for the shell."""

    def __init__(
        self,
        command: str | Sequence[Any],
        *,
        name: str | None = None,
        count: int | None = None,
        environment: Mapping[str, Any] | None = None,
        folder: str | None = None,
        outputs: str | Sequence[str] = (),
        inputs: Inputs | None = None,
        output_files: Mapping[str, Any] | None = None,
        output_bytes: int = 1 << 20,
        **settings: Any,
    ) -> None:
        """
        :param command: a text for ``/bin/sh``, or arguments: texts, `INDEX`, `output(key)`, or
            lists of these.
        :param folder: the working directory; None: this program's, or one of its own that is
            emptied afterwards if it reads or leaves files; ``""``: one of its own in any case.
        :param outputs: keys that the command must write to the file ``$OP_OUTPUT``.
        :param inputs: files of this program, by the names that they have in ``$OP_INPUTS``: the
            path of a file or a folder, a pattern, or files by their paths in a folder of this name.
            They are read when the operation is submitted, and travel to the worker.
        :param output_files: what it leaves for others, by their names: paths of files and folders,
            or patterns, in its working directory; texts as those of `command`. They are there when
            it ends, or it has failed.
        :param output_bytes: the most that is kept of each of its streams.
        :param settings: as in `Settings`.
        :raises ValueError: if the command is empty, or an input or an output has a name that no
            file has.
        """
        if not command:
            raise ValueError("a command has at least a word")
        first = command if isinstance(command, str) else str(command[0])
        words_of_it = first.split()
        given = name or (os.path.basename(words_of_it[0]) if words_of_it else "command")
        super().__init__(given, count, Settings(**settings), inputs)
        self._command = command
        self._environment = environment or {}
        self._folder = folder
        self._outputs = several(outputs)
        self._output_bytes = output_bytes
        self._output_files = output_files or {}
        for file in self._output_files:
            check_file_name(file)

    @property
    def _working_directory(self) -> str:
        if self._folder is not None:
            return self._folder
        hands_on = self._inputs or self._output_files or self._needed
        return "" if hands_on else os.getcwd()

    def _fill(self, template: words.Template, names: Callable[[Operation], str]) -> None:
        is_shell = isinstance(self._command, str)
        texts = [self._command] if isinstance(self._command, str) else self._command
        command = words.Command(
            form=words.Command.FORM_SHELL if is_shell else words.Command.FORM_ARGUMENTS,
            arguments=[command_text(text, names) for text in texts],
            interpreter=["/bin/sh", "-c"] if is_shell else [],
            environment=[
                words.Command.Variable(name=key, value=command_text(value, names))
                for key, value in self._environment.items()
            ],
            working_directory=self._working_directory,
            stop_signal=15,
            outputs=self._outputs,
            maximum_output_bytes=self._output_bytes,
            output_files=[
                words.OutputFile(name=key, path=command_text(path, names))
                for key, path in self._output_files.items()
            ],
        )
        template.work = words.WORK_KIND_COMMAND
        filled = [
            *command.arguments,
            *(variable.value for variable in command.environment),
            *(file.path for file in command.output_files),
        ]
        template.wants_inputs = any(
            segment.HasField("output") for text in filled for segment in text.segments
        )
        template.payload = command.SerializeToString()


class Call(Operation):
    """A registered operation type of a worker, with an argument in JSON."""

    def __init__(
        self,
        type_name: str,
        argument: Any = None,
        *,
        version: int = 1,
        name: str | None = None,
        elements: Iterable[Any] | None = None,
        inputs: Inputs | None = None,
        **settings: Any,
    ) -> None:
        """
        :param argument: of a plain operation; `elements`: the arguments of an array's elements.
        :param inputs: files of this program that it reads, as of a `Command`.
        """
        found = None if elements is None else [_json(element) for element in elements]
        super().__init__(
            name or type_name, None if found is None else len(found), Settings(**settings), inputs
        )
        self._type = words.OperationType(name=type_name, version=version)
        self._argument = _json(argument)
        self._elements = found

    def _fill(self, template: words.Template, names: Callable[[Operation], str]) -> None:
        template.work = words.WORK_KIND_CALL
        template.type.CopyFrom(self._type)
        template.payload = self._argument
        template.wants_inputs = bool(self.dependencies)
        _fill_elements(template, self._elements)


class PythonFunction(Operation):
    """A call of a function of Python, or an array of calls."""

    def __init__(
        self,
        function: Callable[..., Any] | str,
        *arguments: Any,
        keywords: Mapping[str, Any] | None = None,
        elements: Iterable[tuple[Any, ...]] | None = None,
        name: str | None = None,
        python: str | None = sys.executable,
        venv: str | None = None,
        import_paths: Sequence[str] | None = None,
        pool: str | None = None,
        inputs: Inputs | None = None,
        **settings: Any,
    ) -> None:
        """
        :param function: the function, or ``module:name`` of one that is imported at the worker.
            What it returns is left as a pickle, or as JSON if it was given by its name.
        :param elements: the arguments of each call of an array, instead of `arguments`.
        :param import_paths: folders in which workers find modules besides; None: those of
            ``sys.path``.
        :param python: the workers' interpreter; `venv`: the folder of a virtual environment.
        :param pool: functions of one pool share interpreters, and with no others; None: those of
            all that name none. A name of at most 128 bytes.
        :param inputs: files of this program that it reads by `RunningOperation.input_file`, by
            their names there; otherwise as of a `Command`.
        :raises ValueError: if it, or one of the arguments, is too large.
        """
        found = None
        if elements is not None:
            if arguments:
                raise ValueError("give arguments or elements")
            found = [_argument(element, keywords) for element in elements]
        if name is None:
            name = function.rpartition(":")[2] if isinstance(function, str) else getattr(
                function, "__name__", type(function).__name__
            )
        super().__init__(
            name, None if found is None else len(found), Settings(**settings), inputs
        )
        is_named = isinstance(function, str)
        self._elements = found
        self._payload = calls.payload(
            function if isinstance(function, str)
            else cloudpickle.dumps(function, calls.PICKLE_PROTOCOL),
            interpreter=None if venv else python,
            venv=venv,
            arguments=list(arguments) if is_named else None,
            keywords=keywords if is_named else None,
            paths=own_import_paths() if import_paths is None else tuple(import_paths),
            pool=pool,
        )
        if found is None and not is_named and (arguments or keywords):
            self._elements = [_argument(arguments, keywords)]

    def _fill(self, template: words.Template, names: Callable[[Operation], str]) -> None:
        template.work = words.WORK_KIND_CALL
        template.type.CopyFrom(words.OperationType(name="python", version=1))
        template.payload = self._payload
        template.wants_inputs = bool(self.dependencies)
        _fill_elements(template, self._elements)


class Join(Operation):
    """Nothing to run: it ends when what it depends on has ended."""

    def __init__(self, name: str = "join", **settings: Any) -> None:
        super().__init__(name, None, Settings(**settings))

    def _fill(self, template: words.Template, names: Callable[[Operation], str]) -> None:
        template.work = words.WORK_KIND_NOTHING


def own_import_paths() -> tuple[str, ...]:
    """The folders of ``sys.path`` that are not the installation's own."""
    installed = (sys.prefix, sys.base_prefix, sys.exec_prefix)
    found = []
    for path in sys.path:
        folder = os.path.abspath(path) if path else os.getcwd()
        if not folder.startswith(installed) and os.path.isdir(folder):
            found.append(folder)
    return tuple(dict.fromkeys(found))[:64]


def _json(value: Any) -> bytes:
    return b"" if value is None else json.dumps(value, separators=(",", ":")).encode()


def _argument(arguments: tuple[Any, ...], keywords: Mapping[str, Any] | None) -> bytes:
    pickled = cloudpickle.dumps((tuple(arguments), dict(keywords or {})), pickle.HIGHEST_PROTOCOL)
    if len(pickled) > limits.ELEMENT_ARGUMENT_BYTES:
        raise ValueError(
            f"the arguments of one call have {len(pickled)} bytes, more than "
            f"{limits.ELEMENT_ARGUMENT_BYTES}; use ClusterExecutor, which leaves them in stores"
        )
    return bytes(pickled)


def _fill_own_files(template: words.Template, found: Sequence[SubmittedFile]) -> None:
    if not found:
        return
    own = files.outputs(found)
    if len(own) > limits.OWN_FILES_BYTES:
        raise ValueError(
            f"the names of the files of '{template.name}' are too long together; put the files "
            "into an archive"
        )
    template.own_files = own
    template.own_files_length.append(len(own))
    template.input_files.extend(
        words.InputFile(operation=files.SUBMITTER, file=name, folder=files.SUBMITTER)
        for name in dict.fromkeys(file.name for file in found)
    )


def _fill_elements(template: words.Template, elements: list[bytes] | None) -> None:
    if elements:
        template.element_arguments = b"".join(elements)
        template.element_argument_length.extend(map(len, elements))


def command_text(text: Any, names: Callable[[Operation], str]) -> words.CommandText:
    """A text, with places for what is known only when the attempt starts."""
    found = words.CommandText()
    parts = text if isinstance(text, (list, tuple)) else [text]
    for part in parts:
        if isinstance(part, Index):
            found.segments.add().index.SetInParent()
        elif isinstance(part, OutputText):
            found.segments.add().output.CopyFrom(
                words.CommandText.Output(operation=names(part.operation), key=part.key)
            )
        else:
            found.segments.add().literal = str(part)
    return found




def submission(
    operations: Sequence[Operation],
    *,
    key: str,
    name: str,
    queue: str | None,
    is_suspended: bool = False,
    labels: Mapping[str, str] | None = None,
) -> words.Submission:
    """A graph of these operations; dependencies outside of it were submitted before.

    :raises ValueError: if a dependency is neither here nor submitted, or one stands here twice.
    """
    positions: dict[int, int] = {}
    first: list[int] = []
    total = 0
    taken: set[str] = set()
    for at, operation in enumerate(operations):
        if id(operation) in positions or operation.place is not None:
            raise ValueError(f"'{operation.name}' is submitted twice")
        positions[id(operation)] = at
        first.append(total)
        total += operation.count if operation.count is not None else 1
        operation._final_name = _unique(operation.name, taken)

    def names(operation: Operation) -> str:
        return operation._final_name

    made = words.Submission(key=key, name=valid_name(name), is_suspended=is_suspended)
    made.labels.extend(words.Label(key=k, value=v) for k, v in sorted((labels or {}).items()))
    if queue is not None:
        made.queues.append(words.QueueReference(named=queue))
    outer: list[tuple[columns.OperationKey, int, words.EdgePolicy]] = []
    for at, operation in enumerate(operations):
        template = made.templates.add(
            name=operation._final_name,
            count=operation.count if operation.count is not None else 1,
            is_array=operation.count is not None,
        )
        _fill_settings(template, operation.settings)
        operation._fill(template, names)
        _fill_own_files(template, operation._read)
        template.wants_inputs |= bool(operation._needed)
        taken_by_others = {names(other) for other, _, _ in operation._needed}
        if both := taken_by_others & {file.name for file in operation._read}:
            raise ValueError(
                f"'{operation.name}' is given '{min(both)}' and reads files of an operation of "
                "this name; give it by another one"
            )
        template.input_files.extend(
            words.InputFile(
                operation=names(other),
                file=file,
                folder=names(other),
                is_by_index=other.count is not None and not by_index,
            )
            for other, file, by_index in operation._needed
        )
        for other, policy, by_index in operation.dependencies:
            edge = named(_POLICIES, policy)
            if id(other) in positions:
                match = words.EDGE_MATCH_SAME_INDEX if by_index else words.EDGE_MATCH_ALL
                getattr(made.group_edges, "from").append(positions[id(other)])
                made.group_edges.to.append(at)
                made.group_edges.policy.append(edge)
                made.group_edges.match.append(match)
            elif other.place is None:
                raise ValueError(
                    f"'{operation.name}' depends on '{other.name}', which is not submitted"
                )
            else:
                outer += _outer_edges(operation, first[at], other, by_index, edge)
    if outer:
        getattr(made.external_edges, "from").CopyFrom(
            columns.operation_columns(source for source, _, _ in outer)
        )
        made.external_edges.to.extend(target for _, target, _ in outer)
        made.external_edges.policy.extend(policy for _, _, policy in outer)
    return made


def _outer_edges(
    operation: Operation, first: int, other: Operation, by_index: bool, policy: words.EdgePolicy
) -> list[tuple[columns.OperationKey, int, words.EdgePolicy]]:
    assert other.place is not None
    graph, begin = other.place
    sources = [(graph, begin + at) for at in range(other.count or 1)]
    targets = [first + at for at in range(operation.count or 1)]
    if by_index:
        return [(source, target, policy) for source, target in zip(sources, targets)]
    return [(source, target, policy) for source in sources for target in targets]


def _unique(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}.{number}"
    taken.add(found)
    return found


def resources(
    cpus: float | None, memory: int, gpus: float, others: Mapping[str, float] | None = None
) -> words.Resources | None:
    """The resources of an operation; None: one processor.

    :raises ValueError: for a negative number.
    """
    others = others or {}
    if min(1 if cpus is None else cpus, memory, gpus, *others.values()) < 0:
        raise ValueError("amounts of resources must not be negative")
    if cpus in (None, 1) and not memory and not gpus and not others:
        return None
    return words.Resources(
        cpus=round((1 if cpus is None else cpus) * 10_000),
        memory_bytes=memory,
        gpus=round(gpus * 10_000),
        custom=[
            words.NamedAmount(name=name, ten_thousandths=round(amount * 10_000))
            for name, amount in sorted(others.items())
        ],
    )


def _fill_settings(template: words.Template, settings: Settings) -> None:
    demand = resources(settings.cpus, settings.memory, settings.gpus, settings.resources)
    if demand is not None:
        template.demand.CopyFrom(demand)
    template.requirements.extend(
        words.LabelRequirement(key=key, values=several(values))
        for key, values in sorted(settings.requirements.items())
    )
    template.priority = named(PRIORITIES, settings.priority)
    if settings.qos is not None:
        template.qos = named(QUALITIES, settings.qos)
    if settings.retries:
        template.retry.CopyFrom(
            words.RetryPolicy(
                maximum=settings.retries,
                reasons=[words.RetryReason(kind=words.RetryReason.KIND_ANY)],
            )
        )
    if settings.timeout is not None:
        template.timeout_nanoseconds = round(settings.timeout * 1e9)
    if settings.maximum_losses is not None:
        template.maximum_losses = settings.maximum_losses
    if settings.maximum_parallel is not None:
        template.maximum_parallel = settings.maximum_parallel
    template.labels.extend(
        words.Label(key=key, value=value) for key, value in sorted(settings.labels.items())
    )
    if settings.may_fail:
        template.allowed_failures = words.ALLOWED_FAILURES_ALL
    template.is_held = settings.is_held
    template.is_exclusive = settings.is_exclusive
