"""Reads a configuration: file, then constructor arguments over it, then the rules between fields.

Anything wrong is one ConfigError, before the run starts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msprobe_core.config.checks import check_value, refuse_unknown
from msprobe_core.config.combinations import refuse_impossible, refuse_unsupported
from msprobe_core.config.graft_section import read_graft
from msprobe_core.config.load_section import read_load
from msprobe_core.config.model import Config
from msprobe_core.config.schema import COMMON, FIELDS, FOREIGN_SECTIONS, VALUE_TASKS, field
from msprobe_core.errors import ConfigError


def read_config(
    config_path: str | Path | None, *, of_kernels: bool = False, **arguments: object
) -> Config:
    """The configuration of a file and of constructor arguments, which win.

    Arguments that are None count as not given; `of_kernels` tells that the framework has a level
    L2. Raises ConfigError.
    """
    place = "PrecisionDebugger(…)" if config_path is None else str(config_path)
    raw = {} if config_path is None else _read_file(config_path)
    given = {key: value for key, value in arguments.items() if value is not None}
    return _build(place, raw, given, config_path, of_kernels)


def _read_file(config_path: str | Path) -> dict[str, Any]:
    if not isinstance(config_path, (str, Path)):
        raise ConfigError(f"config_path is {config_path!r}", "it must be the path of a JSON file")
    try:
        raw = json.loads(Path(config_path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{config_path}: missing", "create it or correct config_path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{config_path}: cannot be read ({error})", "check the file") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{config_path}: no valid JSON ({error})", "correct the file") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{config_path}: holds {raw!r}", "it must be a JSON object")
    return raw


def _build(
    place: str,
    raw: dict[str, Any],
    given: dict[str, object],
    config_path: str | Path | None,
    of_kernels: bool,
) -> Config:
    merged = {**raw, **given}
    refuse_unsupported(place, merged, of_kernels)
    values = _common_values(place, merged, given)
    task = str(values.get("task", "statistics"))
    explicit = _section_values(place, raw, task)
    if "load" in raw:
        values["load"] = read_load(place, raw["load"])
    if "graft" in raw:
        values["graft"] = read_graft(place, raw["graft"])
    source = None if config_path is None else str(config_path)
    config = Config(**values, **explicit, source=source)  # type: ignore[arg-type]  # checked above
    refuse_impossible(place, config, explicit.keys(), of_kernels)
    return config


def _common_values(
    place: str, merged: dict[str, Any], given: dict[str, object]
) -> dict[str, object]:
    common = [entry for entry in FIELDS if COMMON in entry.sections]
    known = [entry.name for entry in common] + [*VALUE_TASKS, *FOREIGN_SECTIONS, "load", "graft"]
    values: dict[str, object] = {}
    for key, value in merged.items():
        _refuse_misplaced(place, key)
        refuse_unknown(place, key, known)
        if key in (entry.name for entry in common):
            where = "PrecisionDebugger(…)" if key in given else place
            values[key] = check_value(where, field(key), value)
    return values


def _refuse_misplaced(place: str, key: str) -> None:
    for entry in FIELDS:
        if entry.name == key and COMMON not in entry.sections:
            sections = " or ".join(f"{name!r}" for name in entry.sections)
            raise ConfigError(
                f"{place}: {key} stands at the top", f"move it into section {sections}"
            )


def _section_values(place: str, raw: dict[str, Any], task: str) -> dict[str, object]:
    checked = {name: _check_section(place, name, raw[name]) for name in VALUE_TASKS if name in raw}
    return checked.get(task, {})


def _check_section(place: str, name: str, raw: object) -> dict[str, object]:
    if not isinstance(raw, dict):
        raise ConfigError(f"{place}: section {name} is {raw!r}", "it must be a JSON object")
    where = f"{place}, section {name}"
    known = {entry.name: entry for entry in FIELDS if name in entry.sections}
    ignored = {"check_mode"} if name == "overflow_check" else set()
    values: dict[str, object] = {}
    for key, value in raw.items():
        if key in ignored:
            continue
        refuse_unknown(where, key, known)
        if value is not None and value != "":
            values[key] = check_value(where, known[key], value)
    return values
