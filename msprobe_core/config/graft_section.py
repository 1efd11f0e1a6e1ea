"""The `graft` section: which calls of this run take their values from an earlier dump.

The rest of the run then shows whether a call is where a difference begins: behind it the two runs
agree, or what remains is another fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from msprobe_core.config.checks import check_dump_section, refuse_unknown
from msprobe_core.config.schema import GRAFT_FIELDS, TAKE_FIELDS
from msprobe_core.errors import ConfigError

What = Literal["output", "input", "parameters", "through"]


@dataclass(frozen=True, slots=True)
class Take:
    """One entry of this run and what it takes; `entry` is its name in the other dump."""

    at: str
    what: What
    entry: str


@dataclass(frozen=True, slots=True)
class GraftConfig:
    """`step` and `rank` are None when those of the running process apply."""

    path: str
    take: tuple[Take, ...]
    step: int | None = None
    rank: int | None = None


def read_graft(place: str, raw: object) -> GraftConfig:
    """The checked section; raises ConfigError."""
    if not isinstance(raw, dict):
        raise ConfigError(f"{place}: graft is {raw!r}", "it must be an object with path and take")
    where = f"{place}, section graft"
    others = {key: value for key, value in raw.items() if key != "take"}
    values = check_dump_section(where, others, GRAFT_FIELDS, ("path",))
    takes = tuple(_takes(where, raw.get("take")))
    return GraftConfig(take=takes, **values)  # type: ignore[arg-type]  # checked above


def _takes(where: str, raw: object) -> Iterator[Take]:
    if not isinstance(raw, list) or not raw:
        raise ConfigError(f"{where}: take is {raw!r}", "it must be a list of objects with at")
    for item in raw:
        if not isinstance(item, dict) or not isinstance(item.get("at"), str):
            raise ConfigError(
                f"{where}: take holds {item!r}", "each has the name of an entry as at"
            )
        for key in item:
            refuse_unknown(where, key, [field.name for field in TAKE_FIELDS])
        what = item.get("what", "output")
        if what not in get_args(What):
            raise ConfigError(f"{where}: what is {what!r}", f"allowed is {get_args(What)}")
        yield Take(item["at"], what, str(item.get("from") or item["at"]))
