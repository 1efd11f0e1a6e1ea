"""Both tools' monitors on one training, for every field of both configurations: table by table.

`PEER=/path make contract`: the environment that mindstudio-probe is installed in. Where its tables
are wrong, what differs stands here with the reason, as in docs/trends.md.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from evaluation.contract import monitored_training
from msprobe.core.monitor_v2.monitor_config import _FIELDS, _MONITORS
from msprobe.pytorch.monitor.monitor_settings import MonitorSettings
from tests.msprobe.pytorch.test_monitor_tables import close

PEER = os.environ.get("PEER")
pytestmark = pytest.mark.skipif(PEER is None, reason="PEER names no environment of the peer")
STATISTICS = {"min", "max", "mean", "norm", "nans", "zeros"}
SCRIPT = Path(monitored_training.__file__)

Table = list[list[str]]
ABSENT_GRADIENTS = {"", "emb"}
"""Modules that are fed integers: the peer has rows of NaN for gradients that do not exist."""
V1: dict[str, Any] = {
    "targets": {},
    "format": "csv",
    "ops": ["min", "max", "mean", "norm", "nans", "zeros"],
    "ndigits": 8,
    **{f"{kind}_distribution": True for kind in ("xy", "wg", "mv", "param")},
}
# A configuration for each field of the first monitor, and what it changes.
FIRST: dict[str, dict[str, Any]] = {
    "targets": {"targets": {"layers.0.fc1": {}, "head": {}}},
    "format": {},
    "ops": {"ops": ["norm", "mean"]},
    "eps": {"eps": 1e-3},
    "ndigits": {"ndigits": 12},
    "xy_distribution": {"xy_distribution": False},
    "all_xy": {"all_xy": True, "targets": {"head": {}}},
    "forward_only": {"forward_only": True},
    "backward_only": {"backward_only": True},
    "wg_distribution": {"wg_distribution": False},
    "monitor_mbs_grad": {"monitor_mbs_grad": True},
    "mv_distribution": {"mv_distribution": False},
    "mg_direction": {"mg_direction": True},
    "param_distribution": {"param_distribution": False},
    "module_ranks": {"module_ranks": [1]},
    "start_step": {"start_step": 2},
    "step_interval": {"step_interval": 2},
    "collect_times": {"collect_times": 2},
    "step_count_per_record": {"step_count_per_record": 3},
    "stack_info": {"stack_info": True},
    "squash_name": {"squash_name": False},
    "ur_distribution": {"ur_distribution": True},
    "recording_l2_features": {"recording_l2_features": True},
    "sa_order": {"sa_order": "b,s,h,d"},
}
# Held against what the peer wrote in tests/msprobe/pytorch: it writes no table for them, ends the
# training there, or needs several ranks or starts.
ELSEWHERE = {"alert", "cc_distribution", "print_struct", "append_output", "dynamic_on", "time"}
MODULE = {"enabled": True, "ops": ["min", "max", "mean", "norm", "nans"]}
V2: dict[str, Any] = {
    "framework": "pytorch",
    "collect_times": 100,
    "format": "csv",
    "monitors": {
        "module": MODULE,
        "weight_grad": {"enabled": True},
        "optimizer": {"enabled": True},
        "param": {"enabled": True},
    },
}


def of_monitors(**changes: dict[str, Any]) -> dict[str, Any]:
    """The monitors of the second configuration, some of them otherwise."""
    return {"monitors": {**V2["monitors"], **changes}}


# The same of the second monitor; a dot leads to a field of one of its monitors.
SECOND: dict[str, dict[str, Any]] = {
    "framework": {},
    "rank": {"rank": [0]},
    "start_step": {"start_step": 2},
    "stop_step": {"stop_step": 3},
    "step_interval": {"step_interval": 2},
    "collect_times": {"collect_times": 2},
    "step_count_per_record": {"step_count_per_record": 3},
    "format": {"format": "csv"},
    "patch_optimizer_step": {"patch_optimizer_step": True},
    "async_write": {"async_write": True},
    "module": of_monitors(module={**MODULE, "enabled": False}),
    "module.targets": of_monitors(module={**MODULE, "targets": ["layers.0.fc1", "head"]}),
    "module.ops": of_monitors(module={**MODULE, "ops": ["norm", "mean"]}),
    "module.eps": of_monitors(module={**MODULE, "eps": 1e-3}),
    "weight_grad": of_monitors(weight_grad={"enabled": False}),
    "weight_grad.grad_acc_steps": of_monitors(weight_grad={"enabled": True, "grad_acc_steps": 2}),
    "weight_grad.monitor_mbs_grad": of_monitors(
        weight_grad={"enabled": True, "monitor_mbs_grad": True, "grad_acc_steps": 2}
    ),
    "optimizer": of_monitors(optimizer={"enabled": False}),
    "param": of_monitors(param={"enabled": False}),
    "cc": of_monitors(cc={"enabled": True}),
}


def outputs(tool: str, which: str, config: Mapping[str, Any], place: Path) -> dict[str, Table]:
    """The tables that a tool writes of the training, by name."""
    out = place / tool / "out"
    out.mkdir(parents=True)
    file = place / tool / "config.json"
    file.write_text(json.dumps({**config, "output_dir": str(out)} if which == "v2" else config))
    python = sys.executable if tool == "ours" else str(Path(str(PEER)) / "bin" / "python")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"MONITOR_OUTPUT_DIR": str(out), "OMP_NUM_THREADS": "1"}
    command = [python, "-W", "ignore", str(SCRIPT), which, str(file)]
    subprocess.run(command, check=True, cwd=place, env=environment, capture_output=True)
    return {table.name: rows_of(table) for table in sorted(out.rglob("*.csv"))}


def rows_of(path: Path) -> Table:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def both(which: str, config: Mapping[str, Any], place: Path) -> tuple[dict[str, Table], ...]:
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(outputs, tool, which, config, place) for tool in ("ours", "peer")]
        return tuple(run.result() for run in runs)


def test_every_field_is_tried() -> None:
    ours = {each.name for each in fields(MonitorSettings)} - {"rules"}
    assert ours <= {*FIRST, *ELSEWHERE}
    of_monitors = {field.partition(".")[0] for field in SECOND}
    assert {*_FIELDS, *_MONITORS} - {"output_dir", "monitors"} <= of_monitors


@pytest.mark.parametrize("field", FIRST)
def test_the_first_monitor(field: str, tmp_path: Path) -> None:
    ours, theirs = both("v1", {**V1, "step_count_per_record": 2, **FIRST[field]}, tmp_path)
    hold_states(ours, theirs)
    assert list(ours) == list(theirs)
    for name, own in ours.items():
        if name == "stack_info.csv":  # the frames are those of either tool's own calls
            assert [row[0] for row in own] == [row[0] for row in theirs[name]]
        else:
            hold(own, theirs[name], name)


@pytest.mark.parametrize("field", SECOND)
def test_the_second_monitor(field: str, tmp_path: Path) -> None:
    ours, theirs = both("v2", {**V2, "step_count_per_record": 2, **SECOND[field]}, tmp_path)
    assert list(ours) == list(theirs)
    for name, own in ours.items():
        hold(own, theirs[name], name)


def hold(own: Table, their: Table, name: str) -> None:
    """The same header, the same rows in one order, and numbers to the decimals that they write."""
    their = [row for row in their if not is_absent(row, name)]
    assert own[0] == their[0], name
    places = [at for at, column in enumerate(own[0]) if column in STATISTICS]
    keys = [at for at in range(len(own[0])) if at not in places]
    assert [[row[at] for at in keys] for row in own] == [[row[at] for at in keys] for row in their]
    for one, other in zip(own[1:], their[1:], strict=True):
        # Rows of an embedding that no token has met are 0 in both; there the two count otherwise.
        is_unmet = name.startswith("other") and one[1] == "emb.weight"
        assert is_unmet or close([one[at] for at in places], [other[at] for at in places]), one


def is_absent(row: list[str], name: str) -> bool:
    """Whether a row is of a gradient of integers."""
    module, _, value = row[1].rpartition(".")
    return name.startswith("actv_grad") and module in ABSENT_GRADIENTS and value == "input"


def hold_states(ours: dict[str, Table], theirs: dict[str, Table]) -> None:
    """States of the optimizer, taken out of both: theirs are those before the step, so ours of the
    step before under its own number.
    """
    for kind in ("exp_avg_sq", "exp_avg"):
        own, their = (joined(tables, kind) for tables in (ours, theirs))
        assert bool(own) is bool(their)
        if own:
            earlier = {(row[1], int(row[2]) + 1): row for row in own[1:]}
            assert own[0] == their[0]
            for row in their[1:]:
                same = earlier.get((row[1], int(row[2])))
                assert same is None or close(same[3:-2], row[3:-2]), row


def joined(tables: dict[str, Table], kind: str) -> Table:
    """The tables of a kind as one, no more among the others."""
    names = [name for name in tables if re.fullmatch(rf"{kind}_\d+-\d+.csv", name)]
    parts = [tables.pop(name) for name in names]
    return parts[0][:1] + [row for part in parts for row in part[1:]] if parts else []
