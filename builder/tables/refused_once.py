"""A file that tells of a full disk once, for writers that write again when they are collected."""

from __future__ import annotations

from typing import BinaryIO


class RefusedOnce:
    """What a zip archive writes to; after the first write that fails the others go nowhere.

    An archive that is given up by its owner finishes itself when it is collected: on a disk that is
    full that fails a second time, where nobody can catch it. Invariant: `tell` goes on as if all
    had been written, for an archive counts with it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._place = 0
        self._is_refused = False

    def write(self, data: bytes) -> int:
        """Write all of it; raises OSError the first time that the disk takes no more."""
        if self._takes_more():
            try:
                self._file.write(data)
            except OSError:
                self._is_refused = True
                raise
        self._place += len(data)
        return len(data)

    def flush(self) -> None:
        """Hand over what is buffered; raises OSError as `write` does."""
        if self._takes_more():
            try:
                self._file.flush()
            except OSError:
                self._is_refused = True
                raise

    def tell(self) -> int:
        """The place of the next byte."""
        return self._place

    def seek(self, place: int) -> int:
        """Go to a place, as an archive does to mend a header; raises OSError as `write` does."""
        if self._takes_more():
            try:
                self._file.seek(place)
            except OSError:
                self._is_refused = True
                raise
        self._place = place
        return place

    def _takes_more(self) -> bool:
        return not (self._is_refused or self._file.closed)
