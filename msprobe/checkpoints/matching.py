"""Which parameter of one checkpoint is which of the other.

The rules run in order, each over what the ones before left: the user's file, the same name, a
name that continues the other, the same shapes and statistics. An unsure rule pairs nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msprobe.checkpoints.names import numbers, template
from msprobe.checkpoints.parameter import Parameter
from msprobe.checkpoints.tensor_distance import Moments, moments
from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_yaml

MatchedBy = Literal["file", "name", "suffix", "statistics"]
Parameters = Mapping[str, Parameter]
# Statistics speak for a pair when they are this close, and every other candidate is this many
# times further away.
_CLOSE = 0.2
_APART = 5.0


@dataclass(frozen=True, slots=True)
class Match:
    """Two parameters taken for the same one, and the rule that said so."""

    first: Parameter
    second: Parameter
    by: MatchedBy


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs in the order of the first checkpoint, and what only one side has."""

    pairs: list[Match]
    only_first: list[Parameter]
    only_second: list[Parameter]


def match(first: Parameters, second: Parameters, mapping: Mapping[str, str]) -> Matching:
    """Pair the parameters; `mapping` is first name → second name and wins over every rule."""
    pairs: dict[str, Match] = {}
    rules: tuple[tuple[MatchedBy, Callable[[Parameters, Parameters], dict[str, str]]], ...] = (
        ("file", lambda left, right: _by_file(left, right, mapping)),
        ("name", lambda left, right: {name: name for name in left if name in right}),
        ("suffix", _by_suffix),
        ("statistics", _by_statistics),
    )
    left, right = dict(first), dict(second)
    for by, rule in rules:
        for ours, theirs in rule(left, right).items():
            pairs[ours] = Match(left.pop(ours), right.pop(theirs), by)
    ordered = [pairs[name] for name in first if name in pairs]
    return Matching(ordered, list(left.values()), list(right.values()))


def read_mapping(file: Path | None) -> dict[str, str]:
    """The user's file: YAML, one `first name: second name` a line; names may hold `#` for a number.

    Raises CheckError when it is missing or something else.
    """
    if file is None:
        return {}
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CheckError(f"{file}: cannot be read as YAML ({reason})", "check the file") from error
    if not isinstance(content, dict) or not all(
        isinstance(name, str) for pair in content.items() for name in pair
    ):
        raise CheckError(f"{file}: is no mapping", "write `first name: second name` lines")
    return content


def _by_file(left: Parameters, right: Parameters, mapping: Mapping[str, str]) -> dict[str, str]:
    partners: dict[str, str] = {}
    for ours, theirs in mapping.items():
        indices = {name: _indices(ours, name) for name in left}
        named = {n: _filled(theirs, own) for n, own in indices.items() if own is not None}
        named = {n: other for n, other in named.items() if other in right}
        if not named:
            raise CheckError(
                f"mapping {ours!r}: {theirs!r}: no parameter of these names in the checkpoints",
                "the table lists the names that are left",
            )
        partners |= named
    if len(set(partners.values())) < len(partners):
        raise CheckError("mapping: two names lead to the same one", "give each its own")
    return partners


def _indices(pattern: str, name: str) -> list[str] | None:
    """What the `#` of the pattern stand for in the name, None when it does not fit."""
    expected, given = pattern.split("."), name.split(".")
    if len(expected) != len(given):
        return None
    indices: list[str] = []
    for part, value in zip(expected, given, strict=True):
        if part == "#" and value.isdecimal():
            indices.append(value)
        elif part != value:
            return None
    return indices


def _filled(name: str, values: list[str]) -> str:
    for value in values:
        name = name.replace("#", value, 1)
    return name


def _by_suffix(left: Parameters, right: Parameters) -> dict[str, str]:
    """`model.layers.0.weight` is `layers.0.weight` where nothing else ends so."""
    ends_left, ends_right = _endings(left), _endings(right)
    partners: dict[str, str] = {}
    for ours, parameter in left.items():
        candidates = [*ends_right.get(ours, ()), *(end for end in _ends(ours) if end in right)]
        fitting = [name for name in candidates if right[name].shape == parameter.shape]
        if len(fitting) == 1 and all(n == ours for n in ends_left.get(fitting[0], [ours])):
            partners[ours] = fitting[0]
    once = Counter(partners.values())
    return {ours: theirs for ours, theirs in partners.items() if once[theirs] == 1}


def _endings(parameters: Parameters) -> dict[str, list[str]]:
    by_ending: dict[str, list[str]] = defaultdict(list)
    for name in parameters:
        for end in _ends(name):
            by_ending[end].append(name)
    return by_ending


def _ends(name: str) -> list[str]:
    """The name without its first segment, without its first two, …"""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(1, len(parts))]


def _by_statistics(left: Parameters, right: Parameters) -> dict[str, str]:
    """Families (all copies over the layers) of equal numbers and shapes with the closest values."""
    ours, theirs = _families(left), _families(right)
    partners: dict[str, str] = {}
    for form in ours.keys() & theirs.keys():
        for mine, other in _closest(ours[form], theirs[form]):
            partners |= dict(zip(mine, other, strict=True))
    return {name: partners[name] for name in left if name in partners}


_Form = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # (numbers, shape) of each member
_Family = tuple[str, ...]


def _families(parameters: Parameters) -> dict[_Form, dict[_Family, list[Moments]]]:
    by_template: dict[str, list[str]] = defaultdict(list)
    for name in parameters:
        by_template[template(name)].append(name)
    by_form: dict[_Form, dict[_Family, list[Moments]]] = defaultdict(dict)
    for names in by_template.values():
        family = tuple(sorted(names, key=numbers))
        form = tuple((numbers(name), parameters[name].shape) for name in family)
        by_form[form][family] = []
    for families in by_form.values():
        for family, values in families.items():
            for name in family:
                values.append(moments(parameters[name].read()))
                parameters[name].release()
    return by_form


def _closest(
    left: Mapping[_Family, list[Moments]], right: Mapping[_Family, list[Moments]]
) -> Iterator[tuple[_Family, _Family]]:
    """Pairs that are each other's nearest, near enough, and far from all others."""
    far = {(a, b): _apart(left[a], right[b]) for a in left for b in right}
    for (a, b), gap in far.items():
        others = [g for (x, y), g in far.items() if (x == a) != (y == b)]
        if gap <= _CLOSE and all(other > max(gap * _APART, 1e-12) for other in others):
            yield a, b


def _apart(left: list[Moments], right: list[Moments]) -> float:
    return max(
        max(
            _relative(a.norm, b.norm),
            _relative(a.largest, b.largest),
            abs(a.mean - b.mean) / max(a.largest, b.largest, 1e-30),
        )
        for a, b in zip(left, right, strict=True)
    )


def _relative(a: float, b: float) -> float:
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b))
