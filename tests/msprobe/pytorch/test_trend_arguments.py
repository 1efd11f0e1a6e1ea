"""Whatever is wrong in what `Trends` is given is said by its name before anything is followed."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from msprobe.pytorch import Trends
from msprobe_core.errors import ConfigError

ODD: list[Any] = [1.5, math.nan, object(), b"x", ["x", 1], {"param": -1}, {"x": 1}, {1: None}]
WRONG: dict[str, list[Any]] = {
    "directory": [None, True, 1, *ODD],
    "model": [None, True, 1, "x", [], (), *ODD],
    "optimizer": [True, 1, "x", [], nn.Linear(1, 1), *ODD],
    "activations": [True, 1, [1], *ODD[:-3]],
    "every": [True, 1, "x", [], {"param": True}, {"param": math.inf}, *ODD],
    "scaler": [True, 1, "x", [], *ODD],
    "on_alert": [None, True, "x", [], *ODD],
    **{name: [None, 1, "x", [], *ODD] for name in ("zeros", "nonfinite", "local", "alerts")},
    **{
        name: [True, -1, 10**30, "x", [], *ODD]
        for name in ("keep", "keep_steps", "tie_every", "start_iteration")
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_said_with_its_name(name: str, tmp_path: Path) -> None:
    hooks = _global_hooks()
    for value in WRONG[name]:
        net = nn.Linear(2, 2)
        given = {
            "directory": tmp_path / "trends",
            "model": net,
            "optimizer": torch.optim.SGD(net.parameters(), lr=0.1),
        }
        with pytest.raises(ConfigError, match=name):
            Trends(**{**given, name: value})
    assert not list(tmp_path.iterdir())
    assert _global_hooks() == hooks


def test_a_wrong_optimizer_is_not_added(tmp_path: Path) -> None:
    with Trends(tmp_path, nn.Linear(2, 2)) as trends, pytest.raises(ConfigError, match="optimizer"):
        trends.add(nn.Linear(2, 2))  # type: ignore[arg-type]


def _global_hooks() -> list[int]:
    module: Any = torch.nn.modules.module
    optimizers: Any = sys.modules["torch.optim.optimizer"]
    return [
        *module._global_forward_hooks,
        *module._global_forward_pre_hooks,
        *optimizers._global_optimizer_pre_hooks,
    ]
