"""Checks one raw value of the configuration against its field and gives it its type.

Every refusal is a ConfigError that names the place, the key, the value and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from msprobe_core.config.schema import Field
from msprobe_core.config.slices import Slice
from msprobe_core.errors import ConfigError, nearest

_RANGE = re.compile(r"(\d+)-(\d+)", re.ASCII)


def refuse_unknown(place: str, key: object, known: Iterable[str]) -> None:
    """Raise unless `key` is one of `known`, naming the nearest valid one."""
    names = list(known)
    if key in names:
        return
    raise ConfigError(f"{place}: unknown key {key!r}", nearest(key, names))


def check_value(place: str, field: Field, value: object) -> object:
    """The value in its type; raises ConfigError when it is none of the allowed ones."""
    checked = _CHECKS[field.kind](field, value)
    if checked is None:
        raise ConfigError(f"{place}: {field.name} is {value!r}", f"allowed is {_allowed(field)}")
    return checked


def check_dump_section(
    where: str, raw: dict[str, object], fields: Sequence[Field], required: Iterable[str]
) -> dict[str, object]:
    """The checked values of a section that reads an earlier dump, whose folder is its `path`.

    Raises ConfigError for an unknown key, a value of another type, and what is missing.
    """
    for key in raw:
        refuse_unknown(where, key, [field.name for field in fields])
    values = {
        field.name: check_value(where, field, raw[field.name])
        for field in fields
        if field.name in raw
    }
    for key in required:
        if not values.get(key):
            raise ConfigError(f"{where}: {key} is missing", "it must be given")
    if not Path(str(values["path"])).is_dir():
        raise ConfigError(f"{where}: path is {values['path']!r}, which is no folder", "give a dump")
    return values


def _choice(field: Field, value: object) -> object:
    return value if isinstance(value, str) and value in field.choices else None


def _choices(field: Field, value: object) -> object:
    if isinstance(value, (list, tuple)) and all(_choice(field, item) for item in value):
        return frozenset(value) or frozenset({"all"})
    return None


def _bool(_: Field, value: object) -> object:
    return value if isinstance(value, bool) else None


def _int(_: Field, value: object) -> object:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _path(_: Field, value: object) -> object:
    return value if isinstance(value, str) and value.strip() else None


def _names(_: Field, value: object) -> object:
    if isinstance(value, (list, tuple)) and all(isinstance(x, str) and x for x in value):
        return tuple(value)
    return None


def _numbers(_: Field, value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return None
    numbers: set[int] = set()
    for item in value:
        part = _number_range(item)
        if part is None:
            return None
        numbers.update(part)
    return frozenset(numbers)


def _number_range(item: object) -> range | None:
    if isinstance(item, int) and not isinstance(item, bool):
        return range(item, item + 1) if item >= 0 else None
    match = _RANGE.fullmatch(item) if isinstance(item, str) else None
    if match is None or int(match[1]) > int(match[2]):
        return None
    return range(int(match[1]), int(match[2]) + 1)


def _slices(_: Field, value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return None
    parts = [_slice(item) for item in value]
    return None if None in parts else tuple(parts)


def _slice(item: object) -> Slice | None:
    if not isinstance(item, dict) or not {"dim"} <= set(item) <= _SLICE_KEYS:
        return None
    if not all(type(number) is int for number in item.values()):
        return None
    return Slice(**item) if item["dim"] >= 0 and item.get("size", 0) >= 0 else None


_SLICE_KEYS = frozenset(field.name for field in fields(Slice))
_CHECKS = {
    "choice": _choice,
    "choices": _choices,
    "bool": _bool,
    "int": _int,
    "path": _path,
    "text": _path,
    "names": _names,
    "numbers": _numbers,
    "slices": _slices,
}


def _allowed(field: Field) -> str:
    options = ", ".join(f'"{choice}"' for choice in field.choices)
    return {
        "choice": f"one of {options}",
        "choices": f"a list of {options}",
        "bool": "true or false",
        "int": "an integer",
        "path": "a non-empty text",
        "text": "a non-empty text",
        "names": "a list of non-empty texts",
        "numbers": 'a list of integers from 0 up and ranges such as "4-6"',
        "slices": 'a list such as [{"dim": 0, "size": 6, "begin": 1, "end": 3}]',
    }[field.kind]
