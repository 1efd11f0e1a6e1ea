"""Where a wrong kernel shows first: calls that read the same in bits and put out something else.

The run with one fault is held against the same run without it, in one process layout and with
the same kernels, so that every other call agrees in every bit.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evaluation.zoo.culprit import Found
from msprobe_core.format import CONSTRUCT_FILE, DUMP_FILE

_READ = ("input_args", "input_kwargs", "input", "parameters")
_NOT_THE_VALUE = ("source", "data_name")


def first_places(wrong: Path, sound: Path) -> frozenset[Found]:
    """The innermost entries of the first step that introduce a difference of bits.

    Where that is a module, the wrong call itself was not recorded: the first call in it that
    takes a differing value counts as well, and so do the modules between the two. Where none does,
    it ran between two recorded calls: the first that reads what it left counts, and the modules
    around that read it too.
    """
    data, same, parents = _data(wrong), _data(sound), _parents(wrong)
    shared = [name for name, entry in data.items() if name in same and isinstance(entry, dict)]
    introducing = {name for name in shared if _introduces(data[name], same[name])}
    if any("parameters_grad" not in name for name in introducing):
        # A gradient that reaches its parameter has no input of its own: the call made it.
        introducing = {name for name in introducing if "parameters_grad" not in name}
    calls = [name for name in shared if "parameters_grad" not in name]
    taking = [name for name in calls if not _reads_the_same(data[name], same[name])]
    begun = min(map(shared.index, introducing), default=len(shared))
    # What reads a gradient behind its parameter is the optimizer.
    passing = [name for name in taking if shared.index(name) < begun]
    if passing and not introducing.intersection(calls):
        around = [name for name in _above(passing[0], parents) if name in taking]
        return frozenset((0, name) for name in (passing[0], *around))
    innermost = introducing - {up for name in introducing for up in _above(name, parents)}
    for module in [name for name in innermost if name.startswith("Module.")]:
        inside = (name for name in taking if module in _above(name, parents))
        first = next(inside, None)
        if first is not None:
            above = list(_above(first, parents))
            innermost |= {first, *above[: above.index(module)]}
    return frozenset((0, name) for name in innermost)


def shown(wrong: Path, sound: Path, places: Iterable[Found]) -> float:
    """How far apart, relative to its norm, is what some entries read or put out, at most.

    Told by sketches, of single numbers by themselves; at most what a fault shows in a recording.
    """
    data, same = _data(wrong), _data(sound)
    pairs = (
        pair
        for _, name in places
        for pair in zip(_tensors(data[name]), _tensors(same[name]), strict=False)
    )
    return max((_apart(*pair) for pair in pairs), default=0.0)


def _tensors(entry: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(entry, list):
        for each in entry:
            yield from _tensors(each)
    elif isinstance(entry, dict) and "dtype" in entry:
        yield entry
    elif isinstance(entry, dict):
        for each in entry.values():
            yield from _tensors(each)


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    if one.get("shape") != other.get("shape") or not isinstance(other.get("Norm"), float):
        return math.inf if one.get("shape") != other.get("shape") else 0.0
    if "sketch" in one and "sketch" in other:
        ours, theirs = (struct.unpack("<8f", bytes.fromhex(v["sketch"])) for v in (one, other))
        distance = math.dist(ours, theirs) / math.sqrt(8)
    else:
        distance = abs(one["Norm"] - other["Norm"])
    return distance / other["Norm"] if other["Norm"] else math.inf if distance else 0.0


def _introduces(entry: Mapping[str, Any], same: Mapping[str, Any]) -> bool:
    made = {key: value for key, value in entry.items() if key not in _READ}
    return _reads_the_same(entry, same) and any(
        _bits(value) != _bits(same.get(key)) for key, value in made.items()
    )


def _reads_the_same(entry: Mapping[str, Any], same: Mapping[str, Any]) -> bool:
    return all(_bits(entry.get(key)) == _bits(same.get(key)) for key in _READ)


def _bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bits(each) for key, each in value.items() if key not in _NOT_THE_VALUE}
    return [_bits(each) for each in value] if isinstance(value, list) else value


def _above(name: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    up = parents.get(name)
    while up is not None:
        yield up
        up = parents.get(up)


def _folder(dump: Path) -> Path:
    (folder,) = (dump / "step0").iterdir()
    return folder


def _data(dump: Path) -> dict[str, Any]:
    return dict(json.loads((_folder(dump) / DUMP_FILE).read_text())["data"])


def _parents(dump: Path) -> dict[str, str | None]:
    parents = json.loads((_folder(dump) / CONSTRUCT_FILE).read_text())
    return {name: p[0] if isinstance(p, list) else p for name, p in parents.items()}
