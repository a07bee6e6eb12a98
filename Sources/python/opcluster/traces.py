"""Spans of operations in the trace of who submitted them, as W3C's Trace Context writes them. Pure.

A span's number follows from what it stands for, so that nobody has to keep it: the worker, the
manual's commands and this module find the same (`TraceContext.swift`).
"""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 64) - 1


def attempt_parent(parent: str, graph: int, operation: int, run: int) -> str:
    """The ``traceparent`` below which an attempt reports.

    :param parent: That of the graph's submission; without one the result is empty, too.
    :param run: As people count them, from 1.
    """
    parts = parent.split("-")
    if len(parts) < 4:
        return ""
    version, trace, span, flags = parts[:4]
    number = _number(f"attempt {run} {operation} {trace} {span} {graph}", 2)
    return f"{version}-{trace}-{number}-{flags}"


def _number(text: str, salt: int) -> str:
    """Eight bytes in hexadecimal that follow from a text, never zero (FNV-1a)."""
    value = 0xCBF29CE484222325
    for byte in (salt, *text.encode()):
        value = (value ^ byte) * 0x100000001B3 & _MASK
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    return f"{max(value, 1):016x}"
