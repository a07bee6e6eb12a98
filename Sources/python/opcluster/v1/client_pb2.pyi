from opcluster.v1 import submission_pb2 as _submission_pb2
from opcluster.v1 import worker_pb2 as _worker_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

CANCEL_VERDICT_ALREADY_CANCELLED: CancelVerdict
CANCEL_VERDICT_ALREADY_FINISHED: CancelVerdict
CANCEL_VERDICT_CANCELLED: CancelVerdict
CANCEL_VERDICT_EXECUTING: CancelVerdict
CANCEL_VERDICT_UNSPECIFIED: CancelVerdict
DESCRIPTOR: _descriptor.FileDescriptor
EVENT_KIND_ATTEMPT_ENDED: EventKind
EVENT_KIND_ATTEMPT_STARTED: EventKind
EVENT_KIND_CANCELLED: EventKind
EVENT_KIND_COMPLETION: EventKind
EVENT_KIND_DEPENDENCY_ADDED: EventKind
EVENT_KIND_DEPENDENCY_REMOVED: EventKind
EVENT_KIND_ENQUEUED: EventKind
EVENT_KIND_EXECUTING: EventKind
EVENT_KIND_FINISHED: EventKind
EVENT_KIND_GRAPH_CANCELLED: EventKind
EVENT_KIND_GRAPH_FAILED: EventKind
EVENT_KIND_GRAPH_RESUMED: EventKind
EVENT_KIND_GRAPH_SUBMITTED: EventKind
EVENT_KIND_GRAPH_SUCCEEDED: EventKind
EVENT_KIND_GRAPH_SUSPENDED: EventKind
EVENT_KIND_HELD: EventKind
EVENT_KIND_NOT_EXECUTING: EventKind
EVENT_KIND_NOT_READY: EventKind
EVENT_KIND_PRIORITY: EventKind
EVENT_KIND_QUEUE_CHANGED: EventKind
EVENT_KIND_QUEUE_COUNT: EventKind
EVENT_KIND_QUEUE_CREATED: EventKind
EVENT_KIND_QUEUE_REMOVED: EventKind
EVENT_KIND_READY: EventKind
EVENT_KIND_RELEASED: EventKind
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_WORKER_DRAINING: EventKind
EVENT_KIND_WORKER_JOINED: EventKind
EVENT_KIND_WORKER_LEFT: EventKind
EVENT_KIND_WORKER_LOST: EventKind
EVENT_KIND_WORKER_RESUMED: EventKind
EVENT_KIND_WORKER_SET_ASIDE: EventKind
EVENT_SUBJECT_GRAPH: EventSubject
EVENT_SUBJECT_OPERATION: EventSubject
EVENT_SUBJECT_QUEUE: EventSubject
EVENT_SUBJECT_UNSPECIFIED: EventSubject
EVENT_SUBJECT_WORKER: EventSubject
GRAPH_STATE_CANCELLED: GraphState
GRAPH_STATE_FAILED: GraphState
GRAPH_STATE_RUNNING: GraphState
GRAPH_STATE_SUCCEEDED: GraphState
GRAPH_STATE_SUSPENDED: GraphState
GRAPH_STATE_UNSPECIFIED: GraphState
STATE_WORD_CANCELLED: StateWord
STATE_WORD_DECLARED: StateWord
STATE_WORD_DISPATCHED: StateWord
STATE_WORD_EXECUTING: StateWord
STATE_WORD_FAILED: StateWord
STATE_WORD_HELD: StateWord
STATE_WORD_LOST: StateWord
STATE_WORD_READY: StateWord
STATE_WORD_SKIPPED: StateWord
STATE_WORD_STOPPING: StateWord
STATE_WORD_SUCCEEDED: StateWord
STATE_WORD_TIMED_OUT: StateWord
STATE_WORD_UNSPECIFIED: StateWord
STATE_WORD_WAITING: StateWord

class Accepted(_message.Message):
    __slots__ = ["graph", "operations", "repeated"]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    graph: int
    operations: int
    repeated: bool
    def __init__(self, graph: _Optional[int] = ..., operations: _Optional[int] = ..., repeated: bool = ...) -> None: ...

class AddBlocks(_message.Message):
    __slots__ = ["blocks", "operation"]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    blocks: bytes
    operation: _submission_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., blocks: _Optional[bytes] = ...) -> None: ...

class BeginWait(_message.Message):
    __slots__ = ["operation", "operations", "queue"]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    operation: _submission_pb2.Operation
    operations: _submission_pb2.Operations
    queue: str
    def __init__(self, operation: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., operations: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., queue: _Optional[str] = ...) -> None: ...

class BringContent(_message.Message):
    __slots__ = ["digest", "key", "size", "unreached"]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    UNREACHED_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    key: bytes
    size: int
    unreached: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, digest: _Optional[bytes] = ..., size: _Optional[int] = ..., unreached: _Optional[_Iterable[str]] = ..., key: _Optional[bytes] = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ["grace_nanoseconds", "reason", "target"]
    GRACE_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    grace_nanoseconds: int
    reason: str
    target: OperationTarget
    def __init__(self, target: _Optional[_Union[OperationTarget, _Mapping]] = ..., reason: _Optional[str] = ..., grace_nanoseconds: _Optional[int] = ...) -> None: ...

class CancelQueue(_message.Message):
    __slots__ = ["queue", "reason"]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    queue: str
    reason: str
    def __init__(self, queue: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Cancelled(_message.Message):
    __slots__ = ["count", "operations", "total", "verdict"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    operations: _submission_pb2.Operations
    total: int
    verdict: _containers.RepeatedScalarFieldContainer[CancelVerdict]
    def __init__(self, operations: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., verdict: _Optional[_Iterable[_Union[CancelVerdict, str]]] = ..., total: _Optional[int] = ..., count: _Optional[_Iterable[int]] = ...) -> None: ...

class ChangeQueue(_message.Message):
    __slots__ = ["at_most", "is_suspended", "new_name", "pool", "qos", "queue", "unlimited"]
    AT_MOST_FIELD_NUMBER: _ClassVar[int]
    IS_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    NEW_NAME_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    UNLIMITED_FIELD_NUMBER: _ClassVar[int]
    at_most: int
    is_suspended: bool
    new_name: str
    pool: QueuePool
    qos: _submission_pb2.QualityOfService
    queue: str
    unlimited: bool
    def __init__(self, queue: _Optional[str] = ..., new_name: _Optional[str] = ..., qos: _Optional[_Union[_submission_pb2.QualityOfService, str]] = ..., unlimited: bool = ..., at_most: _Optional[int] = ..., is_suspended: bool = ..., pool: _Optional[_Union[QueuePool, _Mapping]] = ...) -> None: ...

class Changed(_message.Message):
    __slots__ = ["changed", "unchanged"]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: int
    unchanged: int
    def __init__(self, changed: _Optional[int] = ..., unchanged: _Optional[int] = ...) -> None: ...

class ClientAnswer(_message.Message):
    __slots__ = ["events", "heartbeat", "reply", "welcome"]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    events: EventBatch
    heartbeat: ClientHeartbeat
    reply: Reply
    welcome: ClientWelcome
    def __init__(self, welcome: _Optional[_Union[ClientWelcome, _Mapping]] = ..., reply: _Optional[_Union[Reply, _Mapping]] = ..., events: _Optional[_Union[EventBatch, _Mapping]] = ..., heartbeat: _Optional[_Union[ClientHeartbeat, _Mapping]] = ...) -> None: ...

class ClientHeartbeat(_message.Message):
    __slots__ = ["disk_wait"]
    DISK_WAIT_FIELD_NUMBER: _ClassVar[int]
    disk_wait: int
    def __init__(self, disk_wait: _Optional[int] = ...) -> None: ...

class ClientHello(_message.Message):
    __slots__ = ["build", "versions"]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    build: str
    versions: _submission_pb2.ProtocolVersions
    def __init__(self, versions: _Optional[_Union[_submission_pb2.ProtocolVersions, _Mapping]] = ..., build: _Optional[str] = ...) -> None: ...

class ClientMessage(_message.Message):
    __slots__ = ["hello", "request"]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    hello: ClientHello
    request: Request
    def __init__(self, hello: _Optional[_Union[ClientHello, _Mapping]] = ..., request: _Optional[_Union[Request, _Mapping]] = ...) -> None: ...

class ClientWelcome(_message.Message):
    __slots__ = ["build", "epoch", "life", "version"]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    build: str
    epoch: int
    life: int
    version: int
    def __init__(self, version: _Optional[int] = ..., build: _Optional[str] = ..., epoch: _Optional[int] = ..., life: _Optional[int] = ...) -> None: ...

class Configuration(_message.Message):
    __slots__ = ["client_endpoint", "disk_free_bytes", "disk_reserve_bytes", "history_problem", "state_folder", "stores_are_wanted", "timing", "wall_milliseconds", "worker_endpoint"]
    CLIENT_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    DISK_FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_RESERVE_BYTES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    STATE_FOLDER_FIELD_NUMBER: _ClassVar[int]
    STORES_ARE_WANTED_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    WALL_MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    WORKER_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    client_endpoint: str
    disk_free_bytes: int
    disk_reserve_bytes: int
    history_problem: str
    state_folder: str
    stores_are_wanted: bool
    timing: _submission_pb2.Timing
    wall_milliseconds: int
    worker_endpoint: str
    def __init__(self, timing: _Optional[_Union[_submission_pb2.Timing, _Mapping]] = ..., client_endpoint: _Optional[str] = ..., worker_endpoint: _Optional[str] = ..., state_folder: _Optional[str] = ..., wall_milliseconds: _Optional[int] = ..., disk_free_bytes: _Optional[int] = ..., disk_reserve_bytes: _Optional[int] = ..., history_problem: _Optional[str] = ..., stores_are_wanted: bool = ...) -> None: ...

class Dependency(_message.Message):
    __slots__ = ["allows_cycle", "policy", "to"]
    ALLOWS_CYCLE_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    allows_cycle: bool
    policy: _submission_pb2.EdgePolicy
    to: _submission_pb2.Operation
    def __init__(self, to: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., policy: _Optional[_Union[_submission_pb2.EdgePolicy, str]] = ..., allows_cycle: bool = ..., **kwargs) -> None: ...

class Enqueue(_message.Message):
    __slots__ = ["operations", "queue"]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    operations: _submission_pb2.Operations
    queue: str
    def __init__(self, operations: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., queue: _Optional[str] = ...) -> None: ...

class Enrol(_message.Message):
    __slots__ = ["name", "public_key"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    name: str
    public_key: bytes
    def __init__(self, name: _Optional[str] = ..., public_key: _Optional[bytes] = ...) -> None: ...

class Enrolled(_message.Message):
    __slots__ = ["name", "role"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: str
    def __init__(self, name: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ["caught_up", "events", "first", "resume_at", "subscription"]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    RESUME_AT_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    caught_up: bool
    events: Events
    first: int
    resume_at: int
    subscription: int
    def __init__(self, subscription: _Optional[int] = ..., first: _Optional[int] = ..., events: _Optional[_Union[Events, _Mapping]] = ..., caught_up: bool = ..., resume_at: _Optional[int] = ...) -> None: ...

class EventMark(_message.Message):
    __slots__ = ["life", "sequence"]
    LIFE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    life: _submission_pb2.CoordinatorLife
    sequence: int
    def __init__(self, life: _Optional[_Union[_submission_pb2.CoordinatorLife, _Mapping]] = ..., sequence: _Optional[int] = ...) -> None: ...

class Events(_message.Message):
    __slots__ = ["attempt", "cause", "commit_count", "commit_delta", "dependency", "dependency_policy", "enqueued_in", "first_sequence", "kinds", "length", "operation_sequence", "operations", "operations_submitted", "outcome", "priority", "queue", "queue_count", "reason", "reason_count", "sequence_delta", "stage", "subject", "subject_count", "thing", "time_delta", "trouble", "worker", "worker_name"]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    COMMIT_DELTA_FIELD_NUMBER: _ClassVar[int]
    DEPENDENCY_FIELD_NUMBER: _ClassVar[int]
    DEPENDENCY_POLICY_FIELD_NUMBER: _ClassVar[int]
    ENQUEUED_IN_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    OPERATION_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REASON_COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_DELTA_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    THING_FIELD_NUMBER: _ClassVar[int]
    TIME_DELTA_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_NAME_FIELD_NUMBER: _ClassVar[int]
    attempt: _containers.RepeatedScalarFieldContainer[int]
    cause: _containers.RepeatedScalarFieldContainer[_submission_pb2.FailureCause]
    commit_count: _containers.RepeatedScalarFieldContainer[int]
    commit_delta: _containers.RepeatedScalarFieldContainer[int]
    dependency: _submission_pb2.Operations
    dependency_policy: _containers.RepeatedScalarFieldContainer[_submission_pb2.EdgePolicy]
    enqueued_in: _containers.RepeatedScalarFieldContainer[int]
    first_sequence: int
    kinds: bytes
    length: _containers.RepeatedScalarFieldContainer[int]
    operation_sequence: _containers.RepeatedScalarFieldContainer[int]
    operations: _submission_pb2.Operations
    operations_submitted: _containers.RepeatedScalarFieldContainer[int]
    outcome: _containers.RepeatedScalarFieldContainer[_submission_pb2.Outcome]
    priority: _containers.RepeatedScalarFieldContainer[_submission_pb2.Priority]
    queue: _containers.RepeatedCompositeFieldContainer[_submission_pb2.QueueSettings]
    queue_count: _containers.RepeatedScalarFieldContainer[int]
    reason: _containers.RepeatedCompositeFieldContainer[_submission_pb2.CancelReason]
    reason_count: _containers.RepeatedScalarFieldContainer[int]
    sequence_delta: _containers.RepeatedScalarFieldContainer[int]
    stage: _containers.RepeatedCompositeFieldContainer[_submission_pb2.StageName]
    subject: _containers.RepeatedScalarFieldContainer[EventSubject]
    subject_count: _containers.RepeatedScalarFieldContainer[int]
    thing: _containers.RepeatedScalarFieldContainer[int]
    time_delta: _containers.RepeatedScalarFieldContainer[int]
    trouble: _containers.RepeatedScalarFieldContainer[str]
    worker: _containers.RepeatedScalarFieldContainer[int]
    worker_name: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kinds: _Optional[bytes] = ..., first_sequence: _Optional[int] = ..., sequence_delta: _Optional[_Iterable[int]] = ..., commit_delta: _Optional[_Iterable[int]] = ..., time_delta: _Optional[_Iterable[int]] = ..., commit_count: _Optional[_Iterable[int]] = ..., subject: _Optional[_Iterable[_Union[EventSubject, str]]] = ..., subject_count: _Optional[_Iterable[int]] = ..., operations: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., operation_sequence: _Optional[_Iterable[int]] = ..., thing: _Optional[_Iterable[int]] = ..., outcome: _Optional[_Iterable[_Union[_submission_pb2.Outcome, str]]] = ..., reason: _Optional[_Iterable[_Union[_submission_pb2.CancelReason, _Mapping]]] = ..., reason_count: _Optional[_Iterable[int]] = ..., attempt: _Optional[_Iterable[int]] = ..., worker: _Optional[_Iterable[int]] = ..., cause: _Optional[_Iterable[_Union[_submission_pb2.FailureCause, str]]] = ..., priority: _Optional[_Iterable[_Union[_submission_pb2.Priority, str]]] = ..., operations_submitted: _Optional[_Iterable[int]] = ..., queue: _Optional[_Iterable[_Union[_submission_pb2.QueueSettings, _Mapping]]] = ..., worker_name: _Optional[_Iterable[str]] = ..., length: _Optional[_Iterable[int]] = ..., dependency: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., dependency_policy: _Optional[_Iterable[_Union[_submission_pb2.EdgePolicy, str]]] = ..., enqueued_in: _Optional[_Iterable[int]] = ..., queue_count: _Optional[_Iterable[int]] = ..., stage: _Optional[_Iterable[_Union[_submission_pb2.StageName, _Mapping]]] = ..., trouble: _Optional[_Iterable[str]] = ...) -> None: ...

class Explanations(_message.Message):
    __slots__ = ["more", "rows"]
    class AdvisedLine(_message.Message):
        __slots__ = ["advice", "line", "text"]
        ADVICE_FIELD_NUMBER: _ClassVar[int]
        LINE_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        advice: _submission_pb2.Advice
        line: int
        text: str
        def __init__(self, line: _Optional[int] = ..., text: _Optional[str] = ..., advice: _Optional[_Union[_submission_pb2.Advice, _Mapping]] = ...) -> None: ...
    class LineMeaning(_message.Message):
        __slots__ = ["line", "meaning"]
        class Meaning(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
            __slots__ = []
        LINE_FIELD_NUMBER: _ClassVar[int]
        MEANING_ENDED: Explanations.LineMeaning.Meaning
        MEANING_FIELD_NUMBER: _ClassVar[int]
        MEANING_UNPLACEABLE: Explanations.LineMeaning.Meaning
        MEANING_UNSPECIFIED: Explanations.LineMeaning.Meaning
        line: int
        meaning: Explanations.LineMeaning.Meaning
        def __init__(self, line: _Optional[int] = ..., meaning: _Optional[_Union[Explanations.LineMeaning.Meaning, str]] = ...) -> None: ...
    class Row(_message.Message):
        __slots__ = ["advised", "lines", "meanings", "operation", "shown", "state"]
        ADVISED_FIELD_NUMBER: _ClassVar[int]
        LINES_FIELD_NUMBER: _ClassVar[int]
        MEANINGS_FIELD_NUMBER: _ClassVar[int]
        OPERATION_FIELD_NUMBER: _ClassVar[int]
        SHOWN_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        advised: _containers.RepeatedCompositeFieldContainer[Explanations.AdvisedLine]
        lines: _containers.RepeatedScalarFieldContainer[str]
        meanings: _containers.RepeatedCompositeFieldContainer[Explanations.LineMeaning]
        operation: _submission_pb2.Operation
        shown: str
        state: StateWord
        def __init__(self, operation: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., shown: _Optional[str] = ..., state: _Optional[_Union[StateWord, str]] = ..., lines: _Optional[_Iterable[str]] = ..., advised: _Optional[_Iterable[_Union[Explanations.AdvisedLine, _Mapping]]] = ..., meanings: _Optional[_Iterable[_Union[Explanations.LineMeaning, _Mapping]]] = ...) -> None: ...
    MORE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    more: bool
    rows: _containers.RepeatedCompositeFieldContainer[Explanations.Row]
    def __init__(self, rows: _Optional[_Iterable[_Union[Explanations.Row, _Mapping]]] = ..., more: bool = ...) -> None: ...

class GrantCredit(_message.Message):
    __slots__ = ["events", "subscription"]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    events: int
    subscription: int
    def __init__(self, subscription: _Optional[int] = ..., events: _Optional[int] = ...) -> None: ...

class GraphRow(_message.Message):
    __slots__ = ["allowed_failures", "counts", "finished_at", "graph", "labels", "name", "state", "submitted_at"]
    ALLOWED_FAILURES_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    allowed_failures: int
    counts: _containers.RepeatedScalarFieldContainer[int]
    finished_at: int
    graph: int
    labels: _containers.RepeatedCompositeFieldContainer[_submission_pb2.Label]
    name: str
    state: GraphState
    submitted_at: int
    def __init__(self, graph: _Optional[int] = ..., name: _Optional[str] = ..., state: _Optional[_Union[GraphState, str]] = ..., counts: _Optional[_Iterable[int]] = ..., submitted_at: _Optional[int] = ..., finished_at: _Optional[int] = ..., labels: _Optional[_Iterable[_Union[_submission_pb2.Label, _Mapping]]] = ..., allowed_failures: _Optional[int] = ...) -> None: ...

class GraphRows(_message.Message):
    __slots__ = ["more", "rows"]
    MORE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    more: bool
    rows: _containers.RepeatedCompositeFieldContainer[GraphRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[GraphRow, _Mapping]]] = ..., more: bool = ...) -> None: ...

class GraphStructure(_message.Message):
    __slots__ = ["element_edge_count", "element_edges", "group_edges", "last_event", "row", "stages"]
    class Stage(_message.Message):
        __slots__ = ["count", "counts", "demand", "first_index", "index_runs", "is_array", "name", "queue", "requirements", "work"]
        COUNTS_FIELD_NUMBER: _ClassVar[int]
        COUNT_FIELD_NUMBER: _ClassVar[int]
        DEMAND_FIELD_NUMBER: _ClassVar[int]
        FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
        INDEX_RUNS_FIELD_NUMBER: _ClassVar[int]
        IS_ARRAY_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        QUEUE_FIELD_NUMBER: _ClassVar[int]
        REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
        WORK_FIELD_NUMBER: _ClassVar[int]
        count: int
        counts: _containers.RepeatedScalarFieldContainer[int]
        demand: _submission_pb2.Resources
        first_index: int
        index_runs: _submission_pb2.IndexRuns
        is_array: bool
        name: str
        queue: str
        requirements: _containers.RepeatedCompositeFieldContainer[_submission_pb2.LabelRequirement]
        work: str
        def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., first_index: _Optional[int] = ..., is_array: bool = ..., index_runs: _Optional[_Union[_submission_pb2.IndexRuns, _Mapping]] = ..., queue: _Optional[str] = ..., work: _Optional[str] = ..., counts: _Optional[_Iterable[int]] = ..., demand: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., requirements: _Optional[_Iterable[_Union[_submission_pb2.LabelRequirement, _Mapping]]] = ...) -> None: ...
    ELEMENT_EDGES_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_EDGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUP_EDGES_FIELD_NUMBER: _ClassVar[int]
    LAST_EVENT_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    element_edge_count: int
    element_edges: _submission_pb2.ElementEdges
    group_edges: _submission_pb2.GroupEdges
    last_event: int
    row: GraphRow
    stages: _containers.RepeatedCompositeFieldContainer[GraphStructure.Stage]
    def __init__(self, row: _Optional[_Union[GraphRow, _Mapping]] = ..., stages: _Optional[_Iterable[_Union[GraphStructure.Stage, _Mapping]]] = ..., group_edges: _Optional[_Union[_submission_pb2.GroupEdges, _Mapping]] = ..., element_edges: _Optional[_Union[_submission_pb2.ElementEdges, _Mapping]] = ..., element_edge_count: _Optional[int] = ..., last_event: _Optional[int] = ...) -> None: ...

class Hold(_message.Message):
    __slots__ = ["is_held", "target"]
    IS_HELD_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    is_held: bool
    target: OperationTarget
    def __init__(self, target: _Optional[_Union[OperationTarget, _Mapping]] = ..., is_held: bool = ...) -> None: ...

class LocateContents(_message.Message):
    __slots__ = ["digests", "key"]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    digests: bytes
    key: bytes
    def __init__(self, digests: _Optional[bytes] = ..., key: _Optional[bytes] = ...) -> None: ...

class Nothing(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class OperationRow(_message.Message):
    __slots__ = ["attempt", "attempts", "blocked_by", "command", "command_argument", "finished_at", "index", "is_cancelled", "is_executing", "is_finished", "is_ready", "name", "needs", "needs_policy", "needs_shown", "not_before", "operation", "outcome", "priority", "progress", "qos", "queue", "ready_at", "reason", "result", "started_at", "state", "submitted_at", "worker_name"]
    class Progress(_message.Message):
        __slots__ = ["fraction", "text"]
        FRACTION_FIELD_NUMBER: _ClassVar[int]
        TEXT_FIELD_NUMBER: _ClassVar[int]
        fraction: float
        text: str
        def __init__(self, fraction: _Optional[float] = ..., text: _Optional[str] = ...) -> None: ...
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_BY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    IS_CANCELLED_FIELD_NUMBER: _ClassVar[int]
    IS_EXECUTING_FIELD_NUMBER: _ClassVar[int]
    IS_FINISHED_FIELD_NUMBER: _ClassVar[int]
    IS_READY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    NEEDS_POLICY_FIELD_NUMBER: _ClassVar[int]
    NEEDS_SHOWN_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    READY_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    WORKER_NAME_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    attempts: _submission_pb2.AttemptHistories
    blocked_by: _submission_pb2.Operations
    command: bytes
    command_argument: bytes
    finished_at: int
    index: int
    is_cancelled: bool
    is_executing: bool
    is_finished: bool
    is_ready: bool
    name: str
    needs: _submission_pb2.Operations
    needs_policy: _containers.RepeatedScalarFieldContainer[_submission_pb2.EdgePolicy]
    needs_shown: _containers.RepeatedScalarFieldContainer[str]
    not_before: int
    operation: _submission_pb2.Operation
    outcome: _submission_pb2.Outcome
    priority: _submission_pb2.Priority
    progress: OperationRow.Progress
    qos: _submission_pb2.QualityOfService
    queue: str
    ready_at: int
    reason: _submission_pb2.CancelReason
    result: _submission_pb2.AttemptResults
    started_at: int
    state: StateWord
    submitted_at: int
    worker_name: str
    def __init__(self, operation: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., name: _Optional[str] = ..., index: _Optional[int] = ..., state: _Optional[_Union[StateWord, str]] = ..., is_ready: bool = ..., is_executing: bool = ..., is_finished: bool = ..., is_cancelled: bool = ..., outcome: _Optional[_Union[_submission_pb2.Outcome, str]] = ..., reason: _Optional[_Union[_submission_pb2.CancelReason, _Mapping]] = ..., queue: _Optional[str] = ..., priority: _Optional[_Union[_submission_pb2.Priority, str]] = ..., qos: _Optional[_Union[_submission_pb2.QualityOfService, str]] = ..., worker_name: _Optional[str] = ..., attempt: _Optional[int] = ..., needs: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., needs_shown: _Optional[_Iterable[str]] = ..., needs_policy: _Optional[_Iterable[_Union[_submission_pb2.EdgePolicy, str]]] = ..., result: _Optional[_Union[_submission_pb2.AttemptResults, _Mapping]] = ..., submitted_at: _Optional[int] = ..., ready_at: _Optional[int] = ..., started_at: _Optional[int] = ..., finished_at: _Optional[int] = ..., attempts: _Optional[_Union[_submission_pb2.AttemptHistories, _Mapping]] = ..., command: _Optional[bytes] = ..., command_argument: _Optional[bytes] = ..., blocked_by: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., progress: _Optional[_Union[OperationRow.Progress, _Mapping]] = ..., not_before: _Optional[int] = ...) -> None: ...

class OperationRows(_message.Message):
    __slots__ = ["more", "rows"]
    MORE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    more: bool
    rows: _containers.RepeatedCompositeFieldContainer[OperationRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[OperationRow, _Mapping]]] = ..., more: bool = ...) -> None: ...

class OperationTarget(_message.Message):
    __slots__ = ["dependents_of", "operations", "selection"]
    DEPENDENTS_OF_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    dependents_of: _submission_pb2.Operation
    operations: _submission_pb2.Operations
    selection: Selection
    def __init__(self, selection: _Optional[_Union[Selection, _Mapping]] = ..., operations: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., dependents_of: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ...) -> None: ...

class PlaceContents(_message.Message):
    __slots__ = ["avoided", "digests", "key", "sizes"]
    AVOIDED_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    avoided: _containers.RepeatedScalarFieldContainer[str]
    digests: bytes
    key: bytes
    sizes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, digests: _Optional[bytes] = ..., sizes: _Optional[_Iterable[int]] = ..., avoided: _Optional[_Iterable[str]] = ..., key: _Optional[bytes] = ...) -> None: ...

class Pong(_message.Message):
    __slots__ = ["commit", "epoch", "last_event"]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LAST_EVENT_FIELD_NUMBER: _ClassVar[int]
    commit: int
    epoch: int
    last_event: int
    def __init__(self, commit: _Optional[int] = ..., epoch: _Optional[int] = ..., last_event: _Optional[int] = ...) -> None: ...

class QueuePool(_message.Message):
    __slots__ = ["requirements"]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    requirements: _containers.RepeatedCompositeFieldContainer[_submission_pb2.LabelRequirement]
    def __init__(self, requirements: _Optional[_Iterable[_Union[_submission_pb2.LabelRequirement, _Mapping]]] = ...) -> None: ...

class QueueRows(_message.Message):
    __slots__ = ["more", "rows"]
    class Row(_message.Message):
        __slots__ = ["barriers", "dispatched", "executing", "operation_count", "queue", "settings"]
        BARRIERS_FIELD_NUMBER: _ClassVar[int]
        DISPATCHED_FIELD_NUMBER: _ClassVar[int]
        EXECUTING_FIELD_NUMBER: _ClassVar[int]
        OPERATION_COUNT_FIELD_NUMBER: _ClassVar[int]
        QUEUE_FIELD_NUMBER: _ClassVar[int]
        SETTINGS_FIELD_NUMBER: _ClassVar[int]
        barriers: int
        dispatched: int
        executing: int
        operation_count: int
        queue: int
        settings: _submission_pb2.QueueSettings
        def __init__(self, queue: _Optional[int] = ..., settings: _Optional[_Union[_submission_pb2.QueueSettings, _Mapping]] = ..., operation_count: _Optional[int] = ..., executing: _Optional[int] = ..., dispatched: _Optional[int] = ..., barriers: _Optional[int] = ...) -> None: ...
    MORE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    more: bool
    rows: _containers.RepeatedCompositeFieldContainer[QueueRows.Row]
    def __init__(self, rows: _Optional[_Iterable[_Union[QueueRows.Row, _Mapping]]] = ..., more: bool = ...) -> None: ...

class ReadGraphs(_message.Message):
    __slots__ = ["after", "limit", "selection"]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    after: int
    limit: int
    selection: Selection
    def __init__(self, selection: _Optional[_Union[Selection, _Mapping]] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ReadLog(_message.Message):
    __slots__ = ["attempt", "maximum_bytes", "offset", "operation", "stream"]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    maximum_bytes: int
    offset: int
    operation: _submission_pb2.Operation
    stream: _submission_pb2.LogStream
    def __init__(self, operation: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., attempt: _Optional[int] = ..., stream: _Optional[_Union[_submission_pb2.LogStream, str]] = ..., offset: _Optional[int] = ..., maximum_bytes: _Optional[int] = ...) -> None: ...

class ReadOperations(_message.Message):
    __slots__ = ["after", "limit", "selection"]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    after: _submission_pb2.Operation
    limit: int
    selection: Selection
    def __init__(self, selection: _Optional[_Union[Selection, _Mapping]] = ..., after: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class ReadQueues(_message.Message):
    __slots__ = ["after", "limit", "name"]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    after: int
    limit: int
    name: str
    def __init__(self, name: _Optional[str] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class RemoveGraphs(_message.Message):
    __slots__ = ["graphs"]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    graphs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, graphs: _Optional[_Iterable[int]] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ["accepted", "cancelled", "changed", "configuration", "done", "effect", "enrolled", "explanations", "graphs", "located", "log", "operations", "placed", "pong", "queues", "refused", "request", "reusable", "structure", "submission", "subscribed", "suspended", "workers"]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    ENROLLED_FIELD_NUMBER: _ClassVar[int]
    EXPLANATIONS_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    LOCATED_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    REUSABLE_FIELD_NUMBER: _ClassVar[int]
    STRUCTURE_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBED_FIELD_NUMBER: _ClassVar[int]
    SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    accepted: Accepted
    cancelled: Cancelled
    changed: Changed
    configuration: Configuration
    done: int
    effect: bool
    enrolled: Enrolled
    explanations: Explanations
    graphs: GraphRows
    located: _worker_pb2.ContentHolders
    log: _submission_pb2.LogChunk
    operations: OperationRows
    placed: _worker_pb2.ContentHolders
    pong: Pong
    queues: QueueRows
    refused: _submission_pb2.Refusal
    request: int
    reusable: Reusable
    structure: GraphStructure
    submission: SubmittedGraph
    subscribed: int
    suspended: _submission_pb2.Operations
    workers: WorkerRows
    def __init__(self, request: _Optional[int] = ..., refused: _Optional[_Union[_submission_pb2.Refusal, _Mapping]] = ..., accepted: _Optional[_Union[Accepted, _Mapping]] = ..., done: _Optional[int] = ..., cancelled: _Optional[_Union[Cancelled, _Mapping]] = ..., suspended: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., effect: bool = ..., graphs: _Optional[_Union[GraphRows, _Mapping]] = ..., operations: _Optional[_Union[OperationRows, _Mapping]] = ..., structure: _Optional[_Union[GraphStructure, _Mapping]] = ..., explanations: _Optional[_Union[Explanations, _Mapping]] = ..., queues: _Optional[_Union[QueueRows, _Mapping]] = ..., workers: _Optional[_Union[WorkerRows, _Mapping]] = ..., configuration: _Optional[_Union[Configuration, _Mapping]] = ..., pong: _Optional[_Union[Pong, _Mapping]] = ..., log: _Optional[_Union[_submission_pb2.LogChunk, _Mapping]] = ..., subscribed: _Optional[int] = ..., changed: _Optional[_Union[Changed, _Mapping]] = ..., submission: _Optional[_Union[SubmittedGraph, _Mapping]] = ..., enrolled: _Optional[_Union[Enrolled, _Mapping]] = ..., located: _Optional[_Union[_worker_pb2.ContentHolders, _Mapping]] = ..., placed: _Optional[_Union[_worker_pb2.ContentHolders, _Mapping]] = ..., reusable: _Optional[_Union[Reusable, _Mapping]] = ...) -> None: ...

class Request(_message.Message):
    __slots__ = ["add_blocks", "add_dependency", "begin_wait", "bring", "cancel", "cancel_queue", "change_queue", "configuration", "create_queue", "drain_worker", "end_wait", "enqueue", "enrol", "explain", "forget_worker", "grant_credit", "graphs", "hold", "locate", "log", "number", "operations", "ping", "place", "queues", "remove_dependency", "remove_graphs", "remove_queue", "resume_worker", "reusable", "set_priority", "set_queue", "structure", "submission", "submit", "subscribe", "suspend_graphs", "unsubscribe", "workers"]
    ADD_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    ADD_DEPENDENCY_FIELD_NUMBER: _ClassVar[int]
    BEGIN_WAIT_FIELD_NUMBER: _ClassVar[int]
    BRING_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    CANCEL_QUEUE_FIELD_NUMBER: _ClassVar[int]
    CHANGE_QUEUE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_QUEUE_FIELD_NUMBER: _ClassVar[int]
    DRAIN_WORKER_FIELD_NUMBER: _ClassVar[int]
    END_WAIT_FIELD_NUMBER: _ClassVar[int]
    ENQUEUE_FIELD_NUMBER: _ClassVar[int]
    ENROL_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    FORGET_WORKER_FIELD_NUMBER: _ClassVar[int]
    GRANT_CREDIT_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    LOCATE_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    REMOVE_DEPENDENCY_FIELD_NUMBER: _ClassVar[int]
    REMOVE_GRAPHS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_QUEUE_FIELD_NUMBER: _ClassVar[int]
    RESUME_WORKER_FIELD_NUMBER: _ClassVar[int]
    REUSABLE_FIELD_NUMBER: _ClassVar[int]
    SET_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SET_QUEUE_FIELD_NUMBER: _ClassVar[int]
    STRUCTURE_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    SUBMIT_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_GRAPHS_FIELD_NUMBER: _ClassVar[int]
    UNSUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    add_blocks: AddBlocks
    add_dependency: Dependency
    begin_wait: BeginWait
    bring: BringContent
    cancel: Cancel
    cancel_queue: CancelQueue
    change_queue: ChangeQueue
    configuration: Nothing
    create_queue: _submission_pb2.QueueSettings
    drain_worker: str
    end_wait: _submission_pb2.Operation
    enqueue: Enqueue
    enrol: Enrol
    explain: Selection
    forget_worker: str
    grant_credit: GrantCredit
    graphs: ReadGraphs
    hold: Hold
    locate: LocateContents
    log: ReadLog
    number: int
    operations: ReadOperations
    ping: Nothing
    place: PlaceContents
    queues: ReadQueues
    remove_dependency: Dependency
    remove_graphs: RemoveGraphs
    remove_queue: str
    resume_worker: str
    reusable: _submission_pb2.Submission
    set_priority: SetPriority
    set_queue: SetQueue
    structure: Selection
    submission: int
    submit: _submission_pb2.Submission
    subscribe: Subscribe
    suspend_graphs: SuspendGraphs
    unsubscribe: int
    workers: Nothing
    def __init__(self, number: _Optional[int] = ..., submit: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ..., enqueue: _Optional[_Union[Enqueue, _Mapping]] = ..., cancel: _Optional[_Union[Cancel, _Mapping]] = ..., cancel_queue: _Optional[_Union[CancelQueue, _Mapping]] = ..., suspend_graphs: _Optional[_Union[SuspendGraphs, _Mapping]] = ..., create_queue: _Optional[_Union[_submission_pb2.QueueSettings, _Mapping]] = ..., change_queue: _Optional[_Union[ChangeQueue, _Mapping]] = ..., remove_queue: _Optional[str] = ..., add_dependency: _Optional[_Union[Dependency, _Mapping]] = ..., remove_dependency: _Optional[_Union[Dependency, _Mapping]] = ..., set_priority: _Optional[_Union[SetPriority, _Mapping]] = ..., drain_worker: _Optional[str] = ..., graphs: _Optional[_Union[ReadGraphs, _Mapping]] = ..., operations: _Optional[_Union[ReadOperations, _Mapping]] = ..., structure: _Optional[_Union[Selection, _Mapping]] = ..., explain: _Optional[_Union[Selection, _Mapping]] = ..., queues: _Optional[_Union[ReadQueues, _Mapping]] = ..., workers: _Optional[_Union[Nothing, _Mapping]] = ..., configuration: _Optional[_Union[Nothing, _Mapping]] = ..., ping: _Optional[_Union[Nothing, _Mapping]] = ..., log: _Optional[_Union[ReadLog, _Mapping]] = ..., subscribe: _Optional[_Union[Subscribe, _Mapping]] = ..., grant_credit: _Optional[_Union[GrantCredit, _Mapping]] = ..., unsubscribe: _Optional[int] = ..., hold: _Optional[_Union[Hold, _Mapping]] = ..., set_queue: _Optional[_Union[SetQueue, _Mapping]] = ..., add_blocks: _Optional[_Union[AddBlocks, _Mapping]] = ..., begin_wait: _Optional[_Union[BeginWait, _Mapping]] = ..., end_wait: _Optional[_Union[_submission_pb2.Operation, _Mapping]] = ..., submission: _Optional[int] = ..., enrol: _Optional[_Union[Enrol, _Mapping]] = ..., resume_worker: _Optional[str] = ..., forget_worker: _Optional[str] = ..., remove_graphs: _Optional[_Union[RemoveGraphs, _Mapping]] = ..., locate: _Optional[_Union[LocateContents, _Mapping]] = ..., place: _Optional[_Union[PlaceContents, _Mapping]] = ..., reusable: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ..., bring: _Optional[_Union[BringContent, _Mapping]] = ...) -> None: ...

class Reusable(_message.Message):
    __slots__ = ["reused", "skipped"]
    REUSED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    reused: _submission_pb2.OperationRuns
    skipped: _submission_pb2.OperationRuns
    def __init__(self, reused: _Optional[_Union[_submission_pb2.OperationRuns, _Mapping]] = ..., skipped: _Optional[_Union[_submission_pb2.OperationRuns, _Mapping]] = ...) -> None: ...

class Selection(_message.Message):
    __slots__ = ["back", "elements", "first_graph", "graphs", "labels", "last_graph", "operation", "priority", "queue", "states"]
    class Graphs(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    BACK_FIELD_NUMBER: _ClassVar[int]
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_GRAPH_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_ACTIVE: Selection.Graphs
    GRAPHS_ALL: Selection.Graphs
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_LAST: Selection.Graphs
    GRAPHS_NUMBERS: Selection.Graphs
    GRAPHS_UNSPECIFIED: Selection.Graphs
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LAST_GRAPH_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    back: int
    elements: _submission_pb2.IndexRuns
    first_graph: _containers.RepeatedScalarFieldContainer[int]
    graphs: Selection.Graphs
    labels: _containers.RepeatedCompositeFieldContainer[_submission_pb2.Label]
    last_graph: _containers.RepeatedScalarFieldContainer[int]
    operation: str
    priority: _submission_pb2.Priority
    queue: str
    states: _containers.RepeatedScalarFieldContainer[StateWord]
    def __init__(self, graphs: _Optional[_Union[Selection.Graphs, str]] = ..., first_graph: _Optional[_Iterable[int]] = ..., last_graph: _Optional[_Iterable[int]] = ..., back: _Optional[int] = ..., operation: _Optional[str] = ..., elements: _Optional[_Union[_submission_pb2.IndexRuns, _Mapping]] = ..., states: _Optional[_Iterable[_Union[StateWord, str]]] = ..., labels: _Optional[_Iterable[_Union[_submission_pb2.Label, _Mapping]]] = ..., queue: _Optional[str] = ..., priority: _Optional[_Union[_submission_pb2.Priority, str]] = ...) -> None: ...

class SetPriority(_message.Message):
    __slots__ = ["priority", "target"]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    priority: _submission_pb2.Priority
    target: OperationTarget
    def __init__(self, target: _Optional[_Union[OperationTarget, _Mapping]] = ..., priority: _Optional[_Union[_submission_pb2.Priority, str]] = ...) -> None: ...

class SetQueue(_message.Message):
    __slots__ = ["queue", "target"]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    queue: str
    target: OperationTarget
    def __init__(self, target: _Optional[_Union[OperationTarget, _Mapping]] = ..., queue: _Optional[str] = ...) -> None: ...

class SubmittedGraph(_message.Message):
    __slots__ = ["outcome", "outcome_count", "submission"]
    OUTCOME_COUNT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    outcome: _containers.RepeatedScalarFieldContainer[_submission_pb2.Outcome]
    outcome_count: _containers.RepeatedScalarFieldContainer[int]
    submission: _submission_pb2.Submission
    def __init__(self, submission: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ..., outcome: _Optional[_Iterable[_Union[_submission_pb2.Outcome, str]]] = ..., outcome_count: _Optional[_Iterable[int]] = ...) -> None: ...

class Subscribe(_message.Message):
    __slots__ = ["backlog_only", "credit", "graphs_only", "includes_own", "known", "number", "selection", "since", "takes_runs"]
    BACKLOG_ONLY_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_ONLY_FIELD_NUMBER: _ClassVar[int]
    INCLUDES_OWN_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    TAKES_RUNS_FIELD_NUMBER: _ClassVar[int]
    backlog_only: bool
    credit: int
    graphs_only: bool
    includes_own: bool
    known: EventMark
    number: int
    selection: Selection
    since: int
    takes_runs: bool
    def __init__(self, number: _Optional[int] = ..., selection: _Optional[_Union[Selection, _Mapping]] = ..., since: _Optional[int] = ..., graphs_only: bool = ..., backlog_only: bool = ..., credit: _Optional[int] = ..., includes_own: bool = ..., known: _Optional[_Union[EventMark, _Mapping]] = ..., takes_runs: bool = ...) -> None: ...

class SuspendGraphs(_message.Message):
    __slots__ = ["is_suspended", "selection"]
    IS_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    is_suspended: bool
    selection: Selection
    def __init__(self, selection: _Optional[_Union[Selection, _Mapping]] = ..., is_suspended: bool = ...) -> None: ...

class WorkerRows(_message.Message):
    __slots__ = ["down", "rows"]
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class Row(_message.Message):
        __slots__ = ["capacity", "down_reason", "down_since", "executing", "free", "held", "labels", "last_heard_nanoseconds", "name", "set_aside", "state", "trouble", "types", "unkillable", "worker"]
        CAPACITY_FIELD_NUMBER: _ClassVar[int]
        DOWN_REASON_FIELD_NUMBER: _ClassVar[int]
        DOWN_SINCE_FIELD_NUMBER: _ClassVar[int]
        EXECUTING_FIELD_NUMBER: _ClassVar[int]
        FREE_FIELD_NUMBER: _ClassVar[int]
        HELD_FIELD_NUMBER: _ClassVar[int]
        LABELS_FIELD_NUMBER: _ClassVar[int]
        LAST_HEARD_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        SET_ASIDE_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        TROUBLE_FIELD_NUMBER: _ClassVar[int]
        TYPES_FIELD_NUMBER: _ClassVar[int]
        UNKILLABLE_FIELD_NUMBER: _ClassVar[int]
        WORKER_FIELD_NUMBER: _ClassVar[int]
        capacity: _submission_pb2.Resources
        down_reason: str
        down_since: int
        executing: int
        free: _submission_pb2.Resources
        held: int
        labels: _containers.RepeatedCompositeFieldContainer[_submission_pb2.Label]
        last_heard_nanoseconds: int
        name: str
        set_aside: bool
        state: WorkerRows.State
        trouble: str
        types: _containers.RepeatedCompositeFieldContainer[_submission_pb2.OperationType]
        unkillable: int
        worker: int
        def __init__(self, worker: _Optional[int] = ..., name: _Optional[str] = ..., state: _Optional[_Union[WorkerRows.State, str]] = ..., capacity: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., free: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., executing: _Optional[int] = ..., held: _Optional[int] = ..., labels: _Optional[_Iterable[_Union[_submission_pb2.Label, _Mapping]]] = ..., types: _Optional[_Iterable[_Union[_submission_pb2.OperationType, _Mapping]]] = ..., last_heard_nanoseconds: _Optional[int] = ..., unkillable: _Optional[int] = ..., trouble: _Optional[str] = ..., set_aside: bool = ..., down_since: _Optional[int] = ..., down_reason: _Optional[str] = ...) -> None: ...
    DOWN_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    STATE_AWAY: WorkerRows.State
    STATE_CONNECTED: WorkerRows.State
    STATE_DOWN: WorkerRows.State
    STATE_DRAINING: WorkerRows.State
    STATE_SUSPECT: WorkerRows.State
    STATE_UNSPECIFIED: WorkerRows.State
    down: _containers.RepeatedCompositeFieldContainer[WorkerRows.Row]
    rows: _containers.RepeatedCompositeFieldContainer[WorkerRows.Row]
    def __init__(self, rows: _Optional[_Iterable[_Union[WorkerRows.Row, _Mapping]]] = ..., down: _Optional[_Iterable[_Union[WorkerRows.Row, _Mapping]]] = ...) -> None: ...

class StateWord(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class CancelVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class GraphState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EventSubject(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
