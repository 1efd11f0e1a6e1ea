"""Pieces of work that this process and one forked from it share, without saying who does which."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

_Given = TypeVar("_Given")
_MOST = 256


class SharedPieces(Generic[_Given]):
    """Pieces of work of which each is done once, by whichever process comes to it first.

    Their numbers wait in a pipe that both processes read, a byte each: the system gives a byte to
    one reader alone. Made before the fork, and closed by the process that forks. A process that
    fails has taken its piece with it, so its failure must be heard of elsewhere.
    Raises ValueError for more pieces than a byte numbers.
    """

    def __init__(self, pieces: Sequence[Callable[[_Given], object]]) -> None:
        if len(pieces) > _MOST:
            raise ValueError(f"{len(pieces)} pieces, and a byte numbers {_MOST}")
        self._pieces = tuple(pieces)
        self._numbers, waiting = os.pipe()
        os.write(waiting, bytes(range(len(self._pieces))))
        os.close(waiting)

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._numbers)

    def work_on(self, given: _Given) -> None:
        """Do the pieces that nobody has begun with, one after the other."""
        while number := os.read(self._numbers, 1):
            self._pieces[number[0]](given)
