"""The `load` section: which modules run on the inputs of an earlier dump.

It separates the module where an error arises from those that only carry it on.
"""

from __future__ import annotations

from dataclasses import dataclass

from msprobe_core.config.checks import check_dump_section
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
    values = check_dump_section(where, raw, LOAD_FIELDS, ("path", "modules"))
    return LoadConfig(**values)  # type: ignore[arg-type]  # checked above
