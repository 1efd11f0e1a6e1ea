"""The file of a page without a server: packed blocks, what lies in them, the program."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from itertools import islice
from typing import IO, Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_graph_ascend.offline.packed_columns import packed
from tb_graph_ascend.server.answers import encoded

# What is unpacked to read one line of it: large enough that neighbours share their words.
_BLOCK_BYTES = 128 << 10
_LEVEL = 6
_LARGEST_INTEGER = 2**31 - 1

CellType: TypeAlias = Literal["i32", "f64", "u8"]


class Column(msgspec.Struct, frozen=True):
    """Numbers of one type, little-endian, in one block."""

    type: CellType
    block: int


class Lines(msgspec.Struct, frozen=True):
    """Texts or records, one a line: those of a block begin at the line of its place in `starts`."""

    starts: list[int]
    blocks: list[int]
    count: int


class PageFile:
    """A page that is being written; whoever makes it opens and replaces the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._blocks = 0

    def write(self, text: str) -> None:
        """Append what stands in the page as it is."""
        self._file.write(text.encode("utf-8"))

    def block(self, content: bytes) -> int:
        """Append a packed block; its number."""
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = base64.b64encode(packer.compress(content) + packer.flush())
        # A script of no known type is kept as text, and nothing in base64 can end it.
        head = f'<script type="application/octet-stream" id="block-{self._blocks}">'
        self._file.write(head.encode() + packed + b"</script>\n")
        self._blocks += 1
        return self._blocks - 1

    def column(self, cells: NDArray[Any]) -> Column:
        """Append numbers."""
        if cells.dtype.kind in "b" or cells.dtype == np.uint8:
            return Column("u8", self.block(cells.astype(np.uint8).tobytes()))
        is_small = cells.dtype.kind in "iu" and np.abs(cells).max(initial=0) <= _LARGEST_INTEGER
        type_: CellType = "i32" if is_small else "f64"
        return Column(type_, self.block(cells.astype("<i4" if is_small else "<f8").tobytes()))

    def table(self, records: Iterable[object], at_once: int = 500) -> Lines:
        """Append records by column, so many in a block: few where one is large."""
        starts: list[int] = []
        blocks: list[int] = []
        count = 0
        waiting = iter(records)
        while part := list(islice(waiting, at_once)):
            cells = msgspec.json.decode(encoded(part))
            starts.append(count)
            blocks.append(self.block(encoded(packed(cells))))
            count += len(part)
        return Lines(starts, blocks, count)

    def lines(self, texts: Iterable[bytes]) -> Lines:
        """Append texts that hold no line feed, as JSON does not."""
        starts: list[int] = []
        blocks: list[int] = []
        waiting: list[bytes] = []
        size = count = 0
        for text in texts:
            waiting.append(text)
            size += len(text)
            if size >= _BLOCK_BYTES:
                starts.append(count)
                count += len(waiting)
                blocks.append(self.block(b"\n".join(waiting)))
                waiting, size = [], 0
        if waiting:
            starts.append(count)
            count += len(waiting)
            blocks.append(self.block(b"\n".join(waiting)))
        return Lines(starts, blocks, count)


def script_text(record: object) -> str:
    """A record as JSON that may stand in a script element."""
    return msgspec.json.encode(record).decode("utf-8", "replace").replace("<", "\\u003c")
