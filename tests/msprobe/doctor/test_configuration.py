"""Why a dump is empty: the dumper itself is run into each cause, then the doctor is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from builder.dump.inspection.check import Check
from builder.dump.inspection.dump_checks import check_dump
from msprobe.doctor.configuration import check_config
from msprobe.pytorch import PrecisionDebugger
from tests.msprobe.conftest import Run


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()


def record(tmp_path: Path, steps: int = 2, keep: bool = True, **settings: object) -> Path:
    """Write a configuration and record a small model with it; returns the configuration."""
    file = tmp_path / "config.json"
    settings = {"dump_path": str(tmp_path / "dump"), "level": "mix", **settings}
    file.write_text(json.dumps(settings))
    debugger = PrecisionDebugger(config_path=file)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    for _ in range(steps):
        debugger.start(model)
        model(torch.ones(1, 2)).sum().backward()
        debugger.stop()
        debugger.step(dump=keep)
    debugger.close()
    return file


def problems(file: Path) -> list[Check]:
    found = [check for check in check_config(file) if check.state == "problem"]
    assert all(check.next_step for check in found)
    return found


def test_full_dump_has_no_problem(tmp_path: Path) -> None:
    assert problems(record(tmp_path)) == []


def test_step_that_never_came(tmp_path: Path) -> None:
    file = record(tmp_path, step=[1, 7])
    (check,) = problems(file)
    assert check.subject == "step"
    assert "[7]" in check.text
    assert "warm-up" in (check.next_step or "")


def test_only_steps_that_never_came(tmp_path: Path) -> None:
    (check,) = problems(record(tmp_path, step=[7]))
    assert "nothing has been dumped" in check.text or "no dump" in check.text


def test_rank_that_is_not_here(tmp_path: Path) -> None:
    # Without torch.distributed every process records, under its process id.
    (check,) = problems(record(tmp_path, rank=[3]))
    assert check.subject == "rank"
    assert "[3]" in check.text


def test_warm_up_steps_that_keep_nothing(tmp_path: Path) -> None:
    (check,) = problems(record(tmp_path, keep=False))
    assert "step(dump=False)" in (check.next_step or "")


def test_filter_that_matches_nothing(tmp_path: Path) -> None:
    found = problems(record(tmp_path, statistics={"list": ["convolution"]}))
    assert found
    assert all("convolution" in (check.next_step or "") for check in found)


def test_recording_around_no_call(tmp_path: Path) -> None:
    debugger = PrecisionDebugger(dump_path=tmp_path / "dump", level="L1")
    debugger.start()
    debugger.stop()
    debugger.step()
    (check,) = (c for c in check_dump(tmp_path / "dump") if c.state == "problem")
    assert "enclose the forward pass" in (check.next_step or "")


def test_level_without_modules_is_noted(tmp_path: Path) -> None:
    notes = [c for c in check_config(record(tmp_path, level="L1")) if c.state == "note"]
    assert [check.subject for check in notes] == ["level"]


def test_switched_off_recording(tmp_path: Path) -> None:
    found = problems(record(tmp_path, dump_enable=False))
    assert "dump_enable" in [check.subject for check in found]


def test_mistake_in_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"task": "statistics", "levle": "mix"}')
    (check,) = problems(file)
    assert "levle" in check.text
    assert "level" in (check.next_step or "")


def test_command_takes_dump_and_configuration(run: Run, tmp_path: Path) -> None:
    file = record(tmp_path, step=[0, 9])
    answer = run("doctor", tmp_path / "dump", "--config", file, "--json")
    assert answer.code == 1
    checks = json.loads(answer.out)["checks"]
    assert [c["subject"] for c in checks if c["state"] == "problem"] == ["step"]
    assert run("doctor", tmp_path / "dump").code == 0
    (tmp_path / "dump").rename(tmp_path / "moved")
    answer = run("doctor", tmp_path / "moved", "--config", file)
    assert f"{tmp_path / 'moved'}: 1 (step, rank) folders" in answer.out
