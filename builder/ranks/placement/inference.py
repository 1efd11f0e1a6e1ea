"""Infers along tp what each value of the forward pass is, from its numbers and what made it.

R (copies) is seen by value; S (a shard) and P (a part of a sum) look alike by value, and follow
from the flow: a whole input by a weight that is cut gives a shard, a shard by a weight that is cut
gives a part of a sum. What no rule knows has no placement, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from builder.dump.values import Record
from builder.operators.table import has, plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import RunValues, fingerprint
from builder.ranks.layout.names import is_expert
from builder.ranks.placement.evidence import are_apart, are_copies, is_constant
from msprobe_core.format import COMMUNICATION, EntryName

# `weight`: a parameter that the ranks have unlike shares of. `rows`: looked up in such a share.
# `any`: one number throughout, which is everything at once.
Kind = Literal["R", "S", "P", "any", "weight", "rows"]
_SUMS = frozenset(
    ("__add__", "__radd__", "__iadd__", "add", "__sub__", "__rsub__", "__isub__", "sub")
)
_PRODUCTS = frozenset(("linear", "matmul", "__matmul__", "mm"))
_MASKS = frozenset(("masked_fill", "__mul__", "mul", "where"))
# What is no function of a sum's parts one by one. Extremes and norms, which logs and scaling
# factors of eight-bit formats take of anything, are not among them.
_NON_LINEAR = frozenset(
    "gelu silu relu sigmoid tanh softmax log_softmax layer_norm rms_norm softplus mish relu6 "
    "leaky_relu elu hardswish cross_entropy".split()
)
# What is computed element by element, head by head or by moving elements: a shard stays one.
_LOCAL = _NON_LINEAR | frozenset(
    "scaled_dot_product_attention __mul__ mul __truediv__ div __neg__ neg dropout cos sin".split()
)


@dataclass(frozen=True, slots=True)
class Placement:
    """What a value is along tp; of a part of a sum also the call that made it."""

    kind: Kind
    maker: str = ""


@dataclass(frozen=True, slots=True)
class Unsummed:
    """A part of a sum that a call reads as if it were the whole; `added` where to a whole value."""

    maker: str
    reader: str
    added: bool


class Inference:
    """One walk over the calls of the forward pass, in order: O(values × ranks)."""

    def __init__(self, values: RunValues) -> None:
        self._values, self._run = values, values.run
        self._placed: dict[tuple[str, str], Placement] = {}
        self._weights = {
            fingerprint(record)
            for index, key in enumerate(values.keys)
            if key.startswith("parameters.")
            for record in values.records(index)
        } - {()}
        # The names of a rank's calls in the logical run.
        self._logical = {
            (rank, name): logical
            for logical, by_rank in self._run.origin.items()
            for rank, name in by_rank.items()
        }

    def conflicts(self) -> Iterator[Unsummed]:
        """The parts of sums that are used as the whole, each once."""
        seen: set[str] = set()
        for owner, (start, stop) in self._run.dump.ranges.items():
            entry = parse(owner)
            if entry is None or entry.kind != "api" or entry.direction != "forward":
                continue
            if entry.prefix in COMMUNICATION:
                continue
            read = [
                (index, self._of_input(index))
                for index in range(start, stop)
                if self._values.keys[index].startswith("input") and self._is_float(index)
            ]
            found = self._conflict(owner, entry, read)
            if found is not None and found.maker not in seen:
                seen.add(found.maker)
                yield found
            if found is None:
                self._place(owner, entry, [placed for _, placed in read], start, stop)

    def _is_float(self, index: int) -> bool:
        return "float" in (self._values.dtype(index) or "")

    # --- inputs ---------------------------------------------------------------------------------

    def _groups(self, index: int) -> list[list[Record]]:
        """The records of the ranks along tp, one list for each place on the other axes."""
        tp = AXIS_NAMES.index("tp")
        groups: dict[tuple[int, ...], list[Record]] = {}
        for part in self._run.parts[index]:
            rest = (*part.at[:tp], *part.at[tp + 1 :])
            groups.setdefault(rest, []).append(self._run.records[part.record])
        return list(groups.values())

    def _of_input(self, index: int) -> Placement | None:
        groups, size = self._groups(index), self._run.layout.size("tp")
        if any(len(group) != size for group in groups):
            return None
        if all(is_constant(record) for group in groups for record in group):
            return Placement("any")
        if all(are_copies(group) for group in groups):
            return Placement("R")
        owner = self._values.owner[index]
        shapes = {record.shape for group in groups for record in group}
        if len(shapes) > 1 or not all(are_apart(owner, group) for group in groups):
            return None
        if all(fingerprint(r) in self._weights for group in groups for r in group):
            return Placement("weight")
        return self._of_source(index)

    def _of_source(self, index: int) -> Placement | None:
        """The placement of what a value was read from, on its lowest rank."""
        part = min(self._run.parts[index], key=lambda part: part.rank)
        record = self._run.records[part.record]
        for source in (record.source, record.through):
            placed = self._behind(part.rank, source)
            if placed is not None:
                return placed
        return None

    def _behind(self, rank: int, source: str | None) -> Placement | None:
        """The placement of an output by its name on a rank, through calls without values."""
        while source is not None:
            name, _, path = source.partition(".output")
            placed = self._placed.get((self._logical.get((rank, name), ""), f"output{path}"))
            if placed is not None:
                return placed
            call = self._run.passing.get(rank, {}).get(name)
            # With several tensors, what is put out is more than a view of one of them.
            if call is None or len(call.sources) != 1:
                return None
            source = call.sources[0][1]
        return None

    # --- rules ----------------------------------------------------------------------------------

    def _place(
        self, owner: str, entry: EntryName, read: list[Placement | None], start: int, stop: int
    ) -> None:
        placed = None if None in read else self._rule(owner, entry, [p for p in read if p])
        if placed is None:
            return
        for index in range(start, stop):
            if self._values.keys[index].startswith("output"):
                self._placed[owner, self._values.keys[index]] = placed

    def _rule(self, owner: str, entry: EntryName, read: list[Placement]) -> Placement | None:
        call, kinds = plain_name(entry.type_name), [placed.kind for placed in read]
        if call in _PRODUCTS:
            return self._product(owner, kinds, read)
        if call == "embedding":
            return Placement("rows") if kinds == ["weight"] else None
        if "rows" in kinds:
            is_masked = call in _MASKS and set(kinds) <= {"rows", "any", "R"}
            return Placement("P", owner) if is_masked else None
        if "P" in kinds:
            return self._of_parts(call, read)
        if "S" in kinds and (call in _LOCAL or call in _SUMS or has(call, "view", "part", "turn")):
            return Placement("S")
        return None

    def _product(self, owner: str, kinds: list[Kind], read: list[Placement]) -> Placement | None:
        """A product over the last dimension of the first operand."""
        first, second, *bias = (*kinds, "any", "any")
        if second == "weight" and not is_expert(self._around(owner)):
            if first == "R":
                return Placement("S")
            if first == "S" and "weight" not in bias:
                return Placement("P", owner)
        if first == "P" and second in ("R", "any") and set(bias) == {"any"}:
            return read[0]
        # Of scores and values, whose heads are cut.
        return Placement("S") if first == second == "S" else None

    def _around(self, owner: str) -> str:
        return f"{self._run.dump.parents.get(owner) or ''} {owner}".replace(" ", ".")

    @staticmethod
    def _of_parts(call: str, read: list[Placement]) -> Placement | None:
        """What a linear call makes of parts of a sum."""
        kinds = {placed.kind for placed in read}
        is_kept = call in _SUMS and kinds <= {"P", "any"}
        is_kept |= has(call, "linear", "moves", "view", "part", "turn") and kinds <= {"P", "any"}
        is_kept |= call in ("__mul__", "mul", "dropout") and kinds <= {"P", "R", "any"}
        is_single = sum(placed.kind == "P" for placed in read) == 1 or call in _SUMS
        maker = next(placed for placed in read if placed.kind == "P")
        return maker if is_kept and is_single else None

    def _conflict(
        self, owner: str, entry: EntryName, read: list[tuple[int, Placement | None]]
    ) -> Unsummed | None:
        call = plain_name(entry.type_name)
        parts = [placed for _, placed in read if placed is not None and placed.kind == "P"]
        if not parts:
            return None
        if call in _NON_LINEAR and read[0][1] in parts:
            return Unsummed(parts[0].maker, owner, added=False)
        if call not in _SUMS or len(parts) != 1 or len(read) != 2:
            return None
        other = next(placed for _, placed in read if placed is not parts[0])
        is_added = other is not None and other.kind == "R"
        return Unsummed(parts[0].maker, owner, added=True) if is_added else None
