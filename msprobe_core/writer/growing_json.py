"""A JSON object on disk that grows at its end and is valid JSON after each write.

Each write replaces the closing text by new members and the closing text again, in one call, so a
process that is killed anywhere else leaves a file that reads. Within that call the system may stop
between two pages of memory.
"""

from __future__ import annotations

import os
from pathlib import Path


class GrowingJson:
    """`opening`, then members, then `open_end` while it grows and `final_end` when it is complete.

    Raises OSError as the file system does.
    """

    def __init__(self, path: Path, opening: str, open_end: str, final_end: str) -> None:
        self._open_end, self._final_end = open_end.encode(), final_end.encode()
        # Under its own name only once it is JSON: a process may end between opening and writing.
        fresh = path.with_name(f"{path.name}.partial")
        self._file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o640)
        self._closed = False
        self._begin = self.size = self._write(0, opening.encode(), self._open_end)
        fresh.replace(path)

    def append(self, members: list[str]) -> None:
        """Add members, each `"key": value` text."""
        if not members or self._closed:
            return
        lead = "\n" if self.size == self._begin else ",\n"
        data = (lead + ",\n".join(members)).encode("utf-8", "backslashreplace")
        self.size = self._write(self.size, data, self._open_end)

    def finish_with(self, final_end: str) -> None:
        """Choose another closing text for the complete file."""
        self._final_end = final_end.encode()

    def close(self, complete: bool = True) -> int:
        """Write the last closing text when complete; the file's size in bytes."""
        end = self._final_end if complete else self._open_end
        if self._closed:
            return self.size + len(end)
        self._closed = True  # also when the last write fails: the number may be another file's then
        try:
            if complete:
                # Padded to the longer closing text, so that no moment shows a half of either.
                self._write(self.size, b"", end.ljust(len(self._open_end)))
                os.ftruncate(self._file, self.size + len(end))
        finally:
            os.close(self._file)
        return self.size + len(end)

    def leave(self) -> None:
        """Close the file as it is."""
        if not self._closed:
            self._closed = True
            os.close(self._file)

    def _write(self, offset: int, data: bytes, end: bytes) -> int:
        try:
            self._write_all(offset, data + end)
        except BaseException:  # raised again
            # The disk is full, or Ctrl-C came: this place was written before, the file stays valid.
            self._write_all(offset, self._open_end)
            os.ftruncate(self._file, offset + len(self._open_end))
            raise
        return offset + len(data)

    def _write_all(self, offset: int, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            written = os.pwrite(self._file, remaining, offset)
            offset += written
            remaining = remaining[written:]
