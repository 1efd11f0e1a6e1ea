"""The `load` section: which modules run on the inputs of an earlier dump.

It separates the module where an error arises from those that only carry it on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msprobe_core.config.checks import check_value, refuse_unknown
from msprobe_core.config.schema import LOAD_FIELDS
from msprobe_core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class LoadConfig:
    """`step` and `rank` are None when those of the running process apply."""

    path: str
    modules: tuple[str, ...]
    step: int | None = None
    rank: int | None = None
    dump_after_load: bool = False


def read_load(place: str, raw: object) -> LoadConfig:
    """The checked section; raises ConfigError."""
    if not isinstance(raw, dict):
        raise ConfigError(f"{place}: load is {raw!r}", "it must be an object with path and modules")
    where = f"{place}, section load"
    for key in raw:
        refuse_unknown(where, key, [field.name for field in LOAD_FIELDS])
    values = {
        field.name: check_value(where, field, raw[field.name])
        for field in LOAD_FIELDS
        if field.name in raw
    }
    for key in ("path", "modules"):
        if not values.get(key):
            raise ConfigError(f"{where}: {key} is missing", "it must be given")
    if not Path(str(values["path"])).is_dir():
        raise ConfigError(f"{where}: path is {values['path']!r}, which is no folder", "give a dump")
    return LoadConfig(**values)  # type: ignore[arg-type]
