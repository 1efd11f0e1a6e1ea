"""Values that are each rank's own by nature: which experts it has, and what these answer.

They are never required to agree: `tokens == 3` on one rank and `tokens == 5` on another choose the
rows of other experts, and what is made of them is of other experts until a collective joins it.
"""

from __future__ import annotations

from functools import cached_property

from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import RunValues
from msprobe_core.format import COMMUNICATION, is_integer_dtype


class OwnValues:
    """Answers for the values of one logical run; each call is looked at once."""

    def __init__(self, values: RunValues) -> None:
        self._values, self._run = values, values.run
        self._calls: dict[str, bool] = {}

    def is_own(self, index: int) -> bool:
        """Whether each rank has a value of its own here."""
        owner, key = self._values.owner[index], self._values.keys[index]
        if key.startswith("input"):
            return self._reads_own(index)
        return key.startswith("output") and self._makes_own(owner)

    def _makes_own(self, owner: str) -> bool:
        known = self._calls.get(owner)
        if known is not None:
            return known
        self._calls[owner] = False  # a call that reads its own result decides nothing by that
        entry = parse(owner)
        found = False
        if entry is not None and entry.kind == "api" and entry.prefix not in COMMUNICATION:
            own = range(*self._run.dump.ranges[owner])
            read = [i for i in own if self._values.keys[i].startswith("input")]
            found = self._chooses(own, read) or any(map(self._reads_own, read))
        self._calls[owner] = found
        return found

    def _chooses(self, own: range, read: list[int]) -> bool:
        """Whether a call makes indices or a mask by plain numbers that are other ones elsewhere."""
        made = [i for i in own if self._values.keys[i].startswith("output")]
        if not made or not all(self._is_choice(index) for index in made):
            return False
        plain = [index for index in read if self._values.dtype(index) is None]
        return any(len({repr(r.value) for r in self._values.records(i)}) > 1 for i in plain)

    def _is_choice(self, index: int) -> bool:
        dtype = self._values.dtype(index) or ""
        return is_integer_dtype(dtype) or dtype.endswith("bool")

    def _reads_own(self, index: int) -> bool:
        """Whether ranks read what unlike calls made, other parts of it, or what is their own."""
        if self._values.dtype(index) is None:
            return False
        made = {self._origin(part.rank, part.record) for part in self._run.parts[index]}
        known = {name for name, _ in made if name is not None}
        is_told = all(name is not None for name, _ in made)
        return (is_told and len(made) > 1) or any(map(self._makes_own, known))

    def _origin(self, rank: int, record: int) -> tuple[str | None, str]:
        """The entry of the logical run that made a rank's value, and by what it was picked from it.

        Calls without values stand between, whose plain arguments say what they take.
        """
        found = self._run.records[record]
        source, picked = found.source or found.through, ""
        for _ in range(_LONGEST):
            if source is None:
                break
            name = source.partition(".output")[0]
            logical = self._logical.get((rank, name))
            if logical is not None and logical in self._run.dump.ranges:
                return logical, picked
            call = self._run.passing.get(rank, {}).get(name)
            if call is None or len({told for _, told in call.sources}) != 1:
                break
            picked += repr(sorted(call.arguments.items(), key=repr))
            source = call.sources[0][1]
        return None, picked

    @cached_property
    def _logical(self) -> dict[tuple[int, str], str]:
        return {
            (rank, name): logical
            for logical, by_rank in self._run.origin.items()
            for rank, name in by_rank.items()
        }


_LONGEST = 64  # views of views; a longer chain is no chain
