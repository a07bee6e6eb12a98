"""The limits of the protocol that this package keeps, as in the Limits file of the repository."""

from __future__ import annotations

from typing import Final

#: Bytes of one message, between client and coordinator and between worker and interpreter.
MESSAGE_BYTES: Final = 16 * 1024 * 1024
#: Bytes of the payload of one template: the function and what all its calls share.
PAYLOAD_BYTES: Final = 256 * 1024
#: Bytes of the argument of one element of an array: one call.
ELEMENT_ARGUMENT_BYTES: Final = 64 * 1024
#: Bytes of the output of one operation; a larger value lies in a store.
OUTPUT_BYTES: Final = 64 * 1024
#: Bytes of one field of a typed output that commands can read by its name.
OUTPUT_FIELD_BYTES: Final = 4 * 1024
#: Bytes of what is said of a failure.
DIAGNOSTIC_BYTES: Final = 4 * 1024
#: Bytes of a pickled exception; without it the client gets the diagnostic alone.
EXCEPTION_BYTES: Final = 48 * 1024
#: Templates that an interpreter remembers.
TEMPLATES_PER_INTERPRETER: Final = 1_024
#: The least time between two reports of progress, in seconds.
PROGRESS_INTERVAL: Final = 0.1
#: Rows in one answer.
ROWS_PER_REPLY: Final = 1_000
#: Events that a subscriber may have outstanding, and after how many it grants again.
EVENT_CREDIT: Final = 65_536
EVENTS_PER_GRANT: Final = 1_024
#: Requests of one client on their way, and their bytes; a larger request goes alone.
REQUESTS_IN_FLIGHT: Final = 256
REQUEST_BYTES_IN_FLIGHT: Final = 32 * 1024 * 1024
#: Bytes of one piece of a log.
LOG_CHUNK_BYTES: Final = 64 * 1024
#: Bytes from which the buffer of an array is a content of its own, and such buffers of one call.
SEPARATE_BUFFER_BYTES: Final = 16 * 1024
BUFFERS_PER_CALL: Final = 500
#: Files that one operation reads of its submitter, or leaves.
CONTENTS_PER_OPERATION: Final = 1_000
#: Bytes of one name of a file and of a relative path, and names of such a path.
FILE_NAME_BYTES: Final = 255
RELATIVE_PATH_BYTES: Final = 1_024
PATH_DEPTH: Final = 32
#: Bytes of the names of the submitter's files that one operation reads.
OWN_FILES_BYTES: Final = 256 * 1024
