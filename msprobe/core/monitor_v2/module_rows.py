"""The order that rows of modules stand in, as mindstudio-probe 26.2.0 writes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

Row = Sequence[object]
_Call = tuple[str, str, int]
"""Kind, module and how often that one was called before in the step."""
_Added = tuple[_Call, str, int, int, Row]
"""Of which call, side, index, when, and the row."""


class ModuleRows:
    """Rows of a step: what goes into a call where it begins, what comes out where it ends, and
    gradients where the last one of a call is there, those of its inputs first.

    Invariant: a call that has ended has taken its own beginning off, the last one of its module; of
    a call that an exception left, the beginning stays below those of later ones.
    """

    def __init__(self) -> None:
        self._clock = count()
        self._begun: dict[str, list[int]] = {}
        self._began: dict[_Call, int] = {}
        self._ended: dict[_Call, int] = {}
        self._rows: list[_Added] = []

    def begin(self, module: str) -> None:
        """A call of a module begins."""
        self._begun.setdefault(module, []).append(next(self._clock))

    def add(self, kind: str, named: str, number: int, row: Row) -> None:
        """Add the row of a value that is called `<module>.<side>.<index>`."""
        module, side, index = named.rsplit(".", 2)
        call = kind, module, number
        now = self._ended[call] = next(self._clock)
        if kind == "actv" and call not in self._began:
            begun = self._begun.get(module)
            self._began[call] = begun.pop() if begun else now
        self._rows.append((call, side, int(index), now, row))

    def take(self) -> list[Row]:
        """The rows in their order, and the next step begins."""
        rows = [row for *_, row in sorted(self._rows, key=self._place)]
        for left in (self._begun, self._began, self._ended, self._rows):
            left.clear()
        return rows

    def _place(self, added: _Added) -> tuple[int, bool, int]:
        call, side, index, now, _ = added
        if call[0] == "actv":
            return self._began[call] if side == "input" else now, False, index
        return self._ended[call], side == "grad_output", index
