"""Recognises how a dump.json is laid out in lines, so that its entries can be counted as lines.

A raw line break cannot stand inside a JSON string, so the lines of the two known writers are
structure. Every other layout is recognised as unknown, never guessed.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass

Bytes = bytes | mmap.mmap

_HEAD = 1 << 16
_OPENING = b'"data": {'
# (how a member of `data` begins, how `data` ends, how a later member of the whole file begins)
_LAYOUTS = ((b'\n  "', b"\n }", b'\n "'), (b'\n"', b"\n}", None))


@dataclass(frozen=True, slots=True)
class Outline:
    """Where the entries lie; `member` begins each of them, `shell` is the file without them."""

    start: int
    stop: int
    member: bytes
    shell: dict[str, object]


def outline(text: Bytes) -> Outline | None:
    """The outline of a file by one of the known writers, None for any other."""
    opening = text[:_HEAD].find(_OPENING)
    if opening < 0:
        return None
    start = opening + len(_OPENING)
    for member, end, later in _LAYOUTS:
        if text[start : start + len(member)] != member:
            continue
        stop = text.rfind(end, start)
        if stop < 0 or (later and text.rfind(later, max(start, stop - _HEAD), stop) >= 0):
            return None
        shell = _object(text[:start] + text[stop + len(end) - 1 :])
        first = one_member(text, start, stop, member)
        if shell is None or _object(b"{" + first + b"}") is None:
            return None
        return Outline(start, stop, member, shell)
    return None


def one_member(text: Bytes, begin: int, stop: int, member: bytes) -> bytes:
    """The text of the member that begins at `begin`, without the comma after it."""
    end = text.find(member, begin + len(member), stop)
    return text[begin : end if end >= 0 else stop].rstrip().removesuffix(b",")


def _object(text: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
