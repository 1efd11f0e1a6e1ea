"""The record of a step that is told who writes memory, so that records can be used again."""

from __future__ import annotations

from typing import Any, Protocol

from msprobe_core.capture.framework import ValueBook
from msprobe_core.capture.trace import Trace


class MemoryBook(ValueBook, Protocol):
    """A book that keeps records for as long as nobody has written what they tell of."""

    def given_away(self, value: object) -> None:
        """Note that somebody can from now on write a tensor, or those in a container, unseen."""
        ...

    def arrives(self, value: object, work: object) -> None:
        """Note that a collective writes tensors until its work is done."""
        ...

    def arrived(self, value: object) -> None:
        """Note that the collective that writes these tensors has been waited for."""
        ...

    def stored(self, storage: Any) -> None:  # noqa: ANN401
        """Note that a storage was written as such."""
        ...

    def allocated(self, tensor: Any) -> None:  # noqa: ANN401
        """Note that a tensor's memory was not written yet."""
        ...

    def look_closely(self, closely: bool) -> None:
        """From now on look at every byte before a record is used again, or no longer."""
        ...

    def forget_records(self) -> None:
        """Reuse no record made so far."""
        ...

    def forget_gradients(self) -> None:
        """Reuse no record made so far; what a backward pass has put out is something else now."""
        ...


class MemoryTrace(Trace):
    """A trace with such a book."""

    book: MemoryBook
