"""One change of a recorded number, drawn over all places of a dump, beyond what rounding makes.

How far: float32 numbers are compared to 4 eps = 5e-7 of the scale of their tensor, bfloat16 to 4
eps = 3 %; what is drawn is 1 % and 10 % of it or more. Integers and arguments are exact: any other
number is a change. One element moves by a third of the largest, 8 % of a norm of sixteen of them.
`requires_grad` is no number, but it is compared and so drawn too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.all_clears.recorded import Files, Json

_FARTHEST = 3.0  # in scales
_NEAREST = {"torch.bfloat16": 0.1}
_NOT_FINITE = ("nan", "inf", "-inf")
_STATISTICS = ("Max", "Min", "Mean", "Norm")
_OTHERS: dict[str, list[Any]] = {
    "dtype": ["torch.float16", "torch.float64", "torch.int32"],
    "shape": [[2, 8], [16], [4, 4, 1], [3, 4], []],
    "requires_grad": [True, False],
    "md5": ["00000000", "ffffffff", None],
}
# What ranks hold against each other; where they compute on inputs of their own nothing is alike.
_OF_RANKS = frozenset(
    (".parameters.", "Optimizer.AdamW.fc.weight.0.forward", "Distributed.all_reduce.0.forward")
)
Changing = Callable[[np.random.Generator], str]


@dataclass(frozen=True)
class Place:
    """Something that can be changed: what of which file or value, and how."""

    kind: str
    name: str
    change: Changing
    has_file: bool = False

    def of(self, *kinds: str) -> bool:
        """Whether it is of one of some kinds."""
        return self.kind in kinds


@dataclass(frozen=True)
class Change:
    """What was changed, in words, and the files as they are then."""

    told: str
    files: Files


def of_two_runs(place: Place) -> bool:
    """All places of one run count where another is held against it.

    But one: where all elements were compared, a statistic that is not there leaves nothing untold.
    """
    return not (place.of("lost statistic") and place.has_file)


def of_ranks(place: Place) -> bool:
    """What must be alike on both ranks: parameters, what collectives and optimizers make of them.

    Not drawn: numbers of inputs, which are each rank's own, those of a sum too; arguments, of which
    the claim does not speak; a step that is not there, for a dump does not say how many it was to
    have; and `requires_grad`, which is a setting of the run.
    """
    if place.of("file", "rank"):
        return True
    if not any(each in place.name for each in _OF_RANKS) or "input_kwargs" in place.name:
        return False
    if place.of("dtype", "shape", "value"):
        return "input_args.1" not in place.name
    is_number = place.of("statistic", "lost statistic", "nan", "infinite")
    return is_number and "input_args" not in place.name


def of_overflow(place: Place) -> bool:
    """What shows NaN and infinity, and files without which nothing does.

    But for infinity that `masked_fill` holds, which is a mask on purpose, and told as such.
    """
    return place.of("nan", "file") or (place.of("infinite") and "masked_fill" not in place.name)


def drawn_change(
    files: Files, chance: np.random.Generator, chosen: Callable[[Place], bool] = of_two_runs
) -> Change:
    """A change at a place and of a kind that chance draws; the files given stay as they are."""
    changed = copy.deepcopy(files)
    places = [place for place in _places(changed) if chosen(place)]
    # By kind first: values outnumber ranks by thousands.
    kinds = sorted({place.kind for place in places})
    kind = kinds[chance.integers(len(kinds))]
    alike = [place for place in places if place.kind == kind]
    place = alike[chance.integers(len(alike))]
    told = place.change(chance)
    return Change(f"{place.kind} of {place.name}: {told}", changed)


def _places(files: Files) -> Iterator[Place]:
    for folder in sorted({name.rpartition("/")[0] for name in files if name.endswith("dump.json")}):
        yield Place("rank", folder, _dropped(files, folder))
        yield Place("step", folder, _dropped(files, folder.partition("/")[0]))
        yield Place("file", folder, _broken(files, f"{folder}/dump.json"))
        data, parents = (files[f"{folder}/{name}.json"] for name in ("dump", "construct"))
        for call, entry in data["data"].items():
            yield Place("call", f"{folder} {call}", _without(data["data"], call))
            for role, content in entry.items():
                yield from _values(f"{folder} {call}.{role}", content)
            if parents[call] is not None:
                yield Place("parent", f"{folder} {call}", _set(parents, call, [None]))
    for name, content in files.items():
        if isinstance(content, np.ndarray) and content.size:
            yield Place("element", name, _elements(files, name))


def _values(name: str, content: Any) -> Iterator[Place]:
    if not isinstance(content, dict | list):
        return
    for key in list(content) if isinstance(content, dict) else range(len(content)):
        value, at = content[key], f"{name}.{key}"
        if value is None:
            yield Place("null", at, _set(content, key, [{"type": "int", "value": 1}]))
        elif "type" not in value:
            yield from _values(at, value)
        else:
            yield Place("value", at, _without(content, key))
            yield Place("null", at, _set(content, key, [None]))
            if "group_ranks" in value:
                yield Place("group", at, _set(value, "group_ranks", [[0], [1], [0, 1, 2]]))
            elif "dtype" in value:
                yield from _numbers(at, value)
            else:
                yield Place("argument", at, _argument(value))


def _numbers(at: str, value: Json) -> Iterator[Place]:
    for field, others in _OTHERS.items():
        if field in value:
            # Tensors without elements are equal where their shapes are: no checksum is missed.
            is_told = field == "md5" and 0 in value["shape"]
            given = [other for other in others if other is not None] if is_told else others
            yield Place(field, at, _set(value, field, given))
    for field in _STATISTICS:
        if value[field] is not None:
            yield Place("statistic", f"{at}.{field}", _statistic(value, field))
            lost = _set(value, field, [None])
            yield Place("lost statistic", f"{at}.{field}", lost, "data_name" in value)
            yield Place("nan", f"{at}.{field}", _set(value, field, ["nan"]))
            yield Place("infinite", f"{at}.{field}", _set(value, field, ["inf", "-inf"]))
    if "sketch" in value:
        yield Place("sketch", at, _sketch(value))
        yield Place("lost sketch", at, _without(value, "sketch"))


def _statistic(value: Json, field: str) -> Changing:
    def change(chance: np.random.Generator) -> str:
        before = value[field]
        if isinstance(before, bool):
            value[field] = not before
        elif isinstance(before, int):
            value[field] = before + int(chance.choice([-3, -1, 1, 7]))
        else:
            value[field] = before + chance.choice([-1, 1]) * _far(value, field, chance)
        return f"{before} became {value[field]}"

    return change


def _far(value: Json, field: str, chance: np.random.Generator) -> float:
    """How far a statistic moves; a norm stays one, which has no sign."""
    largest = max(abs(value["Max"]), abs(value["Min"]))
    rms = value["Norm"] / np.sqrt(max(1, np.prod(value["shape"])))
    scale = {"Norm": value["Norm"], "Mean": rms}.get(field, largest) or 1.0
    nearest = _NEAREST.get(value["dtype"], 0.01)
    farthest = 0.9 if field == "Norm" and value["Norm"] else _FARTHEST
    return float(scale * np.exp(chance.uniform(np.log(nearest), np.log(farthest))))


def _sketch(value: Json) -> Changing:
    def change(chance: np.random.Generator) -> str:
        numbers = np.frombuffer(bytes.fromhex(value["sketch"]), dtype="<f4").copy()
        at = int(chance.integers(len(numbers)))
        # Of eight projections one moves, so the distance is a third of that: 10 % and more.
        scale = float(np.linalg.norm(numbers)) or 1.0
        numbers[at] += scale * chance.choice([-1, 1]) * 10 ** chance.uniform(-0.5, 0.5)
        value["sketch"] = numbers.tobytes().hex()
        return f"projection {at}"

    return change


def _argument(value: Json) -> Changing:
    def change(chance: np.random.Generator) -> str:
        before = value["value"]
        others: dict[type, list[Any]] = {
            bool: [not before],
            int: [before + 1 if isinstance(before, int) else 0, -7],
            float: [0.1, 1.5, "inf", before * 1.0001 if isinstance(before, float) else 0],
            str: ["sum of", "torch.float16", ""],
            list: [[0], [1, 1], [0, 1, 2], [1, 0]],
        }
        listed = others[type(before)]
        value["value"] = listed[chance.integers(len(listed))]
        return f"{before!r} became {value['value']!r}"

    return change


def _set(holder: Any, key: Any, others: list[Any]) -> Changing:
    def change(chance: np.random.Generator) -> str:
        listed = [other for other in others if other != holder[key]]
        before, holder[key] = holder[key], listed[chance.integers(len(listed))]
        return f"{before} became {holder[key]}"

    return change


def _elements(files: Files, name: str) -> Changing:
    def change(chance: np.random.Generator) -> str:
        values = files[name] = files[name].copy()
        flat = values.reshape(-1)
        at = int(chance.integers(len(flat)))
        how = str(chance.choice(["one", "sign", "not finite", "order", "lost", "short"]))
        if how == "lost":
            del files[name]
        elif how == "short":
            files[name] = flat[: len(flat) // 2]
        elif how == "order" and len(set(flat.tolist())) > 1:
            flat[:] = np.roll(flat, 1)
        elif how == "sign" and values.dtype.kind == "f" and flat.any():
            flat[np.abs(flat).argmax()] *= -1
        elif how == "not finite" and values.dtype.kind == "f":
            flat[at] = float(chance.choice(_NOT_FINITE))
        elif values.dtype.kind == "b":
            flat[at] = not flat[at]
        else:
            scale = max(1.0, float(np.abs(flat).max()))
            flat[at] += 1 if values.dtype.kind == "i" else scale * 10 ** chance.uniform(-0.5, 1)
        return how

    return change


def _without(holder: Any, key: Any) -> Changing:
    def change(_: np.random.Generator) -> str:
        del holder[key]
        return "left out"

    return change


def _dropped(files: Files, folder: str) -> Changing:
    def change(_: np.random.Generator) -> str:
        for name in [name for name in files if name.startswith(f"{folder}/")]:
            del files[name]
        return "not there"

    return change


def _broken(files: Files, name: str) -> Changing:
    def change(chance: np.random.Generator) -> str:
        if chance.random() < 0.5:
            del files[name]
            return "lost"
        files[name] = "{"
        return "cut"

    return change
