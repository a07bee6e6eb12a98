from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

ADVICE_CODE_ADD_KEY: AdviceCode
ADVICE_CODE_CANCEL_GRAPH: AdviceCode
ADVICE_CODE_CANCEL_QUEUE: AdviceCode
ADVICE_CODE_CHANGE_USER: AdviceCode
ADVICE_CODE_COMPARE_KEYS: AdviceCode
ADVICE_CODE_COMPARE_RELEASES: AdviceCode
ADVICE_CODE_CREATE_QUEUE: AdviceCode
ADVICE_CODE_DRAIN_WORKER: AdviceCode
ADVICE_CODE_FIND_WORKER: AdviceCode
ADVICE_CODE_JOIN: AdviceCode
ADVICE_CODE_LIST_GRAPHS: AdviceCode
ADVICE_CODE_LIST_WORKERS: AdviceCode
ADVICE_CODE_RAISE_LIMIT: AdviceCode
ADVICE_CODE_RELEASE: AdviceCode
ADVICE_CODE_RELEASE_EARLY: AdviceCode
ADVICE_CODE_REMOVE_QUEUES: AdviceCode
ADVICE_CODE_RESUME_GRAPH: AdviceCode
ADVICE_CODE_RESUME_QUEUE: AdviceCode
ADVICE_CODE_START_CLUSTER: AdviceCode
ADVICE_CODE_UNSPECIFIED: AdviceCode
ALLOWED_FAILURES_ALL: AllowedFailures
ALLOWED_FAILURES_EXIT_STATUSES: AllowedFailures
ALLOWED_FAILURES_UNSPECIFIED: AllowedFailures
DESCRIPTOR: _descriptor.FileDescriptor
EDGE_MATCH_ALL: EdgeMatch
EDGE_MATCH_SAME_INDEX: EdgeMatch
EDGE_MATCH_UNSPECIFIED: EdgeMatch
EDGE_POLICY_FAILED: EdgePolicy
EDGE_POLICY_FINISHED: EdgePolicy
EDGE_POLICY_SUCCEEDED: EdgePolicy
EDGE_POLICY_UNSPECIFIED: EdgePolicy
FAILURE_CAUSE_BAD_ARGUMENT: FailureCause
FAILURE_CAUSE_BAD_OUTPUT: FailureCause
FAILURE_CAUSE_CANNOT_START: FailureCause
FAILURE_CAUSE_FAILED: FailureCause
FAILURE_CAUSE_INPUT_UNAVAILABLE: FailureCause
FAILURE_CAUSE_LOST: FailureCause
FAILURE_CAUSE_MISSING_INPUT: FailureCause
FAILURE_CAUSE_NONE: FailureCause
FAILURE_CAUSE_OUT_OF_MEMORY: FailureCause
FAILURE_CAUSE_SIGNAL: FailureCause
FAILURE_CAUSE_STORE_FULL: FailureCause
FAILURE_CAUSE_TIMEOUT: FailureCause
FAILURE_CAUSE_UNKNOWN_TYPE: FailureCause
FAILURE_CAUSE_UNSPECIFIED: FailureCause
FAILURE_CAUSE_WORKER_STOPPED: FailureCause
FAILURE_POLICY_CANCEL: FailurePolicy
FAILURE_POLICY_CONTINUE: FailurePolicy
FAILURE_POLICY_STOP: FailurePolicy
FAILURE_POLICY_UNSPECIFIED: FailurePolicy
LOG_STREAM_ERROR: LogStream
LOG_STREAM_OUTPUT: LogStream
LOG_STREAM_UNSPECIFIED: LogStream
OUTCOME_CANCELLED: Outcome
OUTCOME_FAILED: Outcome
OUTCOME_LOST: Outcome
OUTCOME_SKIPPED: Outcome
OUTCOME_SUCCEEDED: Outcome
OUTCOME_TIMED_OUT: Outcome
OUTCOME_UNSPECIFIED: Outcome
PRIORITY_HIGH: Priority
PRIORITY_LOW: Priority
PRIORITY_NORMAL: Priority
PRIORITY_UNSPECIFIED: Priority
PRIORITY_VERY_HIGH: Priority
PRIORITY_VERY_LOW: Priority
QUALITY_OF_SERVICE_BACKGROUND: QualityOfService
QUALITY_OF_SERVICE_DEFAULT: QualityOfService
QUALITY_OF_SERVICE_UNSPECIFIED: QualityOfService
QUALITY_OF_SERVICE_USER_INITIATED: QualityOfService
QUALITY_OF_SERVICE_USER_INTERACTIVE: QualityOfService
QUALITY_OF_SERVICE_UTILITY: QualityOfService
REFUSAL_CODE_ALREADY_ENQUEUED: RefusalCode
REFUSAL_CODE_ALREADY_FINISHED: RefusalCode
REFUSAL_CODE_ALREADY_STARTED: RefusalCode
REFUSAL_CODE_BAD_LIMIT: RefusalCode
REFUSAL_CODE_BAD_REQUEST: RefusalCode
REFUSAL_CODE_BUSY: RefusalCode
REFUSAL_CODE_CONFLICT: RefusalCode
REFUSAL_CODE_CONFLICTING_EDGE: RefusalCode
REFUSAL_CODE_CYCLE: RefusalCode
REFUSAL_CODE_EVICTED: RefusalCode
REFUSAL_CODE_EXPIRED: RefusalCode
REFUSAL_CODE_FORBIDDEN: RefusalCode
REFUSAL_CODE_LIMIT_EXCEEDED: RefusalCode
REFUSAL_CODE_NOT_READY: RefusalCode
REFUSAL_CODE_NO_SUCH_LOG: RefusalCode
REFUSAL_CODE_OTHER_HISTORY: RefusalCode
REFUSAL_CODE_QUEUE_EXISTS: RefusalCode
REFUSAL_CODE_QUEUE_NOT_EMPTY: RefusalCode
REFUSAL_CODE_SELF_DEPENDENCY: RefusalCode
REFUSAL_CODE_SHUTTING_DOWN: RefusalCode
REFUSAL_CODE_UNKNOWN_DEPENDENCY: RefusalCode
REFUSAL_CODE_UNKNOWN_GRAPH: RefusalCode
REFUSAL_CODE_UNKNOWN_OPERATION: RefusalCode
REFUSAL_CODE_UNKNOWN_QUEUE: RefusalCode
REFUSAL_CODE_UNKNOWN_WORKER: RefusalCode
REFUSAL_CODE_UNSPECIFIED: RefusalCode
REFUSAL_CODE_VERSION_MISMATCH: RefusalCode
REFUSAL_CODE_WORKER_UNAVAILABLE: RefusalCode
REFUSAL_CODE_WOULD_DEADLOCK: RefusalCode
REFUSAL_CODE_WOULD_STARVE: RefusalCode
WORK_KIND_BLOCKS: WorkKind
WORK_KIND_CALL: WorkKind
WORK_KIND_COMMAND: WorkKind
WORK_KIND_NOTHING: WorkKind
WORK_KIND_UNSPECIFIED: WorkKind

class Advice(_message.Message):
    __slots__ = ["code", "name", "number"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    code: AdviceCode
    name: str
    number: int
    def __init__(self, code: _Optional[_Union[AdviceCode, str]] = ..., name: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ["graph", "index", "number"]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    graph: int
    index: int
    number: int
    def __init__(self, graph: _Optional[int] = ..., index: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class AttemptHistories(_message.Message):
    __slots__ = ["attempts", "count", "outcome", "ready_at_delta", "reason", "reason_at", "results", "run", "worker", "worker_names"]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    READY_AT_DELTA_FIELD_NUMBER: _ClassVar[int]
    REASON_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_NAMES_FIELD_NUMBER: _ClassVar[int]
    attempts: Attempts
    count: _containers.RepeatedScalarFieldContainer[int]
    outcome: _containers.RepeatedScalarFieldContainer[Outcome]
    ready_at_delta: _containers.RepeatedScalarFieldContainer[int]
    reason: _containers.RepeatedCompositeFieldContainer[CancelReason]
    reason_at: _containers.RepeatedScalarFieldContainer[int]
    results: AttemptResults
    run: _containers.RepeatedScalarFieldContainer[int]
    worker: _containers.RepeatedScalarFieldContainer[int]
    worker_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, attempts: _Optional[_Union[Attempts, _Mapping]] = ..., outcome: _Optional[_Iterable[_Union[Outcome, str]]] = ..., reason_at: _Optional[_Iterable[int]] = ..., reason: _Optional[_Iterable[_Union[CancelReason, _Mapping]]] = ..., worker_names: _Optional[_Iterable[str]] = ..., worker: _Optional[_Iterable[int]] = ..., results: _Optional[_Union[AttemptResults, _Mapping]] = ..., run: _Optional[_Iterable[int]] = ..., count: _Optional[_Iterable[int]] = ..., ready_at_delta: _Optional[_Iterable[int]] = ...) -> None: ...

class AttemptResults(_message.Message):
    __slots__ = ["cause", "count", "diagnostic", "diagnostic_at", "ended_after", "exit_status", "flags", "maximum_resident_bytes", "output", "output_at", "processor_microseconds", "signal", "started_at_delta"]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTIC_AT_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTIC_FIELD_NUMBER: _ClassVar[int]
    ENDED_AFTER_FIELD_NUMBER: _ClassVar[int]
    EXIT_STATUS_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_AT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    PROCESSOR_MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_DELTA_FIELD_NUMBER: _ClassVar[int]
    cause: _containers.RepeatedScalarFieldContainer[FailureCause]
    count: int
    diagnostic: _containers.RepeatedScalarFieldContainer[str]
    diagnostic_at: _containers.RepeatedScalarFieldContainer[int]
    ended_after: _containers.RepeatedScalarFieldContainer[int]
    exit_status: _containers.RepeatedScalarFieldContainer[int]
    flags: bytes
    maximum_resident_bytes: _containers.RepeatedScalarFieldContainer[int]
    output: _containers.RepeatedScalarFieldContainer[bytes]
    output_at: _containers.RepeatedScalarFieldContainer[int]
    processor_microseconds: _containers.RepeatedScalarFieldContainer[int]
    signal: _containers.RepeatedScalarFieldContainer[int]
    started_at_delta: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, count: _Optional[int] = ..., cause: _Optional[_Iterable[_Union[FailureCause, str]]] = ..., exit_status: _Optional[_Iterable[int]] = ..., signal: _Optional[_Iterable[int]] = ..., flags: _Optional[bytes] = ..., maximum_resident_bytes: _Optional[_Iterable[int]] = ..., processor_microseconds: _Optional[_Iterable[int]] = ..., started_at_delta: _Optional[_Iterable[int]] = ..., ended_after: _Optional[_Iterable[int]] = ..., output_at: _Optional[_Iterable[int]] = ..., output: _Optional[_Iterable[bytes]] = ..., diagnostic_at: _Optional[_Iterable[int]] = ..., diagnostic: _Optional[_Iterable[str]] = ...) -> None: ...

class Attempts(_message.Message):
    __slots__ = ["number", "operations"]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    number: _containers.RepeatedScalarFieldContainer[int]
    operations: Operations
    def __init__(self, operations: _Optional[_Union[Operations, _Mapping]] = ..., number: _Optional[_Iterable[int]] = ...) -> None: ...

class BlockResults(_message.Message):
    __slots__ = ["results"]
    class Result(_message.Message):
        __slots__ = ["failed", "skipped", "succeeded"]
        FAILED_FIELD_NUMBER: _ClassVar[int]
        SKIPPED_FIELD_NUMBER: _ClassVar[int]
        SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
        failed: str
        skipped: BlockResults.Skipped
        succeeded: bytes
        def __init__(self, succeeded: _Optional[bytes] = ..., failed: _Optional[str] = ..., skipped: _Optional[_Union[BlockResults.Skipped, _Mapping]] = ...) -> None: ...
    class Skipped(_message.Message):
        __slots__ = []
        def __init__(self) -> None: ...
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BlockResults.Result]
    def __init__(self, results: _Optional[_Iterable[_Union[BlockResults.Result, _Mapping]]] = ...) -> None: ...

class Blocks(_message.Message):
    __slots__ = ["blocks", "element"]
    class Block(_message.Message):
        __slots__ = ["call", "command", "filled_call"]
        CALL_FIELD_NUMBER: _ClassVar[int]
        COMMAND_FIELD_NUMBER: _ClassVar[int]
        FILLED_CALL_FIELD_NUMBER: _ClassVar[int]
        call: Blocks.Call
        command: Command
        filled_call: Blocks.FilledCall
        def __init__(self, command: _Optional[_Union[Command, _Mapping]] = ..., call: _Optional[_Union[Blocks.Call, _Mapping]] = ..., filled_call: _Optional[_Union[Blocks.FilledCall, _Mapping]] = ...) -> None: ...
    class Call(_message.Message):
        __slots__ = ["argument", "type"]
        ARGUMENT_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        argument: bytes
        type: OperationType
        def __init__(self, type: _Optional[_Union[OperationType, _Mapping]] = ..., argument: _Optional[bytes] = ...) -> None: ...
    class FilledCall(_message.Message):
        __slots__ = ["input", "type"]
        INPUT_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        input: CallInput
        type: OperationType
        def __init__(self, type: _Optional[_Union[OperationType, _Mapping]] = ..., input: _Optional[_Union[CallInput, _Mapping]] = ...) -> None: ...
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    blocks: _containers.RepeatedCompositeFieldContainer[Blocks.Block]
    element: bytes
    def __init__(self, blocks: _Optional[_Iterable[_Union[Blocks.Block, _Mapping]]] = ..., element: _Optional[bytes] = ...) -> None: ...

class CallInput(_message.Message):
    __slots__ = ["element_keys", "segments"]
    class Form(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class Segment(_message.Message):
        __slots__ = ["json", "value"]
        JSON_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        json: str
        value: CallInput.Value
        def __init__(self, json: _Optional[str] = ..., value: _Optional[_Union[CallInput.Value, _Mapping]] = ...) -> None: ...
    class Value(_message.Message):
        __slots__ = ["form", "text"]
        FORM_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        form: CallInput.Form
        text: CommandText
        def __init__(self, text: _Optional[_Union[CommandText, _Mapping]] = ..., form: _Optional[_Union[CallInput.Form, str]] = ...) -> None: ...
    ELEMENT_KEYS_FIELD_NUMBER: _ClassVar[int]
    FORM_JSON: CallInput.Form
    FORM_LIST: CallInput.Form
    FORM_SCALAR: CallInput.Form
    FORM_STRING: CallInput.Form
    FORM_UNSPECIFIED: CallInput.Form
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    element_keys: _containers.RepeatedScalarFieldContainer[str]
    segments: _containers.RepeatedCompositeFieldContainer[CallInput.Segment]
    def __init__(self, segments: _Optional[_Iterable[_Union[CallInput.Segment, _Mapping]]] = ..., element_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class CancelReason(_message.Message):
    __slots__ = ["dependency", "kind", "outcome", "text"]
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    DEPENDENCY_FIELD_NUMBER: _ClassVar[int]
    KIND_DEPENDENCY: CancelReason.Kind
    KIND_FAILURE_POLICY: CancelReason.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    KIND_REQUEST: CancelReason.Kind
    KIND_UNSPECIFIED: CancelReason.Kind
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    dependency: Operation
    kind: CancelReason.Kind
    outcome: Outcome
    text: str
    def __init__(self, kind: _Optional[_Union[CancelReason.Kind, str]] = ..., text: _Optional[str] = ..., dependency: _Optional[_Union[Operation, _Mapping]] = ..., outcome: _Optional[_Union[Outcome, str]] = ...) -> None: ...

class Command(_message.Message):
    __slots__ = ["arguments", "element_keys", "environment", "form", "grace_nanoseconds", "interpreter", "maximum_output_bytes", "output_files", "outputs", "standard_error", "standard_input", "standard_input_text", "standard_output", "stop_signal", "success_statuses", "timeout_nanoseconds", "working_directory"]
    class Form(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class StandardInput(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class Variable(_message.Message):
        __slots__ = ["name", "value"]
        NAME_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        name: str
        value: CommandText
        def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[CommandText, _Mapping]] = ...) -> None: ...
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_KEYS_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    FORM_ARGUMENTS: Command.Form
    FORM_FIELD_NUMBER: _ClassVar[int]
    FORM_SHELL: Command.Form
    FORM_UNSPECIFIED: Command.Form
    GRACE_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    INTERPRETER_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FILES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_ERROR_FIELD_NUMBER: _ClassVar[int]
    STANDARD_INPUT_FIELD_NUMBER: _ClassVar[int]
    STANDARD_INPUT_FILE: Command.StandardInput
    STANDARD_INPUT_NOTHING: Command.StandardInput
    STANDARD_INPUT_TEXT: Command.StandardInput
    STANDARD_INPUT_TEXT_FIELD_NUMBER: _ClassVar[int]
    STANDARD_INPUT_UNSPECIFIED: Command.StandardInput
    STANDARD_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    STOP_SIGNAL_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_STATUSES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    WORKING_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    arguments: _containers.RepeatedCompositeFieldContainer[CommandText]
    element_keys: _containers.RepeatedScalarFieldContainer[str]
    environment: _containers.RepeatedCompositeFieldContainer[Command.Variable]
    form: Command.Form
    grace_nanoseconds: int
    interpreter: _containers.RepeatedScalarFieldContainer[str]
    maximum_output_bytes: int
    output_files: _containers.RepeatedCompositeFieldContainer[OutputFile]
    outputs: _containers.RepeatedScalarFieldContainer[str]
    standard_error: CommandText
    standard_input: Command.StandardInput
    standard_input_text: CommandText
    standard_output: CommandText
    stop_signal: int
    success_statuses: bytes
    timeout_nanoseconds: int
    working_directory: str
    def __init__(self, form: _Optional[_Union[Command.Form, str]] = ..., arguments: _Optional[_Iterable[_Union[CommandText, _Mapping]]] = ..., interpreter: _Optional[_Iterable[str]] = ..., environment: _Optional[_Iterable[_Union[Command.Variable, _Mapping]]] = ..., working_directory: _Optional[str] = ..., standard_input: _Optional[_Union[Command.StandardInput, str]] = ..., standard_input_text: _Optional[_Union[CommandText, _Mapping]] = ..., standard_output: _Optional[_Union[CommandText, _Mapping]] = ..., standard_error: _Optional[_Union[CommandText, _Mapping]] = ..., success_statuses: _Optional[bytes] = ..., timeout_nanoseconds: _Optional[int] = ..., stop_signal: _Optional[int] = ..., grace_nanoseconds: _Optional[int] = ..., outputs: _Optional[_Iterable[str]] = ..., element_keys: _Optional[_Iterable[str]] = ..., maximum_output_bytes: _Optional[int] = ..., output_files: _Optional[_Iterable[_Union[OutputFile, _Mapping]]] = ...) -> None: ...

class CommandText(_message.Message):
    __slots__ = ["segments"]
    class Index(_message.Message):
        __slots__ = []
        def __init__(self) -> None: ...
    class Output(_message.Message):
        __slots__ = ["key", "operation"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        OPERATION_FIELD_NUMBER: _ClassVar[int]
        key: str
        operation: str
        def __init__(self, operation: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...
    class Segment(_message.Message):
        __slots__ = ["element", "index", "known", "literal", "output", "quoted_for_shell", "secret"]
        ELEMENT_FIELD_NUMBER: _ClassVar[int]
        INDEX_FIELD_NUMBER: _ClassVar[int]
        KNOWN_FIELD_NUMBER: _ClassVar[int]
        LITERAL_FIELD_NUMBER: _ClassVar[int]
        OUTPUT_FIELD_NUMBER: _ClassVar[int]
        QUOTED_FOR_SHELL_FIELD_NUMBER: _ClassVar[int]
        SECRET_FIELD_NUMBER: _ClassVar[int]
        element: int
        index: CommandText.Index
        known: str
        literal: str
        output: CommandText.Output
        quoted_for_shell: bool
        secret: int
        def __init__(self, literal: _Optional[str] = ..., index: _Optional[_Union[CommandText.Index, _Mapping]] = ..., element: _Optional[int] = ..., output: _Optional[_Union[CommandText.Output, _Mapping]] = ..., known: _Optional[str] = ..., secret: _Optional[int] = ..., quoted_for_shell: bool = ...) -> None: ...
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[CommandText.Segment]
    def __init__(self, segments: _Optional[_Iterable[_Union[CommandText.Segment, _Mapping]]] = ...) -> None: ...

class Content(_message.Message):
    __slots__ = ["digest", "file", "is_executable", "path", "size"]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    IS_EXECUTABLE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    file: str
    is_executable: bool
    path: str
    size: int
    def __init__(self, digest: _Optional[bytes] = ..., size: _Optional[int] = ..., file: _Optional[str] = ..., path: _Optional[str] = ..., is_executable: bool = ...) -> None: ...

class ContinuedGraph(_message.Message):
    __slots__ = ["graph", "reused"]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    REUSED_FIELD_NUMBER: _ClassVar[int]
    graph: int
    reused: OperationRuns
    def __init__(self, graph: _Optional[int] = ..., reused: _Optional[_Union[OperationRuns, _Mapping]] = ...) -> None: ...

class CoordinatorLife(_message.Message):
    __slots__ = ["epoch", "number"]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    number: int
    def __init__(self, epoch: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class ElementEdges(_message.Message):
    __slots__ = ["from_delta", "policy", "to_delta"]
    FROM_DELTA_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TO_DELTA_FIELD_NUMBER: _ClassVar[int]
    from_delta: _containers.RepeatedScalarFieldContainer[int]
    policy: _containers.RepeatedScalarFieldContainer[EdgePolicy]
    to_delta: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, from_delta: _Optional[_Iterable[int]] = ..., to_delta: _Optional[_Iterable[int]] = ..., policy: _Optional[_Iterable[_Union[EdgePolicy, str]]] = ...) -> None: ...

class ExternalEdges(_message.Message):
    __slots__ = ["policy", "to"]
    FROM_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    policy: _containers.RepeatedScalarFieldContainer[EdgePolicy]
    to: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, to: _Optional[_Iterable[int]] = ..., policy: _Optional[_Iterable[_Union[EdgePolicy, str]]] = ..., **kwargs) -> None: ...

class FailureScope(_message.Message):
    __slots__ = ["cancels_running", "count", "first", "maximum_failures"]
    CANCELS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FAILURES_FIELD_NUMBER: _ClassVar[int]
    cancels_running: bool
    count: int
    first: int
    maximum_failures: int
    def __init__(self, first: _Optional[int] = ..., count: _Optional[int] = ..., maximum_failures: _Optional[int] = ..., cancels_running: bool = ...) -> None: ...

class GroupEdges(_message.Message):
    __slots__ = ["match", "policy", "to"]
    FROM_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    match: _containers.RepeatedScalarFieldContainer[EdgeMatch]
    policy: _containers.RepeatedScalarFieldContainer[EdgePolicy]
    to: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, to: _Optional[_Iterable[int]] = ..., policy: _Optional[_Iterable[_Union[EdgePolicy, str]]] = ..., match: _Optional[_Iterable[_Union[EdgeMatch, str]]] = ..., **kwargs) -> None: ...

class HistoryMark(_message.Message):
    __slots__ = ["commit", "life"]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    commit: int
    life: CoordinatorLife
    def __init__(self, life: _Optional[_Union[CoordinatorLife, _Mapping]] = ..., commit: _Optional[int] = ...) -> None: ...

class IndexRuns(_message.Message):
    __slots__ = ["count", "first", "step"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    first: _containers.RepeatedScalarFieldContainer[int]
    step: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, first: _Optional[_Iterable[int]] = ..., count: _Optional[_Iterable[int]] = ..., step: _Optional[_Iterable[int]] = ...) -> None: ...

class InputFile(_message.Message):
    __slots__ = ["file", "folder", "is_by_index", "operation"]
    FILE_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    IS_BY_INDEX_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    file: str
    folder: str
    is_by_index: bool
    operation: str
    def __init__(self, operation: _Optional[str] = ..., file: _Optional[str] = ..., folder: _Optional[str] = ..., is_by_index: bool = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ["key", "value"]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class LabelRequirement(_message.Message):
    __slots__ = ["key", "values"]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    key: str
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, key: _Optional[str] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ["bytes", "is_complete", "number", "offset", "problem", "size"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    IS_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    bytes: bytes
    is_complete: bool
    number: int
    offset: int
    problem: str
    size: int
    def __init__(self, number: _Optional[int] = ..., offset: _Optional[int] = ..., bytes: _Optional[bytes] = ..., size: _Optional[int] = ..., is_complete: bool = ..., problem: _Optional[str] = ...) -> None: ...

class NamedAmount(_message.Message):
    __slots__ = ["name", "ten_thousandths"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEN_THOUSANDTHS_FIELD_NUMBER: _ClassVar[int]
    name: str
    ten_thousandths: int
    def __init__(self, name: _Optional[str] = ..., ten_thousandths: _Optional[int] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ["graph", "index"]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    graph: int
    index: int
    def __init__(self, graph: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class OperationRuns(_message.Message):
    __slots__ = ["count", "first_delta", "graph"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_DELTA_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    first_delta: _containers.RepeatedScalarFieldContainer[int]
    graph: int
    def __init__(self, graph: _Optional[int] = ..., first_delta: _Optional[_Iterable[int]] = ..., count: _Optional[_Iterable[int]] = ...) -> None: ...

class OperationType(_message.Message):
    __slots__ = ["fingerprint", "name", "version"]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    fingerprint: int
    name: str
    version: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., fingerprint: _Optional[int] = ...) -> None: ...

class Operations(_message.Message):
    __slots__ = ["count", "graph", "index_delta"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    INDEX_DELTA_FIELD_NUMBER: _ClassVar[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    graph: _containers.RepeatedScalarFieldContainer[int]
    index_delta: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, graph: _Optional[_Iterable[int]] = ..., count: _Optional[_Iterable[int]] = ..., index_delta: _Optional[_Iterable[int]] = ...) -> None: ...

class OutputFile(_message.Message):
    __slots__ = ["name", "path"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    name: str
    path: CommandText
    def __init__(self, name: _Optional[str] = ..., path: _Optional[_Union[CommandText, _Mapping]] = ...) -> None: ...

class Outputs(_message.Message):
    __slots__ = ["contents", "key", "type_name", "typed_value", "value", "value_at"]
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TYPED_VALUE_FIELD_NUMBER: _ClassVar[int]
    TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_AT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    contents: _containers.RepeatedCompositeFieldContainer[Content]
    key: _containers.RepeatedScalarFieldContainer[str]
    type_name: str
    typed_value: bytes
    value: _containers.RepeatedScalarFieldContainer[str]
    value_at: int
    def __init__(self, key: _Optional[_Iterable[str]] = ..., value: _Optional[_Iterable[str]] = ..., type_name: _Optional[str] = ..., typed_value: _Optional[bytes] = ..., contents: _Optional[_Iterable[_Union[Content, _Mapping]]] = ..., value_at: _Optional[int] = ...) -> None: ...

class ProtocolVersions(_message.Message):
    __slots__ = ["highest", "lowest"]
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    LOWEST_FIELD_NUMBER: _ClassVar[int]
    highest: int
    lowest: int
    def __init__(self, lowest: _Optional[int] = ..., highest: _Optional[int] = ...) -> None: ...

class QueueReference(_message.Message):
    __slots__ = ["named", "own"]
    NAMED_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    named: str
    own: QueueSettings
    def __init__(self, named: _Optional[str] = ..., own: _Optional[_Union[QueueSettings, _Mapping]] = ...) -> None: ...

class QueueSettings(_message.Message):
    __slots__ = ["is_suspended", "maximum_concurrent", "name", "pool", "qos"]
    IS_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_CONCURRENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    is_suspended: bool
    maximum_concurrent: int
    name: str
    pool: _containers.RepeatedCompositeFieldContainer[LabelRequirement]
    qos: QualityOfService
    def __init__(self, name: _Optional[str] = ..., qos: _Optional[_Union[QualityOfService, str]] = ..., maximum_concurrent: _Optional[int] = ..., is_suspended: bool = ..., pool: _Optional[_Iterable[_Union[LabelRequirement, _Mapping]]] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ["advice", "code", "hint", "lacks_room", "message", "operations", "retry_after"]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    LACKS_ROOM_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    advice: Advice
    code: RefusalCode
    hint: str
    lacks_room: bool
    message: str
    operations: Operations
    retry_after: int
    def __init__(self, code: _Optional[_Union[RefusalCode, str]] = ..., message: _Optional[str] = ..., hint: _Optional[str] = ..., operations: _Optional[_Union[Operations, _Mapping]] = ..., retry_after: _Optional[int] = ..., lacks_room: bool = ..., advice: _Optional[_Union[Advice, _Mapping]] = ...) -> None: ...

class Resources(_message.Message):
    __slots__ = ["cpus", "custom", "gpus", "memory_bytes"]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    cpus: int
    custom: _containers.RepeatedCompositeFieldContainer[NamedAmount]
    gpus: int
    memory_bytes: int
    def __init__(self, cpus: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., gpus: _Optional[int] = ..., custom: _Optional[_Iterable[_Union[NamedAmount, _Mapping]]] = ...) -> None: ...

class RetryPolicy(_message.Message):
    __slots__ = ["avoids_worker", "backoff_nanoseconds", "backoff_percent", "maximum", "maximum_backoff_nanoseconds", "reasons"]
    AVOIDS_WORKER_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_PERCENT_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BACKOFF_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    avoids_worker: bool
    backoff_nanoseconds: int
    backoff_percent: int
    maximum: int
    maximum_backoff_nanoseconds: int
    reasons: _containers.RepeatedCompositeFieldContainer[RetryReason]
    def __init__(self, maximum: _Optional[int] = ..., reasons: _Optional[_Iterable[_Union[RetryReason, _Mapping]]] = ..., backoff_nanoseconds: _Optional[int] = ..., backoff_percent: _Optional[int] = ..., maximum_backoff_nanoseconds: _Optional[int] = ..., avoids_worker: bool = ...) -> None: ...

class RetryReason(_message.Message):
    __slots__ = ["first", "kind", "last"]
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    FIRST_FIELD_NUMBER: _ClassVar[int]
    KIND_ANY: RetryReason.Kind
    KIND_ANY_SIGNAL: RetryReason.Kind
    KIND_EXIT: RetryReason.Kind
    KIND_FAILED: RetryReason.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    KIND_LOST: RetryReason.Kind
    KIND_OUT_OF_MEMORY: RetryReason.Kind
    KIND_SIGNAL: RetryReason.Kind
    KIND_TIMEOUT: RetryReason.Kind
    KIND_UNSPECIFIED: RetryReason.Kind
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: int
    kind: RetryReason.Kind
    last: int
    def __init__(self, kind: _Optional[_Union[RetryReason.Kind, str]] = ..., first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class StageName(_message.Message):
    __slots__ = ["graph", "name"]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    graph: int
    name: str
    def __init__(self, graph: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class Submission(_message.Message):
    __slots__ = ["allows_cycles", "continued", "element_edges", "external_edges", "failure_policy", "failure_scopes", "group_edges", "is_declared_only", "is_suspended", "key", "labels", "maximum_failures", "name", "origin", "queues", "recomputes", "secrets", "templates"]
    ALLOWS_CYCLES_FIELD_NUMBER: _ClassVar[int]
    CONTINUED_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_EDGES_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_EDGES_FIELD_NUMBER: _ClassVar[int]
    FAILURE_POLICY_FIELD_NUMBER: _ClassVar[int]
    FAILURE_SCOPES_FIELD_NUMBER: _ClassVar[int]
    GROUP_EDGES_FIELD_NUMBER: _ClassVar[int]
    IS_DECLARED_ONLY_FIELD_NUMBER: _ClassVar[int]
    IS_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FAILURES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    RECOMPUTES_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    allows_cycles: bool
    continued: ContinuedGraph
    element_edges: ElementEdges
    external_edges: ExternalEdges
    failure_policy: FailurePolicy
    failure_scopes: _containers.RepeatedCompositeFieldContainer[FailureScope]
    group_edges: GroupEdges
    is_declared_only: bool
    is_suspended: bool
    key: str
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    maximum_failures: int
    name: str
    origin: str
    queues: _containers.RepeatedCompositeFieldContainer[QueueReference]
    recomputes: Operation
    secrets: _containers.RepeatedScalarFieldContainer[str]
    templates: _containers.RepeatedCompositeFieldContainer[Template]
    def __init__(self, key: _Optional[str] = ..., name: _Optional[str] = ..., templates: _Optional[_Iterable[_Union[Template, _Mapping]]] = ..., group_edges: _Optional[_Union[GroupEdges, _Mapping]] = ..., element_edges: _Optional[_Union[ElementEdges, _Mapping]] = ..., external_edges: _Optional[_Union[ExternalEdges, _Mapping]] = ..., queues: _Optional[_Iterable[_Union[QueueReference, _Mapping]]] = ..., failure_policy: _Optional[_Union[FailurePolicy, str]] = ..., maximum_failures: _Optional[int] = ..., is_suspended: bool = ..., is_declared_only: bool = ..., allows_cycles: bool = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., origin: _Optional[str] = ..., continued: _Optional[_Union[ContinuedGraph, _Mapping]] = ..., failure_scopes: _Optional[_Iterable[_Union[FailureScope, _Mapping]]] = ..., secrets: _Optional[_Iterable[str]] = ..., recomputes: _Optional[_Union[Operation, _Mapping]] = ...) -> None: ...

class Template(_message.Message):
    __slots__ = ["allowed_exit_statuses", "allowed_failures", "block_types", "count", "delay_nanoseconds", "demand", "element_argument_length", "element_arguments", "fills_input", "grace_nanoseconds", "index_runs", "input_files", "is_array", "is_barrier", "is_exclusive", "is_final", "is_held", "is_irreproducible", "is_reusable", "labels", "maximum_losses", "maximum_parallel", "name", "not_before_time", "own_files", "own_files_length", "payload", "priority", "qos", "queue", "replicas", "requirements", "retry", "secrets", "timeout_nanoseconds", "type", "wants_inputs", "work"]
    ALLOWED_EXIT_STATUSES_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FAILURES_FIELD_NUMBER: _ClassVar[int]
    BLOCK_TYPES_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DELAY_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    DEMAND_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_ARGUMENT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    FILLS_INPUT_FIELD_NUMBER: _ClassVar[int]
    GRACE_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    INDEX_RUNS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FILES_FIELD_NUMBER: _ClassVar[int]
    IS_ARRAY_FIELD_NUMBER: _ClassVar[int]
    IS_BARRIER_FIELD_NUMBER: _ClassVar[int]
    IS_EXCLUSIVE_FIELD_NUMBER: _ClassVar[int]
    IS_FINAL_FIELD_NUMBER: _ClassVar[int]
    IS_HELD_FIELD_NUMBER: _ClassVar[int]
    IS_IRREPRODUCIBLE_FIELD_NUMBER: _ClassVar[int]
    IS_REUSABLE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_LOSSES_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    OWN_FILES_FIELD_NUMBER: _ClassVar[int]
    OWN_FILES_LENGTH_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    WANTS_INPUTS_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    allowed_exit_statuses: _containers.RepeatedScalarFieldContainer[int]
    allowed_failures: AllowedFailures
    block_types: _containers.RepeatedCompositeFieldContainer[OperationType]
    count: int
    delay_nanoseconds: int
    demand: Resources
    element_argument_length: _containers.RepeatedScalarFieldContainer[int]
    element_arguments: bytes
    fills_input: bool
    grace_nanoseconds: int
    index_runs: IndexRuns
    input_files: _containers.RepeatedCompositeFieldContainer[InputFile]
    is_array: bool
    is_barrier: bool
    is_exclusive: bool
    is_final: bool
    is_held: bool
    is_irreproducible: bool
    is_reusable: bool
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    maximum_losses: int
    maximum_parallel: int
    name: str
    not_before_time: int
    own_files: bytes
    own_files_length: _containers.RepeatedScalarFieldContainer[int]
    payload: bytes
    priority: Priority
    qos: QualityOfService
    queue: int
    replicas: int
    requirements: _containers.RepeatedCompositeFieldContainer[LabelRequirement]
    retry: RetryPolicy
    secrets: _containers.RepeatedScalarFieldContainer[int]
    timeout_nanoseconds: int
    type: OperationType
    wants_inputs: bool
    work: WorkKind
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., is_array: bool = ..., index_runs: _Optional[_Union[IndexRuns, _Mapping]] = ..., work: _Optional[_Union[WorkKind, str]] = ..., type: _Optional[_Union[OperationType, _Mapping]] = ..., payload: _Optional[bytes] = ..., element_arguments: _Optional[bytes] = ..., element_argument_length: _Optional[_Iterable[int]] = ..., queue: _Optional[int] = ..., priority: _Optional[_Union[Priority, str]] = ..., qos: _Optional[_Union[QualityOfService, str]] = ..., demand: _Optional[_Union[Resources, _Mapping]] = ..., requirements: _Optional[_Iterable[_Union[LabelRequirement, _Mapping]]] = ..., retry: _Optional[_Union[RetryPolicy, _Mapping]] = ..., maximum_losses: _Optional[int] = ..., maximum_parallel: _Optional[int] = ..., allowed_failures: _Optional[_Union[AllowedFailures, str]] = ..., allowed_exit_statuses: _Optional[_Iterable[int]] = ..., is_final: bool = ..., is_barrier: bool = ..., wants_inputs: bool = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., block_types: _Optional[_Iterable[_Union[OperationType, _Mapping]]] = ..., timeout_nanoseconds: _Optional[int] = ..., grace_nanoseconds: _Optional[int] = ..., is_held: bool = ..., delay_nanoseconds: _Optional[int] = ..., not_before_time: _Optional[int] = ..., fills_input: bool = ..., is_exclusive: bool = ..., secrets: _Optional[_Iterable[int]] = ..., input_files: _Optional[_Iterable[_Union[InputFile, _Mapping]]] = ..., own_files: _Optional[bytes] = ..., own_files_length: _Optional[_Iterable[int]] = ..., is_reusable: bool = ..., is_irreproducible: bool = ..., replicas: _Optional[int] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ["fence", "grace", "heartbeat", "lost", "orphan", "resync", "suspect"]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    ORPHAN_FIELD_NUMBER: _ClassVar[int]
    RESYNC_FIELD_NUMBER: _ClassVar[int]
    SUSPECT_FIELD_NUMBER: _ClassVar[int]
    fence: int
    grace: int
    heartbeat: int
    lost: int
    orphan: int
    resync: int
    suspect: int
    def __init__(self, heartbeat: _Optional[int] = ..., suspect: _Optional[int] = ..., lost: _Optional[int] = ..., resync: _Optional[int] = ..., grace: _Optional[int] = ..., orphan: _Optional[int] = ..., fence: _Optional[int] = ...) -> None: ...

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class QualityOfService(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EdgePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class WorkKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class FailureCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class AllowedFailures(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EdgeMatch(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class FailurePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class RefusalCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class AdviceCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class LogStream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
