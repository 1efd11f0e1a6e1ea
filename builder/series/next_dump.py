"""From a cell of the trends to a dump: the configuration that records that step and module."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.series.run import Key

_CHECKPOINT = re.compile(r"(?:checkpoint|step|iter|global_step)[-_]?(\d+)")
_OF_PARAMETERS = frozenset({"grad", "exp_avg", "exp_avg_sq", "ratio", "param"})
_OF_MODULES = frozenset({"actv", "actv_grad"})


def module_of(key: Key) -> str | None:
    """The module that a target belongs to; None for scalars and parameters of the root."""
    kind, name = key
    if kind in _OF_MODULES:
        return name.partition("[")[0]
    return name.rpartition(".")[0] or None if kind in _OF_PARAMETERS else None


def recorded_module(key: Key) -> str | None:
    """The module whose calls explain a target: the one that its own module works in, since what
    feeds it may be wrong; a member of a list stands for itself. None for the whole model.
    """
    module = module_of(key)
    if not module or module.rpartition(".")[2].isdecimal():
        return module
    return module.rpartition(".")[0] or None


def dump_configuration(key: Key, step: int, rank: int | None = None) -> Mapping[str, Any]:
    """The `config.json` of PrecisionDebugger for that step and the module that explains the target.

    The step before is recorded, too: its update left the weights with which this one begins.
    The name is written with a dot at both ends, so that it fits whatever wraps the model and no
    other module's name that begins alike.
    """
    module = recorded_module(key)
    return {
        "task": "statistics",
        "level": "mix",
        "dump_path": "dump",
        "rank": [] if rank is None else [rank],
        "step": [step - 1, step] if step > 0 else [step],
        "statistics": {"list": [f".{module}."] if module else []},
    }


def checkpoint_before(run: Path, step: int) -> Path | None:
    """The last checkpoint beside the trends (`checkpoint-<n>`, `step_<n>`, …) that is not later."""
    found: list[tuple[int, Path]] = []
    for folder in {run, run.parent}:
        for path in folder.iterdir() if folder.is_dir() else ():
            named = _CHECKPOINT.fullmatch(path.name)
            if named and int(named[1]) <= step:
                found.append((int(named[1]), path))
    return max(found, default=(0, None))[1]
