"""Dumps of whole models: every call is run or has its reason, and right ones raise no alarm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch import multiprocessing

from evaluation.zoo.controls import Setting
from evaluation.zoo.models import ARCHITECTURES
from evaluation.zoo.record import Task, record
from msprobe.acc_check.call_check import check_call
from msprobe.acc_check.framework import Pair, Place
from msprobe.acc_check.inputs import Source
from msprobe.acc_check.plan import Selection, read_plan
from tests.msprobe.acc_check.calls import why


def recorded(architecture: str, task: Task, folder: Path) -> Path:
    """dump.json of the second step, recorded in a process that ends."""
    process = multiprocessing.get_context("spawn").Process(
        target=record, args=(architecture, Setting(), task, folder)
    )
    process.start()
    process.join()
    (path,) = folder.glob("dump/step1/*/dump.json")
    return path


@pytest.mark.parametrize(
    ("architecture", "task"),
    [*((name, "statistics") for name in ARCHITECTURES), ("recurrent", "tensor")],
)
def test_calls_of_a_model_are_run_and_pass(architecture: str, task: Task, tmp_path: Path) -> None:
    dump = recorded(architecture, task, tmp_path)
    plan = read_plan(dump, Selection(without_repetitions=True))
    apis = [name for name in json.loads(dump.read_text())["data"] if name[:7] != "Module."]
    assert apis, "a mix dump has calls"
    found = [check_call(c, Source(plan.tensors, 1), Pair(Place(), seed=1)) for c in plan.calls]
    skipped = [each.row.message for each in found if each.row.forward == "SKIP"]
    assert all(skipped)
    assert len(skipped) <= 0.05 * len(found), skipped
    alarms = [f"{each.row.name}: {why(each)}" for each in found if _alarms(each.row.forward)]
    assert alarms == []
    assert [each.row.name for each in found if _alarms(each.row.backward)] == []
    assert sum(each.row.backward == "pass" for each in found) > 0


def _alarms(verdict: str) -> bool:
    return verdict in ("warning", "error")
