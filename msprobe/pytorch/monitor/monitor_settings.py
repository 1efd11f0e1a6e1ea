"""Configurations of mindstudio-probe's monitor; unknown fields are said with the nearest known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from msprobe.pytorch.monitor.alert_rules import Rule, read_rules
from msprobe.pytorch.monitor.known_names import say_unknown
from msprobe.pytorch.monitor.statistics import OPS
from msprobe_core.errors import ConfigError, nearest
from msprobe_core.report import say

_LAST = 10**8
_NO_EFFECT = ("ur_distribution", "recording_l2_features", "l2_targets", "sa_order")
"""Known and without a table, here as in mindstudio-probe 26.2.0 where a plain run writes csv."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "list": (list,),
    "dict": (dict,),
}
_COUNTS = {
    "start_step": 0,
    "step_interval": 1,
    "collect_times": 1,
    "step_count_per_record": 1,
    "ndigits": 0,
}
"""Numbers, and the least that each may be."""
_MOST_DIGITS = 17
"""So many tell every number of 64 bits from all others."""
COLLECTIVE_FIELDS = ("enable", "cc_codeline", "cc_pre_hook", "cc_log_only")


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """The fields of v1; see docs/trends.md for what each means."""

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
    monitor_mbs_grad: bool = False
    mv_distribution: bool = False
    mg_direction: bool = False
    param_distribution: bool = False
    cc_distribution: dict[str, Any] = field(default_factory=dict)
    alert: dict[str, Any] = field(default_factory=dict)
    module_ranks: list[int] = field(default_factory=list)
    start_step: int = 0
    step_interval: int = 1
    collect_times: int = _LAST
    step_count_per_record: int = 1
    print_struct: bool = False
    stack_info: bool = False
    squash_name: bool = False
    append_output: list[str] = field(default_factory=list)
    dynamic_on: bool = False
    time: str = ""
    rules: tuple[Rule, ...] = ()

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
    types = {each.name: str(each.type) for each in fields(MonitorSettings) if each.name != "rules"}
    given = _known_fields(path, given, types)
    for name, value in given.items():
        _check_type(path, name, value, types[name].partition("[")[0])
    _check_numbers(path, given)
    given["ops"] = say_unknown(path, "statistic", given.get("ops", []), OPS)
    if given.get("format", "csv") not in ("csv", "trend"):
        say(f"{path}: format {given['format']!r} is none of csv and trend; csv is written")
        given["format"] = "csv"
    _check_collectives(path, given.get("cc_distribution", {}))
    return MonitorSettings(**given, rules=tuple(read_rules(path, given.get("alert", {}))))


def _known_fields(
    path: str | Path, given: dict[str, Any], types: Mapping[str, str]
) -> dict[str, Any]:
    """The fields that have an effect; of each other one something is said."""
    for name in (each for each in given if each not in types):
        if name not in _NO_EFFECT:
            say_unknown(path, "field", [name], [*types, *_NO_EFFECT])
        elif given[name]:
            say(f"{path}: {name} has no effect here; docs/trends.md says what to use instead")
    return {name: value for name, value in given.items() if name in types}


def _check_collectives(path: str | Path, given: Mapping[str, Any]) -> None:
    for name in (each for each in given if each not in COLLECTIVE_FIELDS):
        hint = nearest(name, COLLECTIVE_FIELDS)
        raise ConfigError(f"{path}: cc_distribution has no {name!r}", hint)
    for pattern in given.get("cc_codeline") or []:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            hint = r'write a pattern such as "train.py\\[23\\]"'
            raise ConfigError(f"{path}: cc_codeline {pattern!r}: {error}", hint) from error


def _check_numbers(path: str | Path, given: dict[str, Any]) -> None:
    """Numbers that are too small are said and left at their default; digits end somewhere."""
    for name, least in _COUNTS.items():
        if given.get(name, least) < least:
            say(f"{path}: {name} is {given.pop(name)}, less than {least}; the default is taken")
    if given.get("ndigits", 0) > _MOST_DIGITS:
        say(f"{path}: ndigits is {given['ndigits']}; {_MOST_DIGITS} are written, which are all")
        given["ndigits"] = _MOST_DIGITS


def _check_type(path: str | Path, name: str, value: object, wanted: str) -> None:
    right = isinstance(value, _TYPES[wanted])
    if not right or (isinstance(value, bool) and wanted != "bool"):
        raise TypeError(f"{path}: {name} is {value!r}; give a {wanted}")
