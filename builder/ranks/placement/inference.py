"""Infers along tp what each value of the forward pass is, from its numbers and what made it.

R (copies) is seen by value; S (a shard) and P (a part of a sum) look alike by value, and follow
from the flow: a whole input by a weight that is cut gives a shard, a shard by a weight that is cut
gives a part of a sum. What no rule knows has no placement, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from builder.dump.values import Record
from builder.operators.table import Trait, has, plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import RunValues, fingerprint
from builder.ranks.layout.names import is_expert
from builder.ranks.placement.copies import are_apart, are_copies, is_constant
from msprobe_core.format import COMMUNICATION, EntryName

# `weight`: a parameter that the ranks have unlike shares of. `rows`: looked up in such a share.
# `any`: one number throughout, which is everything at once.
# `part`: a whole value's share by a plain number, of which a sum over ranks makes the whole again.
Kind = Literal["R", "S", "P", "any", "weight", "rows", "part"]
_SUMS = frozenset(
    ("__add__", "__radd__", "__iadd__", "add", "__sub__", "__rsub__", "__isub__", "sub")
)
_SCALES = frozenset("__mul__ __rmul__ mul mul_ __imul__ __truediv__ div div_ __itruediv__".split())
_PRODUCTS = frozenset(("linear", "matmul", "__matmul__", "mm", "bmm", "baddbmm", "_grouped_mm"))
_MASKS = frozenset(("masked_fill", "__mul__", "mul", "where"))
_SHAPING: tuple[Trait, ...] = ("view", "part", "turn", "keep", "cast", "converts")
_TINY = 1e-6  # a share is told in double precision, or is 1/3 of single precision
# What is no function of a sum's parts one by one. Extremes and norms, which logs and scaling
# factors of eight-bit formats take of anything, are not among them.
_NON_LINEAR = frozenset(
    "gelu silu relu sigmoid tanh softmax log_softmax layer_norm rms_norm softplus mish relu6 "
    "leaky_relu elu hardswish cross_entropy".split()
)
# What is computed element by element, head by head or by moving elements: a shard stays one.
_LOCAL = _NON_LINEAR | frozenset(
    "scaled_dot_product_attention __mul__ mul __truediv__ div __neg__ neg dropout cos sin "
    "masked_fill masked_fill_".split()
)


# What works on all elements along the last dimension at once.
_OVER_LAST = frozenset("softmax log_softmax cross_entropy layer_norm rms_norm".split())
# What picks of its input by chance or by rank of its elements: routing, sampling, noise. Equal
# inputs give equal results on all ranks, unless each has a generator of its own.
_PICKS = frozenset("topk argmax argmin argsort sort multinomial bernoulli".split())
_DRAWS = frozenset("rand randn rand_like randn_like normal normal_ uniform_ bernoulli_".split())
# Why a value does not fit: a part of a sum is `added` to a whole value or read by what is not
# linear (`bent`); a shard is read as if it were all there is (`cut`); a `bias` is added to each
# part; a whole value loses other elements on each rank (`random`).
# `drawn`: what is the same on all ranks is drawn or chosen from, and otherwise on each.
Reason = Literal["added", "bent", "cut", "bias", "random", "drawn"]


@dataclass(frozen=True, slots=True)
class Placement:
    """What a value is along tp; of a part of a sum also the call that made it.

    `extent` is that of a last dimension that is cut, 0 where another is or none is known to be;
    `summed` is a collective that added up a part of a sum along another axis.
    """

    kind: Kind
    maker: str = ""
    extent: int = 0
    summed: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A call that reads a value as what it is not along tp, the call that made it, and why."""

    maker: str
    reader: str
    reason: Reason
    summed: str = ""


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

    def conflicts(self) -> Iterator[Conflict]:
        """The values that are used as what they are not, each once."""
        seen: set[str] = set()
        for owner, (start, stop) in self._run.dump.ranges.items():
            entry = parse(owner)
            if entry is None or entry.kind != "api" or entry.direction != "forward":
                continue
            read = [
                (index, self._of_input(index))
                for index in range(start, stop)
                if self._values.keys[index].startswith("input") and self._is_float(index)
            ]
            if self._drops_first(entry, range(start, stop)):
                read = read[1:]
            if entry.prefix in COMMUNICATION:
                self._pass_on(owner, entry, read, start, stop)
                continue
            found = self._conflict(owner, entry, read, range(start, stop))
            if found is not None and found.maker not in seen:
                seen.add(found.maker)
                yield found
            if found is None:
                self._place(owner, entry, [placed for _, placed in read], range(start, stop))

    def _drops_first(self, entry: EntryName, own: range) -> bool:
        """Whether a call multiplies its first operand by 0: a buffer that nobody has filled."""
        is_sum = plain_name(entry.type_name) == "baddbmm"
        keys = self._values.keys
        return is_sum and any(
            keys[i] == "input.beta" and self._values.records(i)[0].value == 0 for i in own
        )

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
            made = self._of_source(index)
            return made if made is not None and made.kind == "part" else Placement("R")
        owner = self._values.owner[index]
        shapes = {record.shape for group in groups for record in group}
        if len(shapes) > 1:
            return None
        if not all(are_apart(owner, group) for group in groups):
            # Masked scores have norms alike: what was cut stays cut, whatever its numbers are.
            made = self._of_source(index)
            return made if made is not None and made.kind == "S" else None
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
        self, owner: str, entry: EntryName, read: list[Placement | None], own: range
    ) -> None:
        known = [placed for placed in read if placed is not None]
        placed = None if None in read else self._rule(owner, entry, known)
        if placed is None and self._is_share(entry, known, own):
            placed = Placement("part")
        if placed is None:
            return
        for index in own:
            if self._values.keys[index].startswith("output"):
                shape = self._values.records(index)[0].shape or (0,)
                is_kept = not placed.extent or shape[-1:] == (placed.extent,)
                self._placed[owner, self._values.keys[index]] = (
                    placed if is_kept else replace(placed, extent=0)
                )

    def _is_share(self, entry: EntryName, read: list[Placement], own: range) -> bool:
        """Whether a whole value is divided by the number of the ranks that will add it up."""
        if plain_name(entry.type_name) not in _SCALES or [p.kind for p in read] != ["R"]:
            return False
        size = self._run.layout.size("tp")
        numbers = [self._values.records(index)[0].value for index in own]
        return any(
            abs(number - size) < _TINY or abs(number * size - 1) < _TINY
            for number in numbers
            if isinstance(number, (int, float))
        )

    def _pass_on(
        self,
        owner: str,
        entry: EntryName,
        read: list[tuple[int, Placement | None]],
        start: int,
        stop: int,
    ) -> None:
        """A sum over other axes leaves a part of a sum along tp what it is."""
        parts = [(i, p) for i, p in read if p is not None and p.kind == "P"]
        if entry.type_name != "all_reduce" or len(read) != 1 or not parts:
            return
        told = {
            tuple(record.group_ranks)
            for index in range(start, stop)
            for record in self._values.records(index)
            if record.group_ranks
        }
        places = self._run.layout.places
        along = [{places[rank].at.get("tp", 0) for rank in ranks} for ranks in told]
        if told and all(len(each) == 1 for each in along):
            passed = replace(parts[0][1], summed=owner)
            for key in ("output.0", "output.tensor"):
                self._placed[owner, key] = passed

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
        if "S" in kinds and (call in _LOCAL or call in _SUMS or has(call, *_SHAPING)):
            extents = {(placed.extent, placed.maker) for placed in read if placed.kind == "S"}
            extent, maker = extents.pop() if len(extents) == 1 else (0, "")
            return Placement("S", maker, extent)
        if "part" in kinds and set(kinds) <= {"part", "any"} and has(call, *_SHAPING):
            return Placement("part")
        return None

    def _product(self, owner: str, kinds: list[Kind], read: list[Placement]) -> Placement | None:
        """A product over the last dimension of the first operand."""
        first, second, *bias = (*kinds, "any", "any")
        if second == "weight" and not is_expert(self._around(owner)):
            if first == "R":
                start, stop = self._run.dump.ranges[owner]
                made = next(i for i in range(start, stop) if self._values.keys[i] == "output.0")
                extent = (self._values.records(made)[0].shape or (0,))[-1]
                return Placement("S", owner, extent)
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
        is_kept = call in _SUMS and kinds <= {"P", "any", "part"}
        is_kept |= has(call, "linear", "moves", "view", "part", "turn") and kinds <= {"P", "any"}
        is_kept |= call in ("__mul__", "mul", "dropout") and kinds <= {"P", "R", "any"}
        is_single = sum(placed.kind == "P" for placed in read) == 1 or call in _SUMS
        maker = next(placed for placed in read if placed.kind == "P")
        return maker if is_kept and is_single else None

    def _conflict(
        self, owner: str, entry: EntryName, read: list[tuple[int, Placement | None]], own: range
    ) -> Conflict | None:
        call = plain_name(entry.type_name)
        if not read:
            return None
        placed = [one for _, one in read]
        if call == "dropout" and placed[0] == Placement("R") and self._are_outputs_apart(own):
            return Conflict(owner, owner, "random")
        if call in _PICKS and placed[0] == Placement("R") and self._are_picks_unlike(own):
            return Conflict(owner, owner, "drawn")
        if call in _SUMS | _SCALES and self._reads_own_noise(read):
            return Conflict(owner, owner, "drawn")
        if call in _PRODUCTS and self._adds_whole_bias(read, own):
            return Conflict(owner, owner, "bias")
        first = placed[0]
        if call in _OVER_LAST and first is not None and first.kind == "S" and first.extent:
            record = self._values.records(read[0][0])[0]
            if not record.placements and (record.shape or ())[-1:] == (first.extent,):
                return Conflict(first.maker, owner, "cut")
        return self._of_sum(owner, call, placed)

    def _of_sum(self, owner: str, call: str, read: list[Placement | None]) -> Conflict | None:
        parts = [placed for placed in read if placed is not None and placed.kind == "P"]
        if not parts:
            return None
        if call in _NON_LINEAR and read[0] in parts:
            return Conflict(parts[0].maker, owner, "bent", parts[0].summed)
        if call not in _SUMS or len(parts) != 1 or len(read) != 2:
            return None
        other = next(placed for placed in read if placed is not parts[0])
        is_added = other is not None and other.kind == "R"
        return Conflict(parts[0].maker, owner, "added", parts[0].summed) if is_added else None

    def _are_outputs_apart(self, own: range) -> bool:
        made = [i for i in own if self._values.keys[i].startswith("output")]
        owner = self._values.owner[own.start]
        return bool(made) and all(
            are_apart(owner, group) for index in made for group in self._groups(index)
        )

    def _are_picks_unlike(self, own: range) -> bool:
        """Whether any result, places or elements, is another on each of the ranks.

        No two copies of an input are apart by rounding, so that no tie is decided otherwise.
        """
        made = [i for i in own if self._values.keys[i].startswith("output")]
        tensors = [i for i in made if self._values.dtype(i) is not None]
        return any(not are_copies(group) for index in tensors for group in self._groups(index))

    def _reads_own_noise(self, read: list[tuple[int, Placement | None]]) -> bool:
        """Whether what is the same on all ranks meets noise that each has drawn for itself."""
        if [placed for _, placed in read].count(Placement("R")) != 1 or len(read) != 2:
            return False
        index = next(index for index, placed in read if placed != Placement("R"))
        part = min(self._run.parts[index], key=lambda part: part.rank)
        record = self._run.records[part.record]
        source = (record.source or record.through or "").partition(".output")[0]
        entry = parse(source) if source else None
        is_drawn = entry is not None and plain_name(entry.type_name) in _DRAWS
        owner = self._values.owner[index]
        return is_drawn and all(are_apart(owner, group) for group in self._groups(index))

    def _adds_whole_bias(self, read: list[tuple[int, Placement | None]], own: range) -> bool:
        """Whether each rank adds one whole bias to its part of a sum, which is then formed."""
        kinds = [None if placed is None else placed.kind for _, placed in read]
        if kinds != ["S", "weight", "R"]:
            return False
        bias = self._values.records(read[2][0])
        is_parameter = all(fingerprint(record) in self._weights for record in bias)
        made = [i for i in own if self._values.keys[i].startswith("output")]
        return is_parameter and any(self._values.feeds_reduction(index) for index in made)
