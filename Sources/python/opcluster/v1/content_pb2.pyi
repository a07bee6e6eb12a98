from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContentAnswer(_message.Message):
    __slots__ = ["credit", "is_kept", "number", "offset", "piece", "refusal"]
    class Refusal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    IS_KEPT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_ABSENT: ContentAnswer.Refusal
    REFUSAL_BUSY: ContentAnswer.Refusal
    REFUSAL_DAMAGED: ContentAnswer.Refusal
    REFUSAL_FAILED: ContentAnswer.Refusal
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FULL: ContentAnswer.Refusal
    REFUSAL_NOT_GRANTED: ContentAnswer.Refusal
    REFUSAL_UNSPECIFIED: ContentAnswer.Refusal
    credit: int
    is_kept: bool
    number: int
    offset: int
    piece: bytes
    refusal: ContentAnswer.Refusal
    def __init__(self, number: _Optional[int] = ..., offset: _Optional[int] = ..., piece: _Optional[bytes] = ..., refusal: _Optional[_Union[ContentAnswer.Refusal, str]] = ..., credit: _Optional[int] = ..., is_kept: bool = ...) -> None: ...

class ContentCredit(_message.Message):
    __slots__ = ["bytes", "number"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    number: int
    def __init__(self, number: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class ContentOffer(_message.Message):
    __slots__ = ["digest", "number", "size"]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    digest: bytes
    number: int
    size: int
    def __init__(self, number: _Optional[int] = ..., digest: _Optional[bytes] = ..., size: _Optional[int] = ...) -> None: ...

class ContentPiece(_message.Message):
    __slots__ = ["bytes", "number", "offset"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    bytes: bytes
    number: int
    offset: int
    def __init__(self, number: _Optional[int] = ..., offset: _Optional[int] = ..., bytes: _Optional[bytes] = ...) -> None: ...

class ContentRequest(_message.Message):
    __slots__ = ["credit", "offer", "piece", "stop", "wish"]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    WISH_FIELD_NUMBER: _ClassVar[int]
    credit: ContentCredit
    offer: ContentOffer
    piece: ContentPiece
    stop: ContentStop
    wish: ContentWish
    def __init__(self, wish: _Optional[_Union[ContentWish, _Mapping]] = ..., credit: _Optional[_Union[ContentCredit, _Mapping]] = ..., stop: _Optional[_Union[ContentStop, _Mapping]] = ..., offer: _Optional[_Union[ContentOffer, _Mapping]] = ..., piece: _Optional[_Union[ContentPiece, _Mapping]] = ...) -> None: ...

class ContentStop(_message.Message):
    __slots__ = ["number"]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class ContentWish(_message.Message):
    __slots__ = ["credit", "digest", "hears_of_holders", "number", "offset"]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    HEARS_OF_HOLDERS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    credit: int
    digest: bytes
    hears_of_holders: bool
    number: int
    offset: int
    def __init__(self, number: _Optional[int] = ..., digest: _Optional[bytes] = ..., offset: _Optional[int] = ..., credit: _Optional[int] = ..., hears_of_holders: bool = ...) -> None: ...
