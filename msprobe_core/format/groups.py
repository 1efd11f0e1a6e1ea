"""How a dump names a process group: the same in every process of the group."""

from __future__ import annotations

import zlib
from collections.abc import Iterable


def group_id(ranks: Iterable[int]) -> str:
    """The CRC-32 of the list of a group's ranks, as eight hexadecimal digits."""
    return f"{zlib.crc32(str(list(ranks)).encode()):08x}"
