"""Configurations of mindstudio-probe's monitor; unknown fields are said with the nearest known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from msprobe.pytorch.monitor.statistics import OPS
from msprobe_core.errors import ConfigError
from msprobe_core.report import say

_LAST = 10**8
_NOT_DONE = frozenset(
    "mg_direction ur_distribution cc_distribution print_struct stack_info append_output dynamic_on "
    "recording_l2_features l2_targets sa_order alert monitor_mbs_grad".split()
)
"""Fields that are known and have no effect here; each is said once where it is asked for."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "list": (list,),
    "dict": (dict,),
}


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """The fields of v1 that are followed; see docs/trends.md for what each means."""

    targets: dict[str, Any] = field(default_factory=dict)
    format: str = "csv"
    ops: list[str] = field(default_factory=list)
    eps: float = 1e-8
    ndigits: int = 6
    xy_distribution: bool = False
    all_xy: bool = False
    forward_only: bool = False
    backward_only: bool = False
    wg_distribution: bool = False
    mv_distribution: bool = False
    param_distribution: bool = False
    module_ranks: list[int] = field(default_factory=list)
    start_step: int = 0
    step_interval: int = 1
    collect_times: int = _LAST
    step_count_per_record: int = 1
    squash_name: bool = False
    time: str = ""

    @property
    def columns(self) -> list[str]:
        """The statistics of a table: those asked for, `norm` by default, and shape and dtype."""
        asked = [op for op in self.ops if op not in ("shape", "dtype")] or ["norm"]
        return [*asked, "shape", "dtype"]

    def is_due(self, step: int) -> bool:
        """Whether a step is collected."""
        since = step - self.start_step
        return (
            since >= 0
            and since % self.step_interval == 0
            and since // self.step_interval < self.collect_times
        )


def read_settings(path: str | Path) -> MonitorSettings:
    """Read a configuration. Raises ConfigError for no JSON object, TypeError for a wrong type."""
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}", "give a JSON file of the monitor") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{path}: no JSON object", 'write {"targets": {}, …}')
    known = {each.name: str(each.type) for each in fields(MonitorSettings)}
    for name in [name for name in given if name not in known]:
        _say_unknown(path, name, [*known, *_NOT_DONE], given.pop(name))
    for name, value in given.items():
        _check_type(path, name, value, known[name].partition("[")[0])
    unknown = [op for op in given.get("ops", []) if op not in OPS]
    for op in unknown:
        near = get_close_matches(str(op), OPS, 1)
        say(f"{path}: ops: no {op!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    if unknown:
        given["ops"] = [op for op in given["ops"] if op in OPS]
    if given.get("format", "csv") not in ("csv", "trend"):
        say(f"{path}: format {given['format']!r} is none of csv and trend; csv is written")
        given["format"] = "csv"
    return MonitorSettings(**given)


def _say_unknown(path: str | Path, name: str, known: list[str], value: object) -> None:
    if name in _NOT_DONE:
        if value:
            say(f"{path}: {name} has no effect here; docs/trends.md says what to use instead")
        return
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else "docs/trends.md lists the fields"
    say(f"{path}: there is no field {name!r}; {hint}")


def _check_type(path: str | Path, name: str, value: object, wanted: str) -> None:
    right = isinstance(value, _TYPES[wanted])
    if not right or (isinstance(value, bool) and wanted != "bool"):
        raise TypeError(f"{path}: {name} is {value!r}; give a {wanted}")
