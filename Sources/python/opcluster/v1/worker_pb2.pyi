from opcluster.v1 import submission_pb2 as _submission_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContentGrants(_message.Message):
    __slots__ = ["digests", "may_write", "reader", "readers"]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    MAY_WRITE_FIELD_NUMBER: _ClassVar[int]
    READERS_FIELD_NUMBER: _ClassVar[int]
    READER_FIELD_NUMBER: _ClassVar[int]
    digests: bytes
    may_write: _containers.RepeatedScalarFieldContainer[bool]
    reader: _containers.RepeatedScalarFieldContainer[int]
    readers: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, digests: _Optional[bytes] = ..., reader: _Optional[_Iterable[int]] = ..., readers: _Optional[_Iterable[bytes]] = ..., may_write: _Optional[_Iterable[bool]] = ...) -> None: ...

class ContentHolders(_message.Message):
    __slots__ = ["count", "digests", "source", "sources"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    digests: bytes
    source: _containers.RepeatedScalarFieldContainer[int]
    sources: _containers.RepeatedCompositeFieldContainer[ContentSource]
    def __init__(self, digests: _Optional[bytes] = ..., count: _Optional[_Iterable[int]] = ..., source: _Optional[_Iterable[int]] = ..., sources: _Optional[_Iterable[_Union[ContentSource, _Mapping]]] = ...) -> None: ...

class ContentSource(_message.Message):
    __slots__ = ["endpoint", "key", "worker"]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    endpoint: str
    key: bytes
    worker: str
    def __init__(self, endpoint: _Optional[str] = ..., key: _Optional[bytes] = ..., worker: _Optional[str] = ...) -> None: ...

class Contents(_message.Message):
    __slots__ = ["digests", "sizes"]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    digests: bytes
    sizes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, digests: _Optional[bytes] = ..., sizes: _Optional[_Iterable[int]] = ...) -> None: ...

class Conversation(_message.Message):
    __slots__ = ["epoch", "increment", "session"]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    INCREMENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    increment: int
    session: int
    def __init__(self, epoch: _Optional[int] = ..., session: _Optional[int] = ..., increment: _Optional[int] = ...) -> None: ...

class CoordinatorMessage(_message.Message):
    __slots__ = ["log_request", "orders", "refused", "welcome"]
    LOG_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    log_request: LogRequest
    orders: WorkerOrders
    refused: _submission_pb2.Refusal
    welcome: Welcome
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., refused: _Optional[_Union[_submission_pb2.Refusal, _Mapping]] = ..., orders: _Optional[_Union[WorkerOrders, _Mapping]] = ..., log_request: _Optional[_Union[LogRequest, _Mapping]] = ...) -> None: ...

class DependencyInputs(_message.Message):
    __slots__ = ["index_plus_one", "name", "names", "operations", "outcome", "output", "output_at"]
    INDEX_PLUS_ONE_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_AT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    index_plus_one: _containers.RepeatedScalarFieldContainer[int]
    name: _containers.RepeatedScalarFieldContainer[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    operations: _submission_pb2.Operations
    outcome: _containers.RepeatedScalarFieldContainer[_submission_pb2.Outcome]
    output: _containers.RepeatedScalarFieldContainer[bytes]
    output_at: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, operations: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., names: _Optional[_Iterable[str]] = ..., name: _Optional[_Iterable[int]] = ..., index_plus_one: _Optional[_Iterable[int]] = ..., outcome: _Optional[_Iterable[_Union[_submission_pb2.Outcome, str]]] = ..., output_at: _Optional[_Iterable[int]] = ..., output: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Dispatches(_message.Message):
    __slots__ = ["argument", "argument_at", "attempts", "await_at", "await_count", "await_policy", "awaits", "input_at", "input_count", "inputs", "place_delta", "priority", "priority_count", "queue", "queue_count", "queue_name", "queue_name_at", "queue_names", "run", "service", "service_count", "template", "template_count"]
    ARGUMENT_AT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    AWAIT_AT_FIELD_NUMBER: _ClassVar[int]
    AWAIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    AWAIT_POLICY_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    INPUT_AT_FIELD_NUMBER: _ClassVar[int]
    INPUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    PLACE_DELTA_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_COUNT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NAMES_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NAME_AT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NAME_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SERVICE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_COUNT_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    argument: _containers.RepeatedScalarFieldContainer[bytes]
    argument_at: _containers.RepeatedScalarFieldContainer[int]
    attempts: _submission_pb2.Attempts
    await_at: _containers.RepeatedScalarFieldContainer[int]
    await_count: _containers.RepeatedScalarFieldContainer[int]
    await_policy: _containers.RepeatedScalarFieldContainer[_submission_pb2.EdgePolicy]
    awaits: _submission_pb2.Operations
    input_at: _containers.RepeatedScalarFieldContainer[int]
    input_count: _containers.RepeatedScalarFieldContainer[int]
    inputs: DependencyInputs
    place_delta: _containers.RepeatedScalarFieldContainer[int]
    priority: _containers.RepeatedScalarFieldContainer[_submission_pb2.Priority]
    priority_count: _containers.RepeatedScalarFieldContainer[int]
    queue: _containers.RepeatedScalarFieldContainer[int]
    queue_count: _containers.RepeatedScalarFieldContainer[int]
    queue_name: _containers.RepeatedScalarFieldContainer[int]
    queue_name_at: _containers.RepeatedScalarFieldContainer[int]
    queue_names: _containers.RepeatedScalarFieldContainer[str]
    run: _containers.RepeatedScalarFieldContainer[int]
    service: _containers.RepeatedScalarFieldContainer[_submission_pb2.QualityOfService]
    service_count: _containers.RepeatedScalarFieldContainer[int]
    template: _containers.RepeatedScalarFieldContainer[int]
    template_count: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, attempts: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., template: _Optional[_Iterable[int]] = ..., template_count: _Optional[_Iterable[int]] = ..., priority: _Optional[_Iterable[_Union[_submission_pb2.Priority, str]]] = ..., priority_count: _Optional[_Iterable[int]] = ..., place_delta: _Optional[_Iterable[int]] = ..., argument_at: _Optional[_Iterable[int]] = ..., argument: _Optional[_Iterable[bytes]] = ..., input_at: _Optional[_Iterable[int]] = ..., input_count: _Optional[_Iterable[int]] = ..., inputs: _Optional[_Union[DependencyInputs, _Mapping]] = ..., await_at: _Optional[_Iterable[int]] = ..., await_count: _Optional[_Iterable[int]] = ..., awaits: _Optional[_Union[_submission_pb2.Operations, _Mapping]] = ..., await_policy: _Optional[_Iterable[_Union[_submission_pb2.EdgePolicy, str]]] = ..., run: _Optional[_Iterable[int]] = ..., queue: _Optional[_Iterable[int]] = ..., queue_count: _Optional[_Iterable[int]] = ..., service: _Optional[_Iterable[_Union[_submission_pb2.QualityOfService, str]]] = ..., service_count: _Optional[_Iterable[int]] = ..., queue_names: _Optional[_Iterable[str]] = ..., queue_name_at: _Optional[_Iterable[int]] = ..., queue_name: _Optional[_Iterable[int]] = ...) -> None: ...

class LogRequest(_message.Message):
    __slots__ = ["attempt", "maximum_bytes", "number", "offset", "stream"]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BYTES_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    attempt: _submission_pb2.Attempt
    maximum_bytes: int
    number: int
    offset: int
    stream: _submission_pb2.LogStream
    def __init__(self, number: _Optional[int] = ..., attempt: _Optional[_Union[_submission_pb2.Attempt, _Mapping]] = ..., stream: _Optional[_Union[_submission_pb2.LogStream, str]] = ..., offset: _Optional[int] = ..., maximum_bytes: _Optional[int] = ...) -> None: ...

class TemplateAnnouncement(_message.Message):
    __slots__ = ["block_types", "demand", "fills_input", "first_index", "grace_nanoseconds", "graph", "graph_name", "index_runs", "input_files", "is_array", "is_exclusive", "name", "payload", "qos", "queue_name", "secrets", "submitter", "template", "timeout_nanoseconds", "trace_parent", "type", "work"]
    BLOCK_TYPES_FIELD_NUMBER: _ClassVar[int]
    DEMAND_FIELD_NUMBER: _ClassVar[int]
    FILLS_INPUT_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    GRACE_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    INDEX_RUNS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FILES_FIELD_NUMBER: _ClassVar[int]
    IS_ARRAY_FIELD_NUMBER: _ClassVar[int]
    IS_EXCLUSIVE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NAME_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    SUBMITTER_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    TRACE_PARENT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    block_types: _containers.RepeatedCompositeFieldContainer[_submission_pb2.OperationType]
    demand: _submission_pb2.Resources
    fills_input: bool
    first_index: int
    grace_nanoseconds: int
    graph: int
    graph_name: str
    index_runs: _submission_pb2.IndexRuns
    input_files: _containers.RepeatedCompositeFieldContainer[_submission_pb2.InputFile]
    is_array: bool
    is_exclusive: bool
    name: str
    payload: bytes
    qos: _submission_pb2.QualityOfService
    queue_name: str
    secrets: _containers.RepeatedScalarFieldContainer[str]
    submitter: str
    template: int
    timeout_nanoseconds: int
    trace_parent: str
    type: _submission_pb2.OperationType
    work: _submission_pb2.WorkKind
    def __init__(self, graph: _Optional[int] = ..., graph_name: _Optional[str] = ..., template: _Optional[int] = ..., first_index: _Optional[int] = ..., name: _Optional[str] = ..., is_array: bool = ..., index_runs: _Optional[_Union[_submission_pb2.IndexRuns, _Mapping]] = ..., work: _Optional[_Union[_submission_pb2.WorkKind, str]] = ..., type: _Optional[_Union[_submission_pb2.OperationType, _Mapping]] = ..., payload: _Optional[bytes] = ..., demand: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., qos: _Optional[_Union[_submission_pb2.QualityOfService, str]] = ..., queue_name: _Optional[str] = ..., timeout_nanoseconds: _Optional[int] = ..., grace_nanoseconds: _Optional[int] = ..., block_types: _Optional[_Iterable[_Union[_submission_pb2.OperationType, _Mapping]]] = ..., fills_input: bool = ..., is_exclusive: bool = ..., secrets: _Optional[_Iterable[str]] = ..., submitter: _Optional[str] = ..., input_files: _Optional[_Iterable[_Union[_submission_pb2.InputFile, _Mapping]]] = ..., trace_parent: _Optional[str] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ["client_endpoint", "conversation", "known", "stale", "takes_contents", "timing", "version", "worker"]
    CLIENT_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    TAKES_CONTENTS_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    client_endpoint: str
    conversation: Conversation
    known: _submission_pb2.HistoryMark
    stale: _submission_pb2.Attempts
    takes_contents: bool
    timing: _submission_pb2.Timing
    version: int
    worker: int
    def __init__(self, conversation: _Optional[_Union[Conversation, _Mapping]] = ..., version: _Optional[int] = ..., worker: _Optional[int] = ..., timing: _Optional[_Union[_submission_pb2.Timing, _Mapping]] = ..., stale: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., client_endpoint: _Optional[str] = ..., known: _Optional[_Union[_submission_pb2.HistoryMark, _Mapping]] = ..., takes_contents: bool = ...) -> None: ...

class WorkerGoodbye(_message.Message):
    __slots__ = ["last_report"]
    LAST_REPORT_FIELD_NUMBER: _ClassVar[int]
    last_report: int
    def __init__(self, last_report: _Optional[int] = ...) -> None: ...

class WorkerHello(_message.Message):
    __slots__ = ["assigned", "build", "capacity", "executing", "known", "labels", "largest", "name", "session", "store", "types", "versions"]
    ASSIGNED_FIELD_NUMBER: _ClassVar[int]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    EXECUTING_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LARGEST_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    assigned: _submission_pb2.Attempts
    build: str
    capacity: _submission_pb2.Resources
    executing: _submission_pb2.Attempts
    known: _submission_pb2.HistoryMark
    labels: _containers.RepeatedCompositeFieldContainer[_submission_pb2.Label]
    largest: _submission_pb2.Resources
    name: str
    session: int
    store: ContentSource
    types: _containers.RepeatedCompositeFieldContainer[_submission_pb2.OperationType]
    versions: _submission_pb2.ProtocolVersions
    def __init__(self, versions: _Optional[_Union[_submission_pb2.ProtocolVersions, _Mapping]] = ..., build: _Optional[str] = ..., name: _Optional[str] = ..., session: _Optional[int] = ..., capacity: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., labels: _Optional[_Iterable[_Union[_submission_pb2.Label, _Mapping]]] = ..., types: _Optional[_Iterable[_Union[_submission_pb2.OperationType, _Mapping]]] = ..., assigned: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., executing: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., known: _Optional[_Union[_submission_pb2.HistoryMark, _Mapping]] = ..., largest: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., store: _Optional[_Union[ContentSource, _Mapping]] = ...) -> None: ...

class WorkerMessage(_message.Message):
    __slots__ = ["goodbye", "hello", "log_chunk", "report"]
    GOODBYE_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    LOG_CHUNK_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    goodbye: WorkerGoodbye
    hello: WorkerHello
    log_chunk: _submission_pb2.LogChunk
    report: WorkerReport
    def __init__(self, hello: _Optional[_Union[WorkerHello, _Mapping]] = ..., report: _Optional[_Union[WorkerReport, _Mapping]] = ..., log_chunk: _Optional[_Union[_submission_pb2.LogChunk, _Mapping]] = ..., goodbye: _Optional[_Union[WorkerGoodbye, _Mapping]] = ...) -> None: ...

class WorkerOrders(_message.Message):
    __slots__ = ["acknowledged", "cancel_grace_at", "cancel_grace_nanoseconds", "cancels", "commit", "conversation", "copies", "copy_sizes", "deliveries", "delivery_sizes", "dispatches", "drain", "forgotten_graphs", "grants", "heard", "holders", "number", "recalls", "released", "retained", "revoked", "stale", "templates", "unobtainable"]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    CANCELS_FIELD_NUMBER: _ClassVar[int]
    CANCEL_GRACE_AT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_GRACE_NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    COPY_SIZES_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_SIZES_FIELD_NUMBER: _ClassVar[int]
    DISPATCHES_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_GRAPHS_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    RECALLS_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    UNOBTAINABLE_FIELD_NUMBER: _ClassVar[int]
    acknowledged: int
    cancel_grace_at: _containers.RepeatedScalarFieldContainer[int]
    cancel_grace_nanoseconds: _containers.RepeatedScalarFieldContainer[int]
    cancels: _submission_pb2.Attempts
    commit: int
    conversation: Conversation
    copies: bytes
    copy_sizes: _containers.RepeatedScalarFieldContainer[int]
    deliveries: ContentHolders
    delivery_sizes: _containers.RepeatedScalarFieldContainer[int]
    dispatches: Dispatches
    drain: bool
    forgotten_graphs: _containers.RepeatedScalarFieldContainer[int]
    grants: ContentGrants
    heard: int
    holders: ContentHolders
    number: int
    recalls: _submission_pb2.Attempts
    released: bytes
    retained: bytes
    revoked: bytes
    stale: _submission_pb2.Attempts
    templates: _containers.RepeatedCompositeFieldContainer[TemplateAnnouncement]
    unobtainable: bytes
    def __init__(self, conversation: _Optional[_Union[Conversation, _Mapping]] = ..., number: _Optional[int] = ..., acknowledged: _Optional[int] = ..., templates: _Optional[_Iterable[_Union[TemplateAnnouncement, _Mapping]]] = ..., dispatches: _Optional[_Union[Dispatches, _Mapping]] = ..., recalls: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., cancels: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., cancel_grace_at: _Optional[_Iterable[int]] = ..., cancel_grace_nanoseconds: _Optional[_Iterable[int]] = ..., stale: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., forgotten_graphs: _Optional[_Iterable[int]] = ..., drain: bool = ..., heard: _Optional[int] = ..., commit: _Optional[int] = ..., holders: _Optional[_Union[ContentHolders, _Mapping]] = ..., grants: _Optional[_Union[ContentGrants, _Mapping]] = ..., released: _Optional[bytes] = ..., revoked: _Optional[bytes] = ..., retained: _Optional[bytes] = ..., copies: _Optional[bytes] = ..., copy_sizes: _Optional[_Iterable[int]] = ..., deliveries: _Optional[_Union[ContentHolders, _Mapping]] = ..., delivery_sizes: _Optional[_Iterable[int]] = ..., unobtainable: _Optional[bytes] = ...) -> None: ...

class WorkerReport(_message.Message):
    __slots__ = ["attempts", "conversation", "held", "kinds", "leaving", "lost", "number", "orders_taken", "progress_fraction", "progress_text", "result_at", "results", "undelivered", "undelivered_sizes", "undelivered_unreached", "unkillable", "unkillable_demand", "unreached", "unreached_sizes"]
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    KIND_ALREADY_STARTED: WorkerReport.Kind
    KIND_CANCEL_TAKEN: WorkerReport.Kind
    KIND_FINISHED: WorkerReport.Kind
    KIND_PROGRESS: WorkerReport.Kind
    KIND_RECALLED: WorkerReport.Kind
    KIND_STARTED: WorkerReport.Kind
    KIND_UNSPECIFIED: WorkerReport.Kind
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ORDERS_TAKEN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FRACTION_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_TEXT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_AT_FIELD_NUMBER: _ClassVar[int]
    UNDELIVERED_FIELD_NUMBER: _ClassVar[int]
    UNDELIVERED_SIZES_FIELD_NUMBER: _ClassVar[int]
    UNDELIVERED_UNREACHED_FIELD_NUMBER: _ClassVar[int]
    UNKILLABLE_DEMAND_FIELD_NUMBER: _ClassVar[int]
    UNKILLABLE_FIELD_NUMBER: _ClassVar[int]
    UNREACHED_FIELD_NUMBER: _ClassVar[int]
    UNREACHED_SIZES_FIELD_NUMBER: _ClassVar[int]
    attempts: _submission_pb2.Attempts
    conversation: Conversation
    held: Contents
    kinds: bytes
    leaving: bool
    lost: bytes
    number: int
    orders_taken: int
    progress_fraction: _containers.RepeatedScalarFieldContainer[float]
    progress_text: _containers.RepeatedScalarFieldContainer[str]
    result_at: _containers.RepeatedScalarFieldContainer[int]
    results: _submission_pb2.AttemptResults
    undelivered: ContentHolders
    undelivered_sizes: _containers.RepeatedScalarFieldContainer[int]
    undelivered_unreached: _containers.RepeatedScalarFieldContainer[bool]
    unkillable: _submission_pb2.Attempts
    unkillable_demand: _submission_pb2.Resources
    unreached: ContentHolders
    unreached_sizes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, conversation: _Optional[_Union[Conversation, _Mapping]] = ..., number: _Optional[int] = ..., orders_taken: _Optional[int] = ..., kinds: _Optional[bytes] = ..., attempts: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., result_at: _Optional[_Iterable[int]] = ..., results: _Optional[_Union[_submission_pb2.AttemptResults, _Mapping]] = ..., progress_fraction: _Optional[_Iterable[float]] = ..., progress_text: _Optional[_Iterable[str]] = ..., leaving: bool = ..., unkillable: _Optional[_Union[_submission_pb2.Attempts, _Mapping]] = ..., unkillable_demand: _Optional[_Union[_submission_pb2.Resources, _Mapping]] = ..., held: _Optional[_Union[Contents, _Mapping]] = ..., lost: _Optional[bytes] = ..., unreached: _Optional[_Union[ContentHolders, _Mapping]] = ..., unreached_sizes: _Optional[_Iterable[int]] = ..., undelivered: _Optional[_Union[ContentHolders, _Mapping]] = ..., undelivered_sizes: _Optional[_Iterable[int]] = ..., undelivered_unreached: _Optional[_Iterable[bool]] = ...) -> None: ...
