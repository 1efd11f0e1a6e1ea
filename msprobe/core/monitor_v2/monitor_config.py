"""Reads the configuration of the second monitor, and says of a wrong value what belongs there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msprobe.pytorch.monitor.known_names import say_unknown
from msprobe_core.errors import ConfigError

_FIELDS = (
    *("framework", "output_dir", "rank", "start_step", "stop_step", "step_interval"),
    *("collect_times", "step_count_per_record", "format", "patch_optimizer_step"),
    *("async_write", "monitors"),
)
_MONITORS = ("module", "weight_grad", "optimizer", "param", "cc")
_LEAST = {
    "start_step": 0,
    "stop_step": 0,
    "step_interval": 1,
    "collect_times": 0,
    "step_count_per_record": 1,
}
_LEAST_OF_A_MONITOR = {"grad_acc_steps": 1, "micro_batch_number": 1, "eps": 0}
"""Numbers, and the least that each may be."""
_LISTS = ("ops", "targets")


def read_config(path: str | Path) -> Mapping[str, Any]:
    """The configuration. Raises ConfigError, and ValueError for a format that is not written."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}", "give a JSON file of the monitor") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: no JSON object", 'write {"framework": "pytorch", …}')
    say_unknown(path, "field", found, _FIELDS)
    if found.get("format", "csv") != "csv":
        raise ValueError(f"{path}: format {found['format']!r}; csv is what there is")
    _check_numbers(path, "", found, _LEAST)
    monitors = found.get("monitors", {})
    if not isinstance(monitors, dict):
        raise ConfigError(
            f"{path}: monitors is {monitors!r}", 'write {"module": {"enabled": true}, …}'
        )
    say_unknown(path, "monitor", monitors, _MONITORS)
    for name, told in monitors.items():
        if not isinstance(told, dict):
            raise ConfigError(f"{path}: monitors.{name} is {told!r}", 'write {"enabled": true}')
        _check_numbers(path, f"monitors.{name}.", told, _LEAST_OF_A_MONITOR)
        for key in _LISTS:
            if not isinstance(told.get(key, []), (list, type(None))):
                raise ConfigError(
                    f"{path}: monitors.{name}.{key} is {told[key]!r}", "give a list of names"
                )
    return found


def _check_numbers(
    path: str | Path, where: str, given: Mapping[str, Any], least: Mapping[str, int]
) -> None:
    for name, lowest in least.items():
        value = given.get(name, lowest)
        if value is None and name == "stop_step":
            continue
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < lowest:
            raise ConfigError(
                f"{path}: {where}{name} is {value!r}", f"give a number of at least {lowest}"
            )
