"""The record of a step that is told who writes memory, so that records can be used again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.framework import ValueBook
from msprobe_core.capture.trace import Trace


class MemoryBook(ValueBook, Protocol):
    """A book that keeps records for as long as nobody has written what they tell of."""

    def written(self, value: object, name: str | None = None) -> None:
        """Note that a tensor, or those in a container, may just have been written.

        `name` is the value name of the output of the call that did.
        """
        ...

    def maker_of(self, tensor: Any) -> str | None:
        """The value name of the output that a tensor is; None where no call has put it out."""
        ...

    def put_out(self, tensor: Any, name: str) -> None:
        """Note that a tensor is the output of that value name, which leaves no record."""
        ...

    def given_away(self, value: object) -> None:
        """Note that somebody can from now on write a tensor, or those in a container, unseen."""
        ...

    def arrives(self, value: object, work: object) -> None:
        """Note that a collective writes tensors until its work is done."""
        ...

    def arrived(self, value: object) -> None:
        """Note that the collective that writes these tensors has been waited for."""
        ...

    def stored(self, storage: Any) -> None:
        """Note that a storage was written as such."""
        ...

    def allocated(self, tensor: Any) -> None:
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


class PassingCalls(Protocol):
    """Writes calls that leave no values."""

    def fill(self, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Write what a call was given, and from whom."""
        ...

    def put_out(self, name: str, result: object) -> None:
        """Remember whose output the tensors of a result are."""
        ...


class MemoryTrace(Trace):
    """A trace with such a book; `passing` is None where calls without values are not followed."""

    book: MemoryBook
    passing: PassingCalls | None = None
