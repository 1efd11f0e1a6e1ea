"""Whether a step reads the weights that the optimizer of the step before has left.

Within one run nothing rounds in between: what is read is what was written, and the two records are
equal to the last digit. Where they are not, somebody has written the weight meanwhile, its update
was lost, or a copy is read that took no part. That is seen in each run alone, so neither layout nor
format nor the optimizer's own rounding matters.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.joining.told import OPTIMIZER, names_of

_FIRST_CALL = ".forward.0"
_INTEGERS = "Q"  # unsigned, 64 bits


class WeightKey(NamedTuple):
    """A parameter by its full name, on one rank."""

    name: str
    rank: int


class Weight(NamedTuple):
    """What a step knows of a parameter: who reads it first, and what is read and left."""

    reader: str
    read: Record | None
    left: Record | None


@dataclass(frozen=True, slots=True)
class WeightPrints:
    """The weights of a step and side as numbers of 64 bits, which travel between machines.

    `read`: four a weight, the fingerprint of key and form, that of the numbers, the place of the
    reader in a list of all, the rank. `left`: two a weight, as the first two of these.
    """

    read: bytes
    left: bytes


@dataclass(frozen=True, slots=True)
class HandedOn:
    """Readers by place: of weights as they were left, and of others with the ranks that are off."""

    kept: frozenset[int]
    rewritten: dict[int, set[int]]


Weights: TypeAlias = dict[WeightKey, Weight]
_Parts: TypeAlias = Callable[[int], Iterable[tuple[int, Record]]]


def weights_of_dump(dump: Dump, rank: int) -> Weights:
    """The weights that optimizers wrote in one rank's step; none without an optimizer's step."""
    steps = list(dump.optimizer.values())
    if not steps:
        return {}
    before, after = _both_ends(steps)
    keys, records = dump.values.keys, dump.values.records
    readers = _readers(dump, lambda index: ((rank, records[index]),), keys)
    return _joined(
        {WeightKey(name, rank): record for name, record in before.items()},
        {WeightKey(name, rank): record for name, record in after.items()},
        readers,
    )


def weights_of_run(run: LogicalRun) -> Weights:
    """The same of all ranks of a step that are compared as one run, each rank by itself."""
    before: dict[WeightKey, Record] = {}
    after: dict[WeightKey, Record] = {}
    keys = run.dump.values.keys

    def parts(index: int) -> Iterator[tuple[int, Record]]:
        return ((part.rank, run.records[part.record]) for part in run.parts[index])

    for owner, (start, stop) in run.dump.ranges.items():
        if not owner.startswith(OPTIMIZER):
            continue
        for index in range(start, stop):
            (name,) = names_of(owner, keys[index])
            for rank, record in parts(index):
                if keys[index] == "parameters.value":
                    before.setdefault(WeightKey(name, rank), record)
                elif keys[index] == "output.value":
                    after[WeightKey(name, rank)] = record
    return _joined(before, after, _readers(run.dump, parts, keys) if after else {})


def _both_ends(
    steps: Iterable[Mapping[str, Mapping[str, Record]]],
) -> tuple[dict[str, Record], dict[str, Record]]:
    """What the first of a step's updates found, and what the last one left, by parameter."""
    before: dict[str, Record] = {}
    after: dict[str, Record] = {}
    for step in steps:
        for name, record in step.get("parameters", {}).items():
            before.setdefault(name, record)
        after.update(step.get("output", {}))
    return before, after


def _readers(dump: Dump, parts: _Parts, keys: list[str]) -> dict[WeightKey, tuple[str, Record]]:
    """The module that reads a parameter first in the step, and as what."""
    found: dict[WeightKey, tuple[str, Record]] = {}
    for owner, (start, stop) in dump.ranges.items():
        if not owner.endswith(_FIRST_CALL) or owner.startswith(OPTIMIZER):
            continue
        for index in range(start, stop):
            if not keys[index].startswith("parameters."):
                continue
            name = next(names_of(owner, keys[index]))
            for rank, record in parts(index):
                found.setdefault(WeightKey(name, rank), (owner, record))
    return found


def _joined(
    before: Mapping[WeightKey, Record],
    after: Mapping[WeightKey, Record],
    readers: Mapping[WeightKey, tuple[str, Record]],
) -> Weights:
    weights: Weights = {}
    for key in before.keys() | after.keys():
        found, left = before.get(key), after.get(key)
        reader, read = readers.get(key, (f"{OPTIMIZER}{key.name}.0.forward", None))
        # A module may read all of a weight of which the optimizer has a share, or in another
        # format: then what the optimizer finds tells, which is what it has left.
        if read is None or (found is not None and _form(read) != _form(found)):
            read = found
        weights[key] = Weight(reader, read, left)
    return weights


def prints_of(weights: Weights, places: Mapping[str, int]) -> WeightPrints:
    """The fingerprints of a step's weights; `places` has the reader's place in a list, by name."""
    read, left = array(_INTEGERS), array(_INTEGERS)
    for key, weight in weights.items():
        if weight.read is not None and weight.reader in places:
            read.extend((*_prints(key, weight.read), places[weight.reader], key.rank))
        if weight.left is not None:
            left.extend(_prints(key, weight.left))
    return WeightPrints(read.tobytes(), left.tobytes())


def handed_on(before: WeightPrints, after: WeightPrints) -> HandedOn:
    """Which readers of a step find what the step before left; those that do not tell are left out.

    A weight of another shape or format than was left is not compared.
    """
    left, read = _numbers(before.left), _numbers(after.read)
    known = dict(zip(left[::2], left[1::2], strict=True))
    kept: set[int] = set()
    rewritten: dict[int, set[int]] = {}
    for form, numbers, reader, rank in zip(*(read[at::4] for at in range(4)), strict=True):
        if form not in known:
            continue
        if known[form] == numbers:
            kept.add(reader)
        else:
            rewritten.setdefault(reader, set()).add(rank)
    return HandedOn(frozenset(kept - rewritten.keys()), rewritten)


def _numbers(content: bytes) -> array[int]:
    numbers = array(_INTEGERS)
    numbers.frombytes(content)
    return numbers


def _form(record: Record) -> tuple[object, ...]:
    return record.dtype, record.shape


def _prints(key: WeightKey, record: Record) -> tuple[int, int]:
    numbers = (record.Max, record.Min, record.Mean, record.Norm, record.md5, record.sketch)
    return _number((*key, *_form(record))), _number(numbers)


def _number(facts: tuple[object, ...]) -> int:
    """A number that is the same in every process, as `hash` is not."""
    return int.from_bytes(blake2b(repr(facts).encode(), digest_size=8).digest(), "little")
