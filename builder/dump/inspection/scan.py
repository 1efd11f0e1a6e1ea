"""Counts the entries of a dump.json and finds its first non-finite value at memory speed.

The bytes are compared block by block while they lie in the cache; only entries in which a token
such as NaN stands are decoded. A file of unknown layout is decoded as a whole.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from builder.dump.inspection.first_nonfinite import NonFinite, first_nonfinite
from builder.dump.inspection.json_lines import Bytes, Outline, one_member
from msprobe_core.format.regular_file import open_regular

_Block = NDArray[np.uint8]
_Buffers = tuple[NDArray[np.bool_], ...]
_BLOCK = 1 << 18
_TOKENS = (b"NaN", b"Infinity", b'nan"', b'inf"')
_LONGEST = max(map(len, _TOKENS))


class BrokenDumpError(ValueError):
    """A dump.json that is no JSON object of a dump."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds; `head` is all of it but the entries."""

    entries: int
    nonfinite: NonFinite | None
    head: dict[str, object]


def mapped(path: Path) -> Bytes:
    """The bytes of a file without copying them; raises OSError."""
    with os.fdopen(open_regular(path), "rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            return b""


def scan_part(text: Bytes, place: Outline, begin: int, end: int) -> tuple[int, NonFinite | None]:
    """Entries that begin in [begin, end), and the first non-finite value with a token there."""
    count = 0
    nonfinite: NonFinite | None = None
    bytes_ = np.frombuffer(text, dtype=np.uint8)
    buffers = np.empty(_BLOCK, dtype=bool), np.empty(_BLOCK, dtype=bool)
    done = begin
    for start in range(begin, end, _BLOCK):
        size = min(_BLOCK, end - start)
        block = bytes_[start : start + size + _LONGEST]
        count += _markers(block, size, place.member, buffers)
        if nonfinite is None and _is_suspect(block, size, buffers):
            near = text[start : min(start + size + _LONGEST, place.stop)]
            nonfinite, done = _confirm(text, place, (start + at for at in _tokens(near)), done)
    return count, nonfinite


def decode_all(text: Bytes) -> Contents:
    """The same by decoding everything; raises BrokenDumpError."""
    try:
        head = json.loads(text[:])
    except (ValueError, RecursionError) as error:
        raise BrokenDumpError(f"broken or truncated JSON ({error})") from None
    data = head.pop("data", None) if isinstance(head, dict) else None
    if not isinstance(data, dict):
        raise BrokenDumpError('no object with an object "data"')
    candidates = (first_nonfinite(name, entry) for name, entry in data.items())
    return Contents(len(data), next((each for each in candidates if each is not None), None), head)


def _markers(block: _Block, size: int, member: bytes, buffers: _Buffers) -> int:
    """How often `member` begins among the first `size` bytes."""
    if len(member) == 2:
        return int(np.count_nonzero(_both(block, size, member[0], 1, member[1], buffers)))
    word = np.frombuffer(member, dtype=np.uint32)[0]
    count = 0
    for shift in range(4):  # numpy compares words only where they are aligned
        whole = min(size - shift + 3, len(block) - shift) // 4
        if whole > 0:
            words = block[shift : shift + 4 * whole].view(np.uint32)
            count += int(np.count_nonzero(np.equal(words, word, out=buffers[0][:whole])))
    return count


def _is_suspect(block: _Block, size: int, buffers: _Buffers) -> bool:
    """Whether a token may begin here: two of its letters at their distance, cheap and rare."""
    suspect = _both(block, size, ord("N"), 2, ord("N"), buffers).any()
    suspect = suspect or np.equal(block[:size], ord("I"), out=buffers[0][:size]).any()
    suspect = suspect or _both(block, size, ord("n"), 3, ord('"'), buffers).any()
    return bool(suspect or _both(block, size, ord("f"), 1, ord('"'), buffers).any())


def _both(
    block: _Block, size: int, one: int, gap: int, other: int, buffers: _Buffers
) -> NDArray[np.bool_]:
    size = min(size, len(block) - gap)
    if size <= 0:
        return buffers[0][:0]
    left = np.equal(block[:size], one, out=buffers[0][:size])
    right = np.equal(block[gap : size + gap], other, out=buffers[1][:size])
    return np.logical_and(left, right, out=left)


def _tokens(text: bytes) -> list[int]:
    places = []
    for token in _TOKENS:
        at = text.find(token)
        while at >= 0:
            places.append(at)
            at = text.find(token, at + 1)
    return sorted(places)


def _confirm(
    text: Bytes, place: Outline, offsets: Iterator[int], done: int
) -> tuple[NonFinite | None, int]:
    """Decode the entries around the tokens; a token may also be a part of a name or a text."""
    for at in offsets:
        if at < done:
            continue
        begin = text.rfind(place.member, place.start, at)
        member = one_member(text, begin, place.stop, place.member)
        try:
            ((name, entry),) = json.loads(b"{" + member + b"}").items()
        except (ValueError, RecursionError):
            return None, place.stop
        nonfinite = first_nonfinite(name, entry)
        if nonfinite is not None:
            return nonfinite, at
        done = begin + len(member)
    return None, done
