"""The kind of a pair: told by what both runs share, or by the user, with how sure it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.reasons import OneProgram, Reason, TwoPrograms, TwoVersions, UnknownKind
from builder.results.database import ResultDatabase
from builder.work.options import BuildOptions, Same
from msprobe.cli.diagnose import report
from msprobe_core import PrecisionDebugger

WIDTH = 8


class Net(nn.Module):
    def __init__(self, more: int, prefix: str, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        for name in ("one", "two", "three"):
            self.add_module(prefix + name, nn.Linear(WIDTH, WIDTH))
        self.more = more

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.children():
            x = torch.tanh(layer(x))
        for _ in range(self.more):
            x = torch.neg(torch.neg(x))
        return x


def record(
    path: Path,
    more: int = 0,
    prefix: str = "",
    seed: int = 0,
    level: str = "mix",
    updates: int = 0,
) -> Path:
    model = Net(more, prefix, seed)
    torch.manual_seed(1)
    with PrecisionDebugger(dump_path=str(path), level=level).recording(model):
        model(torch.randn(3, WIDTH)).sum().backward()
        for at in range(updates):  # calls outside of all modules, as an optimizer makes them
            torch.add(torch.full((2,), float(at)), 1.0)
    return path


def kind(problem: Path, benchmark: Path, out: Path, same: Same | None = None) -> Reason | None:
    result = builder.build(problem, benchmark, out, BuildOptions(same=same))
    told = ResultDatabase(result.path).summary().kind
    diagnosis = builder.diagnose(result.path)
    assert diagnosis.kind == told
    listed = report(diagnosis, 5)
    said = json.loads(json.dumps(diagnosis.as_json()))["kind"]
    assert f"kind: {said['sentence']}" in listed
    return told


def test_a_program_against_itself(tmp_path: Path) -> None:
    one, other = record(tmp_path / "a"), record(tmp_path / "b")
    assert kind(one, other, tmp_path / "o") == OneProgram("certain", 1.0)
    assert kind(one, other, tmp_path / "o", "versions") == TwoVersions("told", 1.0, 0)


def test_calls_alone_are_less_sure_than_modules(tmp_path: Path) -> None:
    one, other = (record(tmp_path / name, level="L1") for name in "ab")
    assert kind(one, other, tmp_path / "o") == OneProgram("likely", 1.0)


def test_versions_differ_in_some_calls(tmp_path: Path) -> None:
    told = kind(record(tmp_path / "a", more=1), record(tmp_path / "b"), tmp_path / "o")
    assert isinstance(told, TwoVersions)
    assert (told.sure, told.shared, told.alone) == ("certain", 1.0, 4)


def test_calls_of_a_later_step_alone_make_two_versions_too(tmp_path: Path) -> None:
    for side, more in (("a", (0, 1, 1)), ("b", (0, 0, 0))):
        model = Net(0, "", 0)
        debugger = PrecisionDebugger(dump_path=str(tmp_path / side), level="mix")
        for count in more:
            model.more = count
            torch.manual_seed(1)
            with debugger.recording(model):
                model(torch.randn(3, WIDTH)).sum().backward()
        debugger.close()
    told = kind(tmp_path / "a", tmp_path / "b", tmp_path / "o")
    assert isinstance(told, TwoVersions)
    assert told.alone == 8, "of both steps that have them"


@pytest.mark.parametrize(("same", "sure"), [(None, "certain"), ("model", "told")])
def test_two_programs_share_weights(tmp_path: Path, same: Same | None, sure: str) -> None:
    told = kind(record(tmp_path / "a", prefix="n"), record(tmp_path / "b"), tmp_path / "o", same)
    assert isinstance(told, TwoPrograms)
    assert (told.sure, told.found, told.weights) == (sure, 6, 6)
    assert told.shared is not None and told.shared < 0.6


def test_calls_of_an_optimizer_make_no_versions_of_modules_with_other_names(
    tmp_path: Path,
) -> None:
    paths = (
        record(tmp_path / side, prefix=prefix, updates=60)
        for side, prefix in (("a", "n"), ("b", ""))
    )
    told = kind(*paths, tmp_path / "o")
    assert isinstance(told, TwoPrograms)
    assert told.shared is not None
    assert told.shared > 0.7


def test_runs_that_share_too_little_have_none(tmp_path: Path) -> None:
    told = kind(record(tmp_path / "a", prefix="n", seed=9), record(tmp_path / "b"), tmp_path / "o")
    assert isinstance(told, UnknownKind)


def test_a_person_says_versions_and_no_weights_are_asked(tmp_path: Path) -> None:
    paths = record(tmp_path / "a", prefix="n"), record(tmp_path / "b")
    told = kind(*paths, tmp_path / "o", "versions")
    assert isinstance(told, TwoVersions) and told.sure == "told" and told.alone > 0
